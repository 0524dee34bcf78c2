package state

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Renamed gives what a state keeps by address, beside the records of jobs, the addresses that
// phases and jobs have now: holds, notes, overrides, breakers, protections, and the earlier
// attempts and replaced results of jobs that have no record.
type Renamed struct {
	Renames []Rename  `json:"renames"`
	At      time.Time `json:"at"`
}

// A Rename says that a phase, or a job, has another address. The first that fits counts.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Renamed is the state as a Renamed event leaves it. It is the same one where the event would
// change nothing, else a copy, which shares the records of jobs.
func (s *State) Renamed(renames []Rename) *State {
	if len(renames) == 0 {
		return s
	}
	to := *s
	to.Holds, to.Overrides = slices.Clone(s.Holds), slices.Clone(s.Overrides)
	to.Notes, to.Breakers, to.Protected = maps.Clone(s.Notes), maps.Clone(s.Breakers), maps.Clone(s.Protected)
	to.Earlier, to.Replaced = maps.Clone(s.Earlier), maps.Clone(s.Replaced)
	if to.rename(renames); reflect.DeepEqual(to.kept(), s.kept()) {
		return s
	}
	return &to
}

// kept is what a Renamed event may change, but for earlier attempts and replaced results, of
// which the names are enough.
func (s *State) kept() any {
	return []any{s.Holds, s.Overrides, s.Notes, s.Breakers, s.Protected, slices.Sorted(maps.Keys(s.Earlier)), slices.Sorted(maps.Keys(s.Replaced))}
}

func (s *State) rename(renames []Rename) {
	now := func(address string) string {
		for _, r := range renames {
			if rest, ok := strings.CutPrefix(address, r.From); ok && (rest == "" || rest[0] == '[') {
				return r.To + rest
			}
		}
		return address
	}
	phase := func(name string) string { return strings.TrimPrefix(now("phase."+name), "phase.") }
	var holds []Hold
	for _, h := range s.Holds {
		if h.Address = now(h.Address); !slices.ContainsFunc(holds, func(o Hold) bool { return o.Address == h.Address }) {
			holds = append(holds, h)
		}
	}
	s.Holds = holds
	for i := range s.Overrides {
		s.Overrides[i].Address = now(s.Overrides[i].Address)
	}
	for _, of := range slices.Sorted(maps.Keys(s.Breakers)) {
		b := s.Breakers[of]
		if b.Phase, b.Of = phase(b.Phase), now(b.Of); b.Stops() != of {
			drop(&s.Breakers, of)
			put(&s.Breakers, b.Stops(), b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Protected)) {
		if to := phase(name); to != name {
			drop(&s.Protected, name)
			put(&s.Protected, to, true)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.Notes)) {
		if to := now(address); to != address && s.Job(address) == nil {
			s.moveNotes(address, to)
		}
	}
	free := func(key string) (to string, ok bool) {
		of, smoke := strings.CutPrefix(key, smokePrefix)
		if to = now(of); smoke {
			to = SmokeAddress(to)
		}
		return to, to != key && s.Job(key) == nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.Earlier)) {
		if to, ok := free(key); ok {
			past := slices.Concat(s.Earlier[to], s.Earlier[key])
			drop(&s.Earlier, key)
			put(&s.Earlier, to, past)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Replaced)) {
		if to, ok := free(key); ok {
			past := slices.Concat(s.Replaced[to], s.Replaced[key])
			drop(&s.Replaced, key)
			put(&s.Replaced, to, past)
		}
	}
}

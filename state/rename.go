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
	Renames Renames   `json:"renames"`
	At      time.Time `json:"at"`
}

// A Rename says that a phase, or a job, has another address.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Renames come from the moved blocks of a campaign. The first that fits an address counts.
type Renames []Rename

// View is the state as a Renamed event leaves it. It is the same one where the event would
// change nothing, else a copy, which shares the records of jobs.
func (r Renames) View(s *State) *State {
	if len(r) == 0 {
		return s
	}
	to := *s
	to.Holds, to.Overrides = slices.Clone(s.Holds), slices.Clone(s.Overrides)
	to.Notes, to.Breakers, to.Protected = maps.Clone(s.Notes), maps.Clone(s.Breakers), maps.Clone(s.Protected)
	to.Earlier, to.Replaced = maps.Clone(s.Earlier), maps.Clone(s.Replaced)
	if r.apply(&to); reflect.DeepEqual(named(&to), named(s)) {
		return s
	}
	return &to
}

// named lists the values that a Renamed event may change. Of earlier attempts and replaced
// results the keys are enough.
func named(s *State) any {
	return []any{s.Holds, s.Overrides, s.Notes, s.Breakers, s.Protected, slices.Sorted(maps.Keys(s.Earlier)), slices.Sorted(maps.Keys(s.Replaced))}
}

// now is the address that a phase or a job has now.
func (r Renames) now(address string) string {
	for _, one := range r {
		if rest, ok := strings.CutPrefix(address, one.From); ok && (rest == "" || rest[0] == '[') {
			return one.To + rest
		}
	}
	return address
}

func (r Renames) phase(name string) string {
	return strings.TrimPrefix(r.now("phase."+name), "phase.")
}

func (r Renames) apply(s *State) {
	var holds []Hold
	for _, h := range s.Holds {
		if h.Address = r.now(h.Address); !slices.ContainsFunc(holds, func(o Hold) bool { return o.Address == h.Address }) {
			holds = append(holds, h)
		}
	}
	s.Holds = holds
	for i := range s.Overrides {
		s.Overrides[i].Address = r.now(s.Overrides[i].Address)
	}
	for _, of := range slices.Sorted(maps.Keys(s.Breakers)) {
		b := s.Breakers[of]
		if b.Phase, b.Of = r.phase(b.Phase), r.now(b.Of); b.Stops() != of {
			drop(&s.Breakers, of)
			put(&s.Breakers, b.Stops(), b)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Protected)) {
		if to := r.phase(name); to != name {
			drop(&s.Protected, name)
			put(&s.Protected, to, true)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(s.Notes)) {
		if to := r.now(address); to != address && s.Job(address) == nil {
			s.moveNotes(address, to)
		}
	}
	moveKeys(r, s, &s.Earlier)
	moveKeys(r, s, &s.Replaced)
}

// moveKeys gives what is kept of jobs without a record the keys that they have now. What a
// record has moves with it.
func moveKeys[V any](r Renames, s *State, kept *map[string][]V) {
	for _, key := range slices.Sorted(maps.Keys(*kept)) {
		of, smoke := strings.CutPrefix(key, smokePrefix)
		to := r.now(of)
		if smoke {
			to = SmokeAddress(to)
		}
		if to == key || s.Job(key) != nil {
			continue
		}
		past := slices.Concat((*kept)[to], (*kept)[key])
		drop(kept, key)
		put(kept, to, past)
	}
}

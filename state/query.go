package state

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Job is the record at an address (SmokeAddress for a smoke), or nil: a job
// without a record is pending.
func (s *State) Job(address string) *Job { return s.Jobs[address] }

// Addresses are the keys of Jobs, sorted.
func (s *State) Addresses() []string { return slices.Sorted(maps.Keys(s.Jobs)) }

// InFlight are the jobs that may be running or may yet start by themselves,
// sorted by key: those with an active status, and held ones whose last attempt
// a backend may still have.
func (s *State) InFlight() []*Job {
	var keys []string
	for key, j := range s.All() {
		if j.InFlight() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	jobs := make([]*Job, len(keys))
	for i, key := range keys {
		jobs[i] = s.Jobs[key]
	}
	return jobs
}

// InFlight reports whether the job may be running or may yet start by itself.
func (j *Job) InFlight() bool {
	if j.Status.Active() {
		return true
	}
	last := j.Last()
	return j.Status == Held && last != nil && last.Ended.IsZero()
}

// Digest is a SHA-256 of the state's content: equal for equal states, whoever
// wrote them and however often. Fence, serial and sequence number are not in
// it.
func (s *State) Digest() string {
	h := sha256.New()
	head := *s
	head.Serial, head.Fence, head.Seq, head.Muster, head.Jobs = 0, 0, 0, "", nil
	enc := json.NewEncoder(h)
	enc.SetEscapeHTML(false)
	// Encoding fails only for a RawMessage that is no JSON; the part encoded up to there still
	// tells states apart.
	_ = enc.Encode(&head)
	for _, key := range s.Addresses() {
		_ = enc.Encode(s.Jobs[key])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// OnlyOn counts the outputs of a job that are on a backend and have no verified copy
// elsewhere; those of a smoke do not matter.
func (j *Job) OnlyOn(backend string) (n int) {
	for k := range j.Outputs {
		if o := &j.Outputs[k]; o.Backend == backend && len(o.Copies) == 0 && !o.Missing && !j.Smoke {
			n++
		}
	}
	return n
}

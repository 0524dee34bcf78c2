package state

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/lang/addr"
)

// mostEarlier is how many attempts that no longer count are kept of one job:
// the last of them, some kilobytes.
const mostEarlier = 20

// passed keeps the attempts of a record that no longer counts, for people to read: the job was
// freed, or failed work is tried again as other work.
func (s *State) passed(key string, j *Job) {
	if len(j.Attempts) == 0 {
		return
	}
	all := slices.Concat(s.Earlier[key], j.Attempts)
	for i := len(all) - len(j.Attempts); i < len(all); i++ {
		all[i].Result = j.Result
	}
	put(&s.Earlier, key, all[max(0, len(all)-mostEarlier):])
}

// Past is every attempt known of a job, oldest first: those that no longer
// count, because the job was freed since, and those of its record. Each round
// of attempts is counted from 1.
func (s *State) Past(key string) []Attempt {
	var now []Attempt
	if j := s.Jobs[key]; j != nil {
		now = j.Attempts
	}
	return slices.Concat(s.Earlier[key], now)
}

// Remembered are the keys of all jobs of which something is known, sorted:
// Addresses, and jobs that were freed and have not started again.
func (s *State) Remembered() []string {
	keys := s.Addresses()
	for key := range s.Earlier {
		if s.Jobs[key] == nil {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Recalled is a job with every attempt known of it, also those from before a
// resume; nil where there is none. One that was freed and has not started
// again is pending.
func (s *State) Recalled(key string) *Job {
	past := s.Past(key)
	j := s.Job(key)
	if j == nil {
		if len(past) == 0 {
			return nil
		}
		address := strings.TrimPrefix(key, SmokeAddress(""))
		j = &Job{Address: address, Smoke: address != key, Status: "pending"}
		if job, err := addr.Parse(address); err == nil {
			j.Phase = job.Phase
		}
	}
	known := *j
	known.Attempts = past
	return &known
}

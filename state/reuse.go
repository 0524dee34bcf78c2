package state

import (
	"slices"
	"strings"
	"time"
)

// Adopted reports whether a job's result is files that somebody had adopted.
func (j *Job) Adopted() bool {
	last := j.Last()
	return last != nil && last.Adopter != "" && j.Status == Completed
}

// mostReplaced is how many results of one job that were replaced are kept: the
// last ones.
const mostReplaced = 10

// A Replaced is a result that another one took the place of. Its files may still
// be there, and then the job need not run again to have it back.
type Replaced struct {
	Job Job `json:"job"` // as it was recorded when it was completed
	// Folder is where its files were moved to, each under its path: relative to
	// the workdir of the files. They may not have been moved yet.
	Folder string    `json:"folder,omitempty"`
	At     time.Time `json:"at"`
}

// Token tells results that were replaced from one another.
func (r *Replaced) Token() string {
	if last := r.Job.Last(); last != nil {
		return last.Token
	}
	return ""
}

// replace remembers a result that another one takes the place of.
func (s *State) replace(j *Job, folder string, at time.Time) {
	done := j.Status == Completed || j.Status == Forgotten && j.Class == ""
	if !done || j.Smoke || j.Result == "" || len(j.Outputs) == 0 || len(j.Attempts) == 0 {
		return
	}
	was := *j
	was.Outputs, was.Kept, was.Status = list(j.Outputs), nil, Completed
	for i := range was.Outputs {
		was.Outputs[i].Copies = nil // the result that replaces it is copied over them
	}
	key := j.Key()
	all := slices.DeleteFunc(slices.Clone(s.Replaced[key]), func(r Replaced) bool { return r.Token() == was.Last().Token })
	all = append(all, Replaced{Job: was, Folder: folder, At: plain(at)})
	put(&s.Replaced, key, all[max(0, len(all)-mostReplaced):])
}

// reuse completes a job with a result that is there already.
func (s *State) reuse(e Reused) {
	key := e.Job.Address
	if key == "" {
		return
	}
	j := identity(e.Job)
	var from *Replaced
	if e.From != "" {
		i := slices.IndexFunc(s.Replaced[e.From], func(r Replaced) bool { return r.Token() == e.Token })
		if i < 0 {
			return
		}
		was := s.Replaced[e.From][i]
		from = &was
	}
	old := s.Jobs[key]
	if old != nil && old.InFlight() {
		return
	}
	if from != nil {
		rest := slices.DeleteFunc(slices.Clone(s.Replaced[e.From]), func(r Replaced) bool { return r.Token() == e.Token })
		if len(rest) == 0 {
			drop(&s.Replaced, e.From)
		} else {
			s.Replaced[e.From] = rest
		}
		j.Attempts, j.Metrics, j.Unread = list(from.Job.Attempts), some(from.Job.Metrics), some(from.Job.Unread)
		j.Read = list(from.Job.Read)
		j.InputBytes = list(from.Job.InputBytes) // it was made from these
		or(&j.Definition, from.Job.Definition)
		if e.From != key {
			j.Moved = e.From
		}
	} else {
		j.Attempts, j.Metrics, j.Unread = []Attempt{copied(e.Attempt, some)}, some(e.Metrics), some(e.Unread)
	}
	for i := range j.Attempts {
		if j.Attempts[i].Ended.IsZero() {
			j.Attempts[i].Ended = plain(e.At)
		}
	}
	if old != nil {
		s.replace(old, e.Folder, e.At)
		if old.Status != Completed {
			s.passed(key, old)
		}
	}
	j.seeOutputs(e.Outputs)
	j.Status, j.By, j.Updated = Completed, e.By, plain(e.At)
	j.Smoke, j.Address = false, strings.TrimPrefix(key, smokePrefix)
	s.Jobs[j.Key()] = &j
}

package state

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Last is the job's last attempt, or nil.
func (j *Job) Last() *Attempt {
	if j == nil || len(j.Attempts) == 0 {
		return nil
	}
	return &j.Attempts[len(j.Attempts)-1]
}

// hold keeps a job from starting. One that is done, forgotten or already
// running is not held: there is no start left to stop.
func (s *State) hold(e HeldJob) {
	if e.Address == "" {
		return
	}
	j := s.Jobs[e.Address]
	if j == nil {
		j = &Job{Address: strings.TrimPrefix(e.Address, smokePrefix), Smoke: strings.HasPrefix(e.Address, smokePrefix)}
		j.Phase = phaseOf(j.Address)
		s.Jobs[e.Address] = j
	}
	switch j.Status {
	case Completed, Forgotten, Running, Verifying:
		return
	}
	j.Status, j.Reason, j.Cause, j.By, j.Retry, j.Updated = Held, e.Reason, "", e.By, time.Time{}, plain(e.At)
	if e.Cancelled {
		j.Status, j.Class = Cancelled, ""
	}
	if e.Job != nil {
		j.identify(identity(*e.Job))
	}
}

// CancelledByPerson reports whether a person asked muster to cancel the job: somebody outside
// did not, nor muster by itself, for a budget or because a job before it failed.
func (j *Job) CancelledByPerson() bool {
	return j.Status == Cancelled && j.Class == "" && !strings.HasPrefix(j.Reason, byMuster) && j.By != "muster" && !strings.HasPrefix(j.By, "muster: ")
}

// byMuster begins the reason of a job that muster cancelled by itself.
const byMuster = "cancelled by muster:"

// free lets a held, failed or cancelled job start again, attempts from 1: its
// record goes, for a job without one is pending, and its attempts stay to be
// read. Where its last attempt may still be with a backend, it goes back there
// instead. A smoke that did not pass loses its verdict, too.
func (s *State) free(e Freed) {
	j := s.Jobs[e.Address]
	unpassed := j != nil && j.Smoke && s.unpassed(j.Address)
	if v, judged := s.Validations[e.Print]; judged && !v.Passed {
		delete(s.Validations, e.Print)
	}
	if j == nil {
		return
	}
	switch j.Status {
	case Held, Failed, Cancelled, Waiting:
	case Completed:
		if !unpassed {
			return
		}
	default:
		return
	}
	if j.Smoke {
		maps.DeleteFunc(s.Validations, func(_ string, v Validation) bool { return !v.Passed && v.Address == j.Address })
	}
	if last := j.Last(); last != nil && last.Ended.IsZero() && j.Status == Held {
		j.Status, j.Reason, j.Cause, j.By, j.Updated = Submitting, "", "", "", plain(e.At)
		if last.Handle != "" {
			j.Status = Queued
		}
		return
	}
	s.passed(e.Address, j)
	delete(s.Jobs, e.Address)
}

// unpassed reports whether a smoke of a job was found not to pass.
func (s *State) unpassed(address string) bool {
	for _, v := range s.Validations {
		if !v.Passed && !v.Undecided() && v.Address == address {
			return true
		}
	}
	return false
}

// identify takes the identity fields that n has.
func (j *Job) identify(n Job) {
	or(&j.Phase, n.Phase)
	or(&j.Name, n.Name)
	or(&j.Definition, n.Definition)
	or(&j.Scheme, n.Scheme)
	or(&j.Result, n.Result)
	or(&j.Request, n.Request)
	or(&j.Source, n.Source)
	if n.Axes != nil {
		j.Axes = n.Axes
	}
	if n.Inputs != nil {
		j.Inputs = n.Inputs
	}
	if n.InputBytes != nil {
		j.InputBytes = n.InputBytes
	}
}

// move gives a record another address. An address that is taken, other than
// by a forgotten job, stays taken.
func (s *State) move(e MovedJob) {
	j := s.Jobs[e.From]
	if j == nil || e.To == "" || e.To == e.From && j.Status != Forgotten {
		return
	}
	if there := s.Jobs[e.To]; there != nil && there.Status != Forgotten {
		return
	}
	if over := len(j.Attempts) == 0 || !j.Last().Ended.IsZero(); j.Status == Forgotten && j.Class == "" && len(j.Outputs) > 0 && over {
		j.Status = Completed // wanted again, and its files are there
	}
	delete(s.Jobs, e.From)
	was := j.Address
	if e.Job != nil {
		j.identify(identity(*e.Job))
	}
	if e.Axes != nil {
		j.Axes = TextsOf(e.Axes)
	}
	j.Smoke = strings.HasPrefix(e.To, smokePrefix)
	j.Address = strings.TrimPrefix(e.To, smokePrefix)
	if phase := phaseOf(j.Address); phase != "" {
		j.Phase = phase
	}
	if j.Smoke {
		for print, v := range s.Validations {
			if v.Address == was {
				v.Address = j.Address
				s.Validations[print] = v
			}
		}
	}
	j.Moved, j.Updated = was, plain(e.At)
	s.moveNotes(e.From, e.To)
	s.Jobs[e.To] = j
	if e.To != e.From {
		s.readdress(e.From, e.To, j.Phase)
	}
	if past := s.Earlier[e.From]; past != nil && e.To != e.From {
		drop(&s.Earlier, e.From)
		put(&s.Earlier, e.To, past)
	}
	if past := s.Replaced[e.From]; past != nil && e.To != e.From {
		drop(&s.Replaced, e.From)
		put(&s.Replaced, e.To, slices.Concat(s.Replaced[e.To], past))
	}
}

func (s *State) forget(e Forgot) {
	if e.Hard {
		drop(&s.Earlier, e.Address)
		drop(&s.Replaced, e.Address)
		drop(&s.Notes, e.Address)
	}
	j := s.Jobs[e.Address]
	switch {
	case j == nil:
	case e.Hard:
		delete(s.Jobs, e.Address)
	default:
		j.Status, j.Updated = Forgotten, plain(e.At)
	}
}

// moveNotes gives the notes of a job its new address, beside those already there.
func (s *State) moveNotes(from, to string) {
	moved := list(s.Notes[from])
	if len(moved) == 0 {
		return
	}
	for i := range moved {
		moved[i].Address = to
	}
	all := append(moved, s.Notes[to]...)
	slices.SortStableFunc(all, func(a, b Note) int { return a.At.Compare(b.At) })
	drop(&s.Notes, from)
	put(&s.Notes, to, all)
}

// seeOutputs takes over observed outputs; others stay. Copies elsewhere stay with an output as
// long as its bytes do.
func (j *Job) seeOutputs(found []Output) {
	for _, o := range found {
		o.Copies = list(o.Copies)
		for i := range o.Copies {
			o.Copies[i].At = plain(o.Copies[i].At)
		}
		i := slices.IndexFunc(j.Outputs, func(old Output) bool { return old.Name == o.Name && old.Backend == o.Backend && old.Path == o.Path })
		if i < 0 {
			i = slices.IndexFunc(j.Outputs, func(old Output) bool { return old.Name == o.Name && o.Name != "" })
		}
		if i < 0 {
			j.Outputs = append(j.Outputs, o)
			continue
		}
		if old := j.Outputs[i]; o.Copies == nil && o.Digest != "" && o.Digest == old.Digest {
			o.Copies = old.Copies
		}
		j.Outputs[i] = o
	}
}

// phaseOf is NAME of phase.NAME and of phase.NAME["axis=value"].
func phaseOf(address string) string {
	name, ok := strings.CutPrefix(address, "phase.")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "[")
	return name
}

package state

import (
	"slices"
	"strings"
	"time"
)

// intend opens an attempt. It replaces the earlier record: identity and hashes are
// those of the intent, and the outputs of an earlier run are not this run's. Fresh
// counts from 1, without the attempts of an earlier result; otherwise the new one
// is counted after them.
func (s *State) intend(e Intended) {
	key := e.Job.Key()
	if key == "" {
		return
	}
	old := s.Jobs[key]
	if old != nil {
		if i := old.attempt(e.Attempt.Token, e.Attempt.N); i >= 0 && !old.Attempts[i].Ended.IsZero() {
			return // came late: that attempt is over
		}
	}
	j := identity(e.Job)
	if old != nil {
		s.replace(old, e.Attempt.Replaces, e.At)
		j.Moved, j.Kept = old.Moved, list(old.Outputs)
		if j.Kept == nil {
			j.Kept = old.Kept
		}
		switch {
		case !e.Fresh:
			j.Attempts = old.Attempts
		case old.Status != Completed && !old.holds(e.Attempt.Token): // a completed job has its outputs
			s.passed(key, old)
		}
	}
	a := copied(e.Attempt, s.alike.of)
	if a.Intent.IsZero() {
		a.Intent = plain(e.At)
	}
	last := j.Last()
	switch i := j.attempt(a.Token, a.N); {
	case i >= 0: // the same intent again
		j.Attempts[i].merge(a)
	case last != nil && a.N <= last.N:
		a.N = last.N + 1
		fallthrough
	default:
		a.N = max(a.N, 1)
		j.Attempts = append(j.Attempts, a)
	}
	j.Status, j.Updated = Submitting, plain(e.At)
	s.Jobs[key] = &j
}

// identity is the part of a job that an intent sets, without its progress.
func identity(j Job) Job {
	return Job{
		Address: j.Address, Phase: j.Phase, Axes: list(j.Axes), Smoke: j.Smoke, Name: j.Name,
		Definition: j.Definition, Scheme: j.Scheme, Result: j.Result, Request: j.Request, Source: j.Source,
		Inputs: list(j.Inputs), InputBytes: list(j.InputBytes),
	}
}

// submitted gives an attempt its handle. Another handle for the same token is
// kept beside the first: the claim decides which of them runs.
func (s *State) submitted(e Submitted) {
	j := s.known(e.Address, e.Token)
	if j == nil {
		return
	}
	i := j.attempt(e.Token, 0)
	if i < 0 {
		return
	}
	a := &j.Attempts[i]
	switch {
	case a.Handle == "":
		a.Handle = e.Handle
	case e.Handle != "" && a.Handle != e.Handle && !slices.Contains(a.Duplicates, e.Handle):
		a.Duplicates = append(a.Duplicates, e.Handle)
	}
	or(&a.Stage, e.Stage)
	or(&a.Queue, e.Queue)
	if a.Queued.IsZero() {
		a.Queued = plain(e.At)
	}
	if j.Status == Submitting && i == len(j.Attempts)-1 {
		j.Status = Queued
	}
	j.Updated = plain(e.At)
}

// withdraw takes an intent back that no backend has. The job is then as its
// last attempt left it; without one it is pending again, which is no record at
// all.
func (s *State) withdraw(e NotSubmitted) {
	j := s.known(e.Address, e.Token)
	if j == nil {
		return
	}
	i := j.attempt(e.Token, 0)
	if i < 0 || i != len(j.Attempts)-1 || !j.Attempts[i].Started.IsZero() || !j.Attempts[i].Ended.IsZero() {
		return
	}
	j.Attempts = slices.Delete(j.Attempts, i, i+1)
	j.Reason, j.Cause, j.Updated = e.Reason, "", plain(e.At)
	if last := j.Last(); last != nil {
		if j.Status != Held && j.Status != Cancelled {
			j.Status, j.Class = Failed, last.Class
		}
		return
	}
	j.Attempts = nil
	if j.Status != Held && j.Status != Cancelled {
		delete(s.Jobs, j.Key())
	}
}

// observe folds a backend's report in. It finds the attempt by token and launch number; a
// report about an unknown attempt changes no job, but its cost counts.
func (s *State) observe(e Observed) {
	j := s.known(e.Address, e.Token)
	since := time.Time{}
	if j != nil {
		if i := j.observed(e); i >= 0 {
			since = j.Attempts[i].Intent
			j.fold(i, e)
		}
	}
	if e.Spent != nil {
		s.spend(*e.Spent, since)
	}
}

// mostUnheard bounds the launches that are entered on the word of a later one.
const mostUnheard = 1000

// observed is the index of the attempt that the report is about; a launch
// that a host queue made by itself is added first, and one that is reported
// after a later one is put in its place. -1: not known.
func (j *Job) observed(e Observed) int {
	if i := j.attempt(e.Token, e.Attempt.N); i >= 0 {
		return i
	}
	last := j.Last()
	if last == nil || stem(last.Token) != stem(e.Token) {
		return -1
	}
	if e.Attempt.N <= last.N {
		return j.insert(e)
	}
	next := Attempt{
		N: e.Attempt.N, Token: e.Token, Backend: last.Backend, Pool: last.Pool, Host: last.Host, Workdir: last.Workdir, Queue: last.Queue, Plan: last.Plan,
		Fence: last.Fence, Ceiling: last.Ceiling, Rates: last.Rates, Handle: last.Handle, Intent: last.Intent,
	}
	if last.Ended.IsZero() { // its end was not seen, but it did end
		last.Ended = plain(e.At)
	}
	for n := max(last.N+1, e.Attempt.N-mostUnheard); n < e.Attempt.N; n++ { // launches whose queue died before it could tell
		unheard := next
		unheard.N, unheard.Ended, unheard.Why = n, plain(e.At), "known only by the launch after it"
		j.Attempts = append(j.Attempts, unheard)
	}
	j.Attempts = append(j.Attempts, next)
	j.Status, j.Class, j.Reason, j.Cause, j.Retry, j.Short = Submitting, "", "", "", time.Time{}, ""
	return len(j.Attempts) - 1
}

// insert adds a launch between those known, of the same token: its queue made
// it while nobody looked. It is over, for a later one began.
func (j *Job) insert(e Observed) int {
	at := slices.IndexFunc(j.Attempts, func(a Attempt) bool { return a.N > e.Attempt.N })
	if at <= 0 || stem(j.Attempts[at-1].Token) != stem(e.Token) || j.Attempts[at-1].N >= e.Attempt.N {
		return -1
	}
	before := j.Attempts[at-1]
	j.Attempts = slices.Insert(slices.Clone(j.Attempts), at, Attempt{
		N: e.Attempt.N, Token: e.Token, Backend: before.Backend, Pool: before.Pool, Host: before.Host, Workdir: before.Workdir, Queue: before.Queue, Plan: before.Plan,
		Fence: before.Fence, Ceiling: before.Ceiling, Rates: before.Rates, Handle: before.Handle, Intent: before.Intent, Ended: plain(e.At),
	})
	if !e.Attempt.Ended.IsZero() {
		j.Attempts[at].Ended = plain(e.Attempt.Ended)
	}
	return at
}

// fold merges a report into attempt i and, where that is the last, moves the
// job on.
func (j *Job) fold(i int, e Observed) {
	a := &j.Attempts[i]
	over := !a.Ended.IsZero()
	a.merge(e.Attempt)
	if e.Status.ended() && a.Ended.IsZero() {
		a.Ended = plain(e.At)
	}
	j.Updated = plain(e.At)
	if i != len(j.Attempts)-1 || !j.follows(e.Status, over) {
		return
	}
	j.Status = e.Status
	j.Reason, j.Cause, j.Retry, j.Short = e.Reason, e.Cause, plain(e.Retry), e.Short
	switch e.Status {
	case Completed:
		j.Class, j.Kept, a.Left, j.Unread, j.Read = "", nil, nil, nil, nil
	case Failed, Waiting:
		if a.Class != "" {
			j.Class = a.Class
		}
	case Cancelled: // the launch may have ended before, of another cause
		j.Class = e.Attempt.Class
	}
	if len(e.Outputs) > 0 {
		j.seeOutputs(e.Outputs)
	}
	j.seeMetrics(e.Metrics, e.Unread)
	j.InputBytes = j.InputBytes.With(e.Inputs)
}

func (j *Job) seeMetrics(values, unread map[string]string) {
	for name, v := range values {
		put(&j.Metrics, name, v)
	}
	for name, why := range unread {
		put(&j.Unread, name, why)
		delete(j.Metrics, name)
	}
}

// readAgain keeps metrics that were read again.
func (j *Job) readAgain(e MetricsRead) {
	for name := range e.Read {
		delete(j.Unread, name)
	}
	j.seeMetrics(e.Metrics, e.Unread)
	if len(j.Unread) == 0 {
		j.Unread = nil
	}
	j.Read, j.Updated = j.Read.With(e.Read), plain(e.At)
}

// follows reports whether a report of the job's last attempt moves the job to
// status to. A late report of an earlier stage does not; a job that a person
// holds, or made muster forget, moves only where its work turned out to go on.
func (j *Job) follows(to Status, over bool) bool {
	switch j.Status {
	case Completed:
		return to == Completed
	case Forgotten:
		return false
	case Held:
		return to == Completed || !over && (to == Running || to == Verifying)
	}
	return to.stage() > 0 && to.stage() >= j.Status.stage()
}

// stage orders the stages of one attempt. 0: no backend reports it.
func (s Status) stage() int {
	switch s {
	case Queued:
		return 1
	case Running:
		return 2
	case Verifying:
		return 3
	case Waiting:
		return 4
	case Completed, Failed, Cancelled:
		return 5
	}
	return 0
}

// ended reports whether an attempt with this status is over.
func (s Status) ended() bool { return s.stage() >= 4 }

// merge takes over the facts of b: its non-zero fields win. N and Token stay.
func (a *Attempt) merge(b Attempt) {
	b = copied(b, some)
	or(&a.Backend, b.Backend)
	or(&a.Pool, b.Pool)
	or(&a.Host, b.Host)
	or(&a.Workdir, b.Workdir)
	or(&a.Queue, b.Queue)
	if b.Handle != "" && a.Handle != "" && a.Handle != b.Handle && !slices.Contains(a.Duplicates, b.Handle) {
		a.Duplicates = append(a.Duplicates, b.Handle)
	} else if a.Handle == "" {
		a.Handle = b.Handle
	}
	or(&a.Stage, b.Stage)
	or(&a.Plan, b.Plan)
	or(&a.Fence, b.Fence)
	or(&a.Node, b.Node)
	or(&a.Driver, b.Driver)
	or(&a.Signal, b.Signal)
	or(&a.Class, b.Class)
	or(&a.Why, b.Why)
	or(&a.Planned, b.Planned)
	or(&a.Replaces, b.Replaces)
	or(&a.Result, b.Result)
	or(&a.Exit, b.Exit)
	or(&a.Usage, b.Usage)
	for _, t := range []struct{ to, from *time.Time }{
		{&a.Intent, &b.Intent}, {&a.Queued, &b.Queued}, {&a.Started, &b.Started}, {&a.Ended, &b.Ended}, {&a.Expected, &b.Expected},
	} {
		or(t.to, *t.from)
	}
	a.NotRun = a.NotRun || b.NotRun
	if len(b.GPUs) > 0 {
		a.GPUs = b.GPUs
	}
	if len(b.Tail) > 0 {
		a.Tail = b.Tail
	}
	if len(b.Ceiling) > 0 {
		a.Ceiling = b.Ceiling
	}
	if len(b.Rates) > 0 {
		a.Rates = b.Rates
	}
	if len(b.Scaled) > 0 {
		a.Scaled = b.Scaled
	}
	if len(b.Left) > 0 {
		a.Left = b.Left
	}
	for _, h := range b.Duplicates {
		if !slices.Contains(a.Duplicates, h) {
			a.Duplicates = append(a.Duplicates, h)
		}
	}
}

func or[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

// copied is an attempt that shares nothing with a; of copies its maps.
func copied(a Attempt, of func(map[string]string) map[string]string) Attempt {
	for _, t := range []*time.Time{&a.Intent, &a.Queued, &a.Started, &a.Ended, &a.Expected} {
		*t = plain(*t)
	}
	a.Ceiling, a.Rates, a.Scaled = of(a.Ceiling), of(a.Rates), of(a.Scaled)
	a.GPUs, a.Tail, a.Duplicates, a.Left = list(a.GPUs), list(a.Tail), list(a.Duplicates), list(a.Left)
	if a.Exit != nil {
		exit := *a.Exit
		a.Exit = &exit
	}
	if a.Usage != nil {
		usage := *a.Usage
		a.Usage = &usage
	}
	return a
}

func list[L ~[]T, T any](l L) L {
	if len(l) == 0 {
		return nil
	}
	return slices.Clone(l)
}

// known is the job at the address, or its smoke, if one of its attempts has
// the token.
func (s *State) known(address, token string) *Job {
	for _, key := range []string{address, SmokeAddress(address)} {
		if j := s.Jobs[key]; j != nil && j.holds(token) {
			return j
		}
	}
	return nil
}

func (j *Job) holds(token string) bool {
	for i := range j.Attempts {
		if stem(j.Attempts[i].Token) == stem(token) {
			return true
		}
	}
	return false
}

// attempt is the index of launch n of a token; n = 0 takes the one with
// exactly this token, or the token's last. -1: there is none.
func (j *Job) attempt(token string, n int) int {
	found := -1
	for i := range j.Attempts {
		a := &j.Attempts[i]
		switch {
		case stem(a.Token) != stem(token):
		case n > 0 && a.N == n, n <= 0 && a.Token == token && token != stem(token):
			return i
		case n <= 0:
			found = i
		}
	}
	return found
}

// stem is a token without the launch number: TOKEN of TOKEN/2.
func stem(token string) string {
	token, _, _ = strings.Cut(token, "/")
	return token
}

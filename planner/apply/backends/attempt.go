package backends

import (
	"cmp"
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An AfterCancel is the step that follows the end of a cancelled attempt.
type AfterCancel uint8

// The ends.
const (
	Stays  AfterCancel = iota // it is not being cancelled
	Rerun                     // start again: the work is another
	Again                     // start again: the same work, asked for differently
	Behind                    // start again when the job before it, which failed, is done
	Hold                      // stay cancelled, by a person
	Forget                    // not wanted any more
)

// Restarts reports whether the job starts again.
func (k AfterCancel) Restarts() bool { return k == Rerun || k == Again || k == Behind }

// Reason says, for the record, why an attempt was ended; by is who asked for it,
// "" for muster.
func (k AfterCancel) Reason(by string) string {
	switch k {
	case Rerun:
		return "replaced: the job changed"
	case Again:
		return "resubmitted with another request"
	case Behind:
		return "a job that it waits for was not done"
	case Forget:
		return "not in the campaign any more"
	}
	if by != "" {
		return "cancelled by " + by
	}
	return "cancelled"
}

// A Attempt is one token from its intent to its end.
type Attempt struct {
	Key   string // in State.Jobs
	Addr  string
	Token string
	B     *Backend
	Pool  string
	Own   offer.Limits        // that it has, where they are not its pool's
	Under connection.Throttle // the limit that its queue enforces
	N     int                 // launch
	First int                 // launch that this token began with
	// Stranded says that its place is no longer configured, or closed: nobody can be asked.
	Stranded bool

	Status cells.Status
	Job    *providers.Job // until its backend has it
	Handle string
	Stage  offer.Stage  // how far it has come, while it is queued
	Queue  string       // identity of the queue, "" if the backend tells none
	HeldBy offer.Holder // who holds it in its queue beside muster, while it is queued
	Unsent string       // why its submission failed, until it is known to be released
	End    AfterCancel

	told    bool            // the cancel is under way
	missed  int             // look-ups in a row that did not find it
	seconds map[string]bool // other jobs under the same token, as their backend names them
}

// NeedsMuster reports whether a queued attempt does not start by itself: its
// scheduler does not have it, or muster holds it there until the rest is in.
func (f *Attempt) NeedsMuster() bool {
	return f.Status == cells.Queued && (f.Stage == offer.Accepted || f.Stage == offer.Submitted)
}

// HeldThere reports whether the queue of a backend has an attempt and holds it,
// for muster or for somebody else.
func (f *Attempt) HeldThere() bool {
	return f.Status == cells.Queued && f.Stage != offer.Accepted && (f.Stage == offer.Submitted || f.HeldBy != "")
}

// StageOf is a stage, or the one that a handle implies where a backend or a record
// names none.
func (b *Backend) StageOf(s offer.Stage, handle string) offer.Stage {
	switch {
	case s != "":
		return s
	case handle == "" && b.Can.Arrays:
		return offer.Accepted
	}
	return offer.Released
}

// EndAs has an attempt cancelled with the next Cancel.
func (f *Attempt) EndAs(k AfterCancel) { f.End, f.told = k, false }

// LaunchToken is the token of an attempt's launch.
func (f *Attempt) LaunchToken(n int) string { return jobspec.LaunchToken(f.Token, n-f.First, n) }

// Adopt counts an attempt as its backend's.
func (cs *core) Adopt(f *Attempt) {
	cs.attempts[f.Token] = f
	cs.give(f, 1)
}

// Land takes an attempt out: its attempt is over, or never was.
func (cs *core) Land(f *Attempt) {
	delete(cs.attempts, f.Token)
	cs.give(f, -1)
}

func (cs *core) give(f *Attempt, n int) {
	f.B.Give(f.Pool, f.Own, n)
	change := f.B.share.Give(f.Under, n)
	f.B.load += change
	cs.load += change
}

// With is how many jobs may run at once, everywhere, with one more of a queue
// under a throttle.
func (cs *core) With(b *Backend, under connection.Throttle, n int) int {
	return cs.load + b.share.More(under, n)
}

// inFlight reports whether an attempt is neither over nor replaced.
func (cs *core) inFlight(f *Attempt) bool { return cs.attempts[f.Token] == f }

func (cs *core) move(f *Attempt, s cells.Status) {
	f.Status = s
	cs.Hear(Moved{f})
	if _, lost := cs.State.Away[f.B.FullName()]; s == cells.Unknown && f.B.Down != "" && !lost {
		cs.Hear(Lost{f.B})
	}
}

// proceed goes on with an attempt that was found and is not over.
func (cs *core) proceed(f *Attempt) {
	if cs.inFlight(f) && f.Status == cells.Unknown {
		cs.move(f, cells.Queued)
	}
}

// on are the attempts of a backend, by key.
func (cs *core) on(b *Backend) (out []*Attempt) {
	for _, f := range cs.attempts {
		if f.B == b {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *Attempt) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func tokens(fs []*Attempt) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.Token
	}
	return out
}

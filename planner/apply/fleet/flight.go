package fleet

import (
	"cmp"
	"slices"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An End is what follows when a flight that is being cancelled has ended.
type End uint8

// The ends.
const (
	Stays  End = iota // it is not being cancelled
	Rerun             // start anew: the work is another
	Again             // start anew: the same work, asked for differently
	Behind            // start anew when what it was queued behind is done, which failed
	Hold              // stay cancelled, by a person
	Forget            // not wanted any more
)

// Anew reports whether the job starts again.
func (k End) Anew() bool { return k == Rerun || k == Again || k == Behind }

// Reason says, for the record, why a flight was ended; by is who asked for it,
// "" for muster.
func (k End) Reason(by string) string {
	switch k {
	case Rerun:
		return "replaced: the job changed"
	case Again:
		return "submitted anew with another request"
	case Behind:
		return "what it comes after was not done"
	case Forget:
		return "not in the campaign any more"
	}
	if by != "" {
		return "cancelled by " + by
	}
	return "cancelled"
}

// A Flight is one token from its intent to its end.
type Flight struct {
	Key   string // in State.Jobs
	Addr  string
	Token string
	B     *Backend
	Pool  string
	Own   offer.Limits  // that it has, where they are not its pool's
	Under line.Throttle // what its queue keeps it to
	N     int           // launch
	First int           // launch that this token began with
	// Stranded says that its place is no longer configured: nobody can be asked.
	Stranded bool

	Status cells.Status
	Job    *providers.Job // until its backend has it
	Handle string
	Stage  offer.Stage  // how far it has come, while it is queued
	HeldBy offer.Holder // who holds it in its queue beside muster, while it is queued
	Unsent string       // why its submission failed, until it is known to be released
	End    End

	told    bool            // the cancel is under way
	missed  int             // look-ups in a row that did not find it
	seconds map[string]bool // other jobs under the same token, as their backend names them
}

// NeedsMuster reports whether a queued flight does not start by itself: its
// scheduler does not have it, or muster holds it there until the rest is in.
func (f *Flight) NeedsMuster() bool {
	return f.Status == cells.Queued && (f.Stage == offer.Accepted || f.Stage == offer.Submitted)
}

// HeldThere reports whether the queue of a backend has a flight and holds it,
// for muster or for somebody else.
func (f *Flight) HeldThere() bool {
	return f.Status == cells.Queued && f.Stage != offer.Accepted && (f.Stage == offer.Submitted || f.HeldBy != "")
}

// StageOf is a stage, or what a handle says where a backend or a record says none.
func (b *Backend) StageOf(s offer.Stage, handle string) offer.Stage {
	switch {
	case s != "":
		return s
	case handle == "" && b.Can.Arrays:
		return offer.Accepted
	}
	return offer.Released
}

// EndAs has a flight cancelled with the next Cancel.
func (f *Flight) EndAs(k End) { f.End, f.told = k, false }

// LaunchToken is the token of a flight's launch.
func (f *Flight) LaunchToken(n int) string { return sheet.LaunchToken(f.Token, n-f.First, n) }

// Adopt counts a flight as its backend's.
func (fl *Fleet) Adopt(f *Flight) {
	fl.flights[f.Token] = f
	fl.give(f, 1)
}

// Land takes a flight out: its attempt is over, or never was.
func (fl *Fleet) Land(f *Flight) {
	delete(fl.flights, f.Token)
	fl.give(f, -1)
}

func (fl *Fleet) give(f *Flight, n int) {
	f.B.Give(f.Pool, f.Own, n)
	change := f.B.share.Give(f.Under, n)
	f.B.load += change
	fl.load += change
}

// With is how many jobs may run at once, everywhere, with one more of a queue
// under a throttle.
func (fl *Fleet) With(b *Backend, under line.Throttle) int { return fl.load + b.share.More(under) }

// flying reports whether a flight is neither over nor replaced.
func (fl *Fleet) flying(f *Flight) bool { return fl.flights[f.Token] == f }

func (fl *Fleet) move(f *Flight, s cells.Status) {
	f.Status = s
	fl.Hear(Moved{f})
	if _, lost := fl.State.Away[f.B.FullName()]; s == cells.Unknown && f.B.Down != "" && !lost {
		fl.Hear(Lost{f.B})
	}
}

// proceed goes on with a flight that was found and is not over.
func (fl *Fleet) proceed(f *Flight) {
	if fl.flying(f) && f.Status == cells.Unknown {
		fl.move(f, cells.Queued)
	}
}

// on are the flights of a backend, by key.
func (fl *Fleet) on(b *Backend) (out []*Flight) {
	for _, f := range fl.flights {
		if f.B == b {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *Flight) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func tokens(fs []*Flight) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.Token
	}
	return out
}

package backends

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// lookups find the status of attempts, and submit again the jobs that a
// backend kept.
type lookups struct {
	*core
	outbox *outbox
}

const secondLook = time.Minute // before a job that is not listed counts as lost

// lookFor asks a backend about attempts whose outcome is not known.
func (ls *lookups) lookFor(b *Backend, batch []*Attempt) {
	var open []*Attempt
	for _, f := range batch {
		if ls.inFlight(f) {
			open = append(open, f)
		}
	}
	if len(open) == 0 { // it reported them by itself; the next question shows whether it answers
		b.looking, b.tries, b.quiet = false, 0, time.Time{}
		return
	}
	asked := tokens(open)
	var obs []offer.Observation
	var err error
	b.Call(func() { obs, err = b.Find(ls.Ctx, asked) }, func() { ls.found(b, open, obs, err) })
}

// found folds the answer to a look-up.
func (ls *lookups) found(b *Backend, asked []*Attempt, obs []offer.Observation, err error) {
	if err != nil {
		if connection.ClassOf(err) == "" {
			return
		}
		ls.outbox.failed(b, err)
		if b.tries >= reachBound {
			for _, f := range asked {
				ls.move(f, cells.Unknown)
			}
		}
		ls.Later(connection.Pause(b.tries, err), func() { ls.lookFor(b, asked) })
		return
	}
	b.tries, b.quiet = 0, time.Time{}
	by := make(map[string]*offer.Observation, len(obs))
	for i := range obs {
		by[connection.Stem(obs[i].Token)] = &obs[i]
	}
	var unsaid []*Attempt
	for _, f := range asked {
		if !ls.inFlight(f) {
			continue
		}
		o := by[f.Token]
		switch {
		case o == nil || o.Presence == offer.Unknown:
			unsaid = append(unsaid, f)
		case o.Presence == offer.Absent:
			if why := ls.elsewhere(f, o); why != "" {
				ls.strand(f, why)
			} else {
				ls.absent(f, o.Reason)
			}
		default:
			f.missed = 0
			for i := range o.Earlier {
				if e := &o.Earlier[i]; e.Attempt > f.N || e.Attempt == f.N && f.Status != cells.Waiting {
					ls.observe(b.Contact, e)
				}
			}
			ls.observe(b.Contact, o)
			ls.proceed(f)
		}
	}
	if len(unsaid) > 0 {
		ls.cannotSay(b, unsaid)
		return
	}
	b.silent, b.looking = 0, false
	ls.speaks(b)
	ls.sendAgain(b)
}

// elsewhere says why the backend that answered is not the one that an attempt was
// submitted to, "" where it is.
func (ls *lookups) elsewhere(f *Attempt, o *offer.Observation) string {
	j := ls.State.Jobs[f.Key]
	if j == nil || j.Last() == nil {
		return ""
	}
	return site.Elsewhere(f.B.Conf, f.B.Can, ls.State.Backends[f.B.Name], j.Last(), o)
}

// strand leaves an attempt unknown for the rest of the run: its place is no
// longer configured, and no later answer will speak of it.
func (ls *lookups) strand(f *Attempt, why string) {
	if f.Stranded {
		return
	}
	f.Stranded = true
	ls.move(f, cells.Unknown)
	ls.Note(f.Addr, f.Addr+": "+why, true)
}

// cannotSay is for jobs of which a backend that answered knows nothing for
// now: a host of it is away. They stay as they are and are asked after again.
func (ls *lookups) cannotSay(b *Backend, fs []*Attempt) {
	jobs := "1 job"
	if len(fs) != 1 {
		jobs = fmt.Sprintf("%d jobs", len(fs))
	}
	ls.Unreachable(b, fmt.Errorf("it cannot tell the status of %s submitted to it", jobs))
	for _, f := range fs {
		if f.Handle == "" && f.B.Can.Arrays {
			f.Unsent = cmp.Or(f.Unsent, b.Title()+" cannot say yet whether they were submitted")
		}
		ls.move(f, cells.Unknown)
	}
	b.silent++
	ls.Later(connection.Backoff(b.silent+3), func() { ls.lookFor(b, fs) })
}

// absent is for a backend that answered and does not know a token. An intent
// is sent again under it; a job that was there counts as lost after a second
// reading, for the reason that its backend gives.
func (ls *lookups) absent(f *Attempt, why string) {
	why = cmp.Or(why, observed.Unlisted)
	switch {
	case f.End != Stays:
		ls.Hear(Gone{f, "it was gone"})
	case f.Status == cells.Submitting || f.Handle == "" && f.Status == cells.Unknown:
		ls.Hear(Absent{f})
	case f.missed == 0:
		f.missed = 1
		ls.move(f, cells.Unknown)
		ls.Note(f.Addr, f.Addr+": "+why+"; looking again in a minute", true)
		ls.Later(secondLook, func() { ls.lookFor(f.B, []*Attempt{f}) })
	default:
		ls.observe(f.B.Contact, &offer.Observation{Token: f.Token, Presence: offer.Found, Status: offer.Lost, Attempt: f.N, Reason: why})
	}
}

// observe posts the observation of one job.
func (ls *lookups) observe(c *Contact, o *offer.Observation) {
	f := ls.attempts[connection.Stem(o.Token)]
	if f == nil || f.B.Contact != c || o.Presence == offer.Absent {
		return
	}
	switch {
	case o.Status == "":
	case f.Status == cells.Submitting, f.Unsent != "", f.NeedsMuster() && f.B.StageOf(o.Stage, o.Handle) != f.Stage:
		ls.outbox.accepted(f, providers.Submitted{Handle: o.Handle, Stage: o.Stage, HeldBy: o.HeldBy, Queue: first(o.Queues)})
	case o.Status == offer.Queued && o.Stage != "":
		f.Stage, f.HeldBy = o.Stage, o.HeldBy
	}
	if o.Status != "" && o.Status != offer.Queued {
		f.Unsent, f.HeldBy = "", ""
	}
	if o.Duplicate != "" {
		ls.second(f, o.Duplicate)
	}
	n := o.Attempt
	if n < f.First {
		n = f.N
	}
	if n < f.N {
		ls.Hear(Late{f, o, n})
		return
	}
	ls.Reachable(f.B)
	ls.proceed(f)
	f.N = n // more than before: a launch that its queue made by itself
	f.missed = 0
	ls.Hear(Seen{f, o})
}

// second ends another job that carries an attempt's token: the one that claimed
// the token goes on, the other would come up, find the claim and leave.
func (ls *lookups) second(f *Attempt, handle string) {
	if handle == f.Handle || f.seconds[handle] {
		return
	}
	if f.seconds == nil {
		f.seconds = map[string]bool{}
	}
	f.seconds[handle] = true
	ls.Note(f.Addr, f.Addr+" is known twice on backend."+f.B.Name+": the one that claimed its token continues, "+handle+" is cancelled", true)
	var err error
	f.B.Call(func() {
		ctx, cancel := context.WithTimeout(ls.Ctx, connection.AskTimeout)
		defer cancel()
		_, err = f.B.Provider.Cancel(ctx, providers.CancelRequest{Backend: f.B.Name, Fence: ls.Fence, Holder: ls.Holder, Handles: []string{handle}})
	}, func() {
		if err != nil && connection.ClassOf(err) != "" {
			delete(f.seconds, handle)
			ls.Note(f.Addr, handle+" was not cancelled: "+err.Error(), true)
		}
	})
}

// press makes a backend deliver jobs that it keeps, where its scheduler may have room by now.
// While muster runs, its watch does that.
func (ls *lookups) press(b *Backend, presses func() bool, then func()) {
	kept := slices.DeleteFunc(ls.on(b), func(f *Attempt) bool { return !f.NeedsMuster() || f.End != Stays })
	if len(kept) == 0 || b.Can.Rents || !presses() { // CatchUp is for machines that are rented
		then()
		return
	}
	asked := tokens(kept)
	ls.Unanswered++
	r := providers.SubmitRequest{Backend: b.Name, Fence: ls.Fence, Holder: ls.Holder}
	var obs []offer.Observation
	var err error
	b.Call(func() {
		defer ls.outbox.slow(b, len(kept))()
		if _, err = b.Provider.Submit(ls.Ctx, r); err == nil {
			obs, err = b.Find(ls.Ctx, asked)
		}
	}, func() {
		ls.Unanswered--
		if connection.ClassOf(err) == providers.StaleFence {
			ls.Hear(Overtaken{b, err})
		} else {
			ls.found(b, kept, obs, err)
		}
		then()
	})
}

// CatchUp has backends that rent machines hand out their jobs and report what happened on
// machines, before a run ends: they rent, start and fetch only while muster runs. It reports
// whether a backend still catches up, which takes as long as a machine boots. Other calls to
// the backend go on meanwhile.
func (ls *lookups) CatchUp() (going bool) {
	for _, b := range ls.Queues {
		if !b.Can.Rents || b.Provider == nil || len(ls.on(b)) == 0 && !ls.rents(b) {
			continue
		}
		if !b.catching && !b.caughtUp {
			b.catching, b.caughtUp = true, true
			ls.catchUp(b)
		}
		going = going || b.catching
	}
	return going
}

// rents reports whether a backend has machines, which it releases when they were idle for
// long enough.
func (ls *lookups) rents(b *Backend) bool {
	for _, r := range ls.State.Rentals {
		if r.Backend == b.Name && r.Rented() {
			return true
		}
	}
	return false
}

func (ls *lookups) catchUp(b *Backend) {
	ls.Spawn(func() {
		_, err := b.Provider.Submit(ls.Ctx, providers.SubmitRequest{Backend: b.Name, Fence: ls.Fence, Holder: ls.Holder})
		ls.Post(func() {
			if connection.ClassOf(err) == providers.StaleFence {
				ls.Hear(Overtaken{b, err})
			}
			fs := ls.on(b)
			if len(fs) == 0 {
				b.catching = false
				return
			}
			asked := tokens(fs)
			var obs []offer.Observation
			b.Call(func() { obs, err = b.Find(ls.Ctx, asked) }, func() {
				ls.found(b, fs, obs, err)
				b.catching = false
			})
		})
	})
}

// sendAgain makes a backend submit the jobs that it kept when a submission failed, for a run
// that ends: no watch would do that.
func (ls *lookups) sendAgain(b *Backend) {
	if ls.Stays || b.pressing || !ls.Unsettled() {
		return
	}
	if unsent, unknown := ls.unsent(b); !unsent || unknown { // unknown jobs are being looked for
		return
	}
	b.pressing = true
	ls.Later(connection.Backoff(b.pressed+1), func() {
		b.pressing = false
		b.pressed++
		ls.press(b, func() bool { return true }, func() {})
	})
}

// unsent reports whether a submission to a backend failed and was not
// repeated, and whether its result is unknown.
func (ls *lookups) unsent(b *Backend) (unsent, unknown bool) {
	for _, f := range ls.attempts {
		if f.B == b && f.Unsent != "" && f.End == Stays {
			unsent, unknown = true, unknown || f.Status == cells.Unknown
		}
	}
	return unsent, unknown
}

// Unsettled reports whether a submission still finds out what became of a
// submission that failed, or tries it again.
func (ls *lookups) Unsettled() bool {
	for _, b := range ls.Queues {
		if b.Provider == nil || b.tries >= handOverTries || b.silent >= handOverSilent || b.pressed >= handOverPresses {
			continue
		}
		if unsent, _ := ls.unsent(b); unsent {
			return true
		}
	}
	return false
}

// lose is for a place whose watch lost it, or hosts of it without saying which: every queue is
// asked for its jobs until it answers.
func (ls *lookups) lose(c *Contact) {
	for _, b := range c.Lines {
		if fs := ls.on(b); len(fs) > 0 && !b.looking {
			b.looking = true
			ls.lookFor(b, fs)
		}
	}
}

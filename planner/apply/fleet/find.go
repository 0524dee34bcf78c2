package fleet

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const secondLook = time.Minute // before a job that is not listed counts as lost

// lookFor asks a backend about flights whose outcome is not known.
func (fl *Fleet) lookFor(b *Backend, batch []*Flight) {
	var open []*Flight
	for _, f := range batch {
		if fl.flying(f) {
			open = append(open, f)
		}
	}
	if len(open) == 0 { // it told of them by itself; whether it can be asked, the next question says
		b.looking, b.tries, b.quiet = false, 0, time.Time{}
		return
	}
	asked := tokens(open)
	var obs []offer.Observation
	var err error
	b.Call(func() { obs, err = b.Find(fl.Ctx, asked) }, func() { fl.found(b, open, obs, err) })
}

// found folds the answer to a look-up.
func (fl *Fleet) found(b *Backend, asked []*Flight, obs []offer.Observation, err error) {
	if err != nil {
		if line.ClassOf(err) == "" {
			return
		}
		fl.failed(b, err)
		if b.tries >= reachBound {
			for _, f := range asked {
				fl.move(f, cells.Unknown)
			}
		}
		fl.Later(line.Pause(b.tries, err), func() { fl.lookFor(b, asked) })
		return
	}
	b.tries, b.quiet = 0, time.Time{}
	by := make(map[string]*offer.Observation, len(obs))
	for i := range obs {
		by[line.Stem(obs[i].Token)] = &obs[i]
	}
	var unsaid []*Flight
	for _, f := range asked {
		if !fl.flying(f) {
			continue
		}
		o := by[f.Token]
		switch {
		case o == nil || o.Presence == offer.Unknown:
			unsaid = append(unsaid, f)
		case o.Presence == offer.Absent:
			if why := fl.elsewhere(f, o.Node); why != "" {
				fl.strand(f, why)
			} else {
				fl.absent(f, o.Reason)
			}
		default:
			f.missed = 0
			for i := range o.Earlier {
				if e := &o.Earlier[i]; e.Attempt > f.N || e.Attempt == f.N && f.Status != cells.Waiting {
					fl.observe(b.Contact, e)
				}
			}
			fl.observe(b.Contact, o)
			fl.proceed(f)
		}
	}
	if len(unsaid) > 0 {
		fl.cannotSay(b, unsaid)
		return
	}
	b.silent, b.looking = 0, false
	fl.speaks(b)
	fl.sendAgain(b)
}

// elsewhere says why the backend that answered is not the one that a flight was
// submitted to, "" where it is.
func (fl *Fleet) elsewhere(f *Flight, node string) string {
	j := fl.State.Jobs[f.Key]
	if j == nil || j.Last() == nil {
		return ""
	}
	return site.Elsewhere(f.B.Conf, j.Last(), node)
}

// strand leaves a flight unknown for the rest of the run: its place is no
// longer configured, and no later answer will speak of it.
func (fl *Fleet) strand(f *Flight, why string) {
	if f.Stranded {
		return
	}
	f.Stranded = true
	fl.move(f, cells.Unknown)
	fl.Note(f.Addr, f.Addr+": "+why, true)
}

// cannotSay is for jobs of which a backend that answered knows nothing for
// now: a host of it is away. They stay as they are and are asked after again.
func (fl *Fleet) cannotSay(b *Backend, fs []*Flight) {
	jobs := "1 job"
	if len(fs) != 1 {
		jobs = fmt.Sprintf("%d jobs", len(fs))
	}
	fl.Unreachable(b, fmt.Errorf("it cannot say what became of %s handed to it", jobs))
	for _, f := range fs {
		if f.Handle == "" && f.B.Can.Arrays {
			f.Unsent = cmp.Or(f.Unsent, b.Title()+" cannot say yet whether they were submitted")
		}
		fl.move(f, cells.Unknown)
	}
	b.silent++
	fl.Later(line.Backoff(b.silent+3), func() { fl.lookFor(b, fs) })
}

// absent is for a backend that answered and does not know a token. An intent
// is sent again under it; a job that was there counts as lost after a second
// reading, for the reason that its backend gives.
func (fl *Fleet) absent(f *Flight, why string) {
	why = cmp.Or(why, observed.Unlisted)
	switch {
	case f.End != Stays:
		fl.Hear(Gone{f, "it was gone"})
	case f.Status == cells.Submitting || f.Handle == "" && f.Status == cells.Unknown:
		fl.Hear(Absent{f})
	case f.missed == 0:
		f.missed = 1
		fl.move(f, cells.Unknown)
		fl.Note(f.Addr, f.Addr+": "+why+"; looking again in a minute", true)
		fl.Later(secondLook, func() { fl.lookFor(f.B, []*Flight{f}) })
	default:
		fl.observe(f.B.Contact, &offer.Observation{Token: f.Token, Presence: offer.Found, Status: offer.Lost, Attempt: f.N, Reason: why})
	}
}

// observe tells what was seen of one job.
func (fl *Fleet) observe(c *Contact, o *offer.Observation) {
	f := fl.flights[line.Stem(o.Token)]
	if f == nil || f.B.Contact != c || o.Presence == offer.Absent {
		return
	}
	switch {
	case o.Status == "":
	case f.Status == cells.Submitting, f.Unsent != "", f.NeedsMuster() && f.B.StageOf(o.Stage, o.Handle) != f.Stage:
		fl.accepted(f, o.Handle, o.Stage, o.HeldBy)
	case o.Status == offer.Queued && o.Stage != "":
		f.Stage, f.HeldBy = o.Stage, o.HeldBy
	}
	if o.Status != "" && o.Status != offer.Queued {
		f.Unsent, f.HeldBy = "", ""
	}
	if o.Duplicate != "" {
		fl.second(f, o.Duplicate)
	}
	n := o.Attempt
	if n < f.First {
		n = f.N
	}
	if n < f.N {
		fl.Hear(Late{f, o, n})
		return
	}
	fl.Reachable(f.B)
	fl.proceed(f)
	f.N = n // more than before: a launch that its queue made by itself
	f.missed = 0
	fl.Hear(Seen{f, o})
}

// second ends another job that carries a flight's token: the one that claimed
// the token goes on, the other would come up, find the claim and leave.
func (fl *Fleet) second(f *Flight, handle string) {
	if handle == f.Handle || f.seconds[handle] {
		return
	}
	if f.seconds == nil {
		f.seconds = map[string]bool{}
	}
	f.seconds[handle] = true
	fl.Note(f.Addr, f.Addr+" is known twice on backend."+f.B.Name+": the one that claimed its token goes on, "+handle+" is cancelled", true)
	var err error
	f.B.Call(func() {
		ctx, cancel := context.WithTimeout(fl.Ctx, line.AskTimeout)
		defer cancel()
		_, err = f.B.Provider.Cancel(ctx, providers.CancelRequest{Backend: f.B.Name, Fence: fl.Fence, Holder: fl.Holder, Handles: []string{handle}})
	}, func() {
		if err != nil && line.ClassOf(err) != "" {
			delete(f.seconds, handle)
			fl.Note(f.Addr, handle+" was not cancelled: "+err.Error(), true)
		}
	})
}

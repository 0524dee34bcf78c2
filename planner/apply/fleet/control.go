package fleet

import (
	"context"

	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
)

// Tell says to a backend's queue whether it may start jobs of this campaign,
// unless it knows.
func (fl *Fleet) Tell(b *Backend, hold bool) {
	if b.Provider == nil || b.told && b.held == hold || !b.Starts() {
		return
	}
	b.told, b.held = true, hold
	r := providers.ControlRequest{Hold: &hold, Phases: fl.caps(b)}
	if b.Can.HostQueue { // it goes on with muster off
		limit := fl.Campaign.MaxParallel
		if limit <= 0 {
			limit = -1
		}
		r.Cap = &limit
	}
	fl.control(b, r)
}

// caps are how many of each phase may run at once by now, for a queue that keeps
// to that by itself: what it was handed before may have come with another.
func (fl *Fleet) caps(b *Backend) map[string]int {
	if !b.Can.HostQueue && !b.Can.Arrays {
		return nil
	}
	caps := map[string]int{}
	for _, p := range fl.Campaign.Phases {
		caps[p.Name] = p.MaxParallel
		if p.MaxParallel <= 0 {
			caps[p.Name] = -1
		}
	}
	return caps
}

// TellAll says it to every queue; that it may start, only to those that were
// told otherwise.
func (fl *Fleet) TellAll(hold bool) {
	for _, b := range fl.Queues {
		if hold || b.told {
			fl.Tell(b, hold)
		}
	}
}

// TakeOver tells the queues that have jobs of this campaign who drives it now:
// from then on they refuse what a muster that was overtaken still sends.
func (fl *Fleet) TakeOver(hold bool) {
	for _, f := range fl.flights {
		fl.Tell(f.B, hold)
	}
}

// HoldJobs holds or releases jobs in the queue of a backend.
func (fl *Fleet) HoldJobs(b *Backend, tokens []string, hold bool) {
	if b.Provider == nil {
		return
	}
	fl.control(b, providers.ControlRequest{Hold: &hold, Tokens: tokens})
}

// Resume lets every queue start jobs of phases again.
func (fl *Fleet) Resume(phases []string) {
	for _, b := range fl.Queues {
		if b.Provider != nil && b.Starts() {
			fl.control(b, providers.ControlRequest{Resume: phases})
		}
	}
}

func (fl *Fleet) control(b *Backend, r providers.ControlRequest) {
	r.Backend, r.Fence, r.Holder = b.Name, fl.Fence, fl.Holder
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(fl.Ctx, line.AskTimeout)
		defer cancel()
		err = b.Provider.Control(ctx, r)
	}, func() {
		if err == nil || line.ClassOf(err) == "" {
			return
		}
		if line.ClassOf(err) == providers.StaleFence {
			fl.Hear(Overtaken{b, err})
			return
		}
		if r.Hold != nil && len(r.Tokens) == 0 {
			b.told = false // it is told again before it is given anything
		}
		if r.Hold == nil || *r.Hold || line.ClassOf(err) != providers.Unreachable {
			fl.Note(b.Title(), b.Title()+" did not take the hold: "+err.Error(), true)
		}
	})
}

// Keep holds jobs in the queue of a backend, or lets them go, until it has said
// that it does. What became of held ones is looked up: one that started meanwhile
// goes on.
func (fl *Fleet) Keep(b *Backend, fs []*Flight, hold bool) {
	fl.Keeping++
	fl.keep(b, fs, hold, 1)
}

func (fl *Fleet) keep(b *Backend, fs []*Flight, hold bool, try int) {
	r := providers.ControlRequest{Backend: b.Name, Fence: fl.Fence, Holder: fl.Holder, Hold: &hold, Tokens: tokens(fs)}
	var err error
	b.Call(func() {
		if b.Provider == nil {
			err = providers.Errorf(providers.Unreachable, "backend.%s is not configured", b.Name)
			return
		}
		ctx, cancel := context.WithTimeout(fl.Ctx, line.AskTimeout)
		defer cancel()
		err = b.Provider.Control(ctx, r)
	}, func() {
		class := line.ClassOf(err)
		if err != nil && class == providers.Unreachable {
			fl.Unreachable(b, err)
			fl.Later(line.Backoff(try), func() { fl.keep(b, fs, hold, try+1) })
			return
		}
		fl.Keeping--
		switch {
		case err == nil && hold:
			fl.lookFor(b, fs)
		case err == nil:
			fl.Hear(LetGo{fs})
		case class == "": // the run is over
		case class == providers.StaleFence:
			fl.Hear(Overtaken{b, err})
		default:
			fl.Hear(Unheld{b, fs, err.Error()})
		}
	})
}

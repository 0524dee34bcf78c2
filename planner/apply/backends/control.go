package backends

import (
	"context"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
)

// control tells queues which jobs they may start by themselves.
type control struct {
	*core
	lookups *lookups
}

// Tell says to a backend's queue whether it may start jobs of this campaign,
// unless it knows.
func (ct *control) Tell(b *Backend, hold bool) {
	if b.Provider == nil || b.told && b.held == hold || !b.Starts() {
		return
	}
	b.told, b.held = true, hold
	r := providers.ControlRequest{Hold: &hold, Phases: ct.caps(b)}
	if b.Can.HostQueue { // it goes on with muster off
		limit := ct.Campaign.MaxParallel
		if limit <= 0 {
			limit = -1
		}
		r.Cap = &limit
	}
	ct.control(b, r)
}

// caps are how many of each phase may run at once by now, for a queue that keeps to that by
// itself: earlier jobs may have come with another cap.
func (ct *control) caps(b *Backend) map[string]int {
	if !b.Can.HostQueue && !b.Can.Arrays {
		return nil
	}
	caps := map[string]int{}
	for _, p := range ct.Campaign.Phases {
		caps[p.Name] = p.MaxParallel
		if p.MaxParallel <= 0 {
			caps[p.Name] = -1
		}
	}
	return caps
}

// TellAll says it to every queue; that it may start, only to those that were
// told otherwise.
func (ct *control) TellAll(hold bool) {
	for _, b := range ct.Queues {
		if hold || b.told {
			ct.Tell(b, hold)
		}
	}
}

// TakeOver tells the queues that have jobs of this campaign who drives it now:
// from then on they refuse orders from the muster before.
func (ct *control) TakeOver(hold bool) {
	for _, f := range ct.attempts {
		ct.Tell(f.B, hold)
	}
}

// HoldJobs holds or releases jobs in the queue of a backend.
func (ct *control) HoldJobs(b *Backend, tokens []string, hold bool) {
	if b.Provider == nil {
		return
	}
	ct.control(b, providers.ControlRequest{Hold: &hold, Tokens: tokens})
}

// Resume lets every queue start jobs of phases again.
func (ct *control) Resume(phases []string) {
	for _, b := range ct.Queues {
		if b.Provider != nil && b.Starts() {
			ct.control(b, providers.ControlRequest{Resume: phases})
		}
	}
}

// control gives a queue an order. An order that does not arrive is repeated on a timer, with
// the holds of that moment, since a queue that has all its jobs gets no other call. A run that
// ends before leaves it to the next one, which tells every queue its holds.
func (ct *control) control(b *Backend, r providers.ControlRequest) {
	r.Backend, r.Fence, r.Holder = b.Name, ct.Fence, ct.Holder
	var err error
	b.Call(func() {
		ctx, cancel := context.WithTimeout(ct.Ctx, connection.AskTimeout)
		defer cancel()
		err = b.Provider.Control(ctx, r)
	}, func() {
		class := connection.ClassOf(err)
		order, whole := orderOf(r)
		switch {
		case err == nil:
			b.took(order, whole)
		case class == "": // the run is over
		case class == providers.StaleFence:
			ct.Hear(Overtaken{b, err})
		case class != providers.Unreachable:
			b.told = b.told && !whole // it gets the order again before any job
			ct.untaken(b, r, err.Error(), "")
		default:
			b.told = b.told && !whole
			ct.untaken(b, r, strings.TrimSuffix(providers.Reason(err), "."), ". muster tries again")
			hold := 0 // until a queue has it, it is not in force
			if r.Hold != nil && *r.Hold {
				hold = 1
			}
			ct.Keeping += hold
			ct.Later(connection.Backoff(len(b.untaken)), func() {
				ct.Keeping -= hold
				ct.again(b, r)
			})
		}
	})
}

// orderOf names an order, and says whether it is for all jobs of a queue.
func orderOf(r providers.ControlRequest) (order Order, whole bool) {
	whole = r.Hold != nil && len(r.Tokens) == 0
	switch {
	case r.Hold == nil:
		return ResumeOrder, whole
	case *r.Hold:
		return HoldOrder, whole
	case whole:
		return LimitsOrder, whole
	}
	return ReleaseOrder, whole
}

// untaken says that a queue did not take an order, once of a kind until it takes one.
func (ct *control) untaken(b *Backend, r providers.ControlRequest, why, then string) {
	order, whole := orderOf(r)
	if !slices.ContainsFunc(b.untaken, func(u untaken) bool { return u.order == order }) {
		ct.Note(b.Title(), b.Title()+" did not take "+string(order)+": "+why+then, true)
	}
	b.untaken = append(b.untaken, untaken{order, whole, why})
}

// again repeats an order that did not arrive.
func (ct *control) again(b *Backend, r providers.ControlRequest) {
	switch {
	case r.Hold == nil:
		ct.control(b, r)
	case len(r.Tokens) > 0:
		ct.Hear(Untaken{b, r.Tokens, *r.Hold})
	case !b.told:
		ct.Tell(b, b.held)
	}
}

// Keep holds jobs in the queue of a backend, or lets them go, until it has said
// that it does. muster looks up the held ones: a job that started meanwhile
// continues.
func (ct *control) Keep(b *Backend, fs []*Attempt, hold bool) {
	ct.Keeping++
	ct.keep(b, fs, hold, 1)
}

func (ct *control) keep(b *Backend, fs []*Attempt, hold bool, try int) {
	r := providers.ControlRequest{Backend: b.Name, Fence: ct.Fence, Holder: ct.Holder, Hold: &hold, Tokens: tokens(fs)}
	away := b.whyAway()
	var err error
	b.Call(func() {
		if b.Provider == nil {
			err = away
			return
		}
		ctx, cancel := context.WithTimeout(ct.Ctx, connection.AskTimeout)
		defer cancel()
		err = b.Provider.Control(ctx, r)
	}, func() {
		class := connection.ClassOf(err)
		if err != nil && class == providers.Unreachable {
			ct.Unreachable(b, err)
			if hold { // until then jobs may start
				ct.untaken(b, r, strings.TrimSuffix(providers.Reason(err), "."), ". muster tries again")
			}
			ct.Later(connection.Backoff(try), func() { ct.keep(b, fs, hold, try+1) })
			return
		}
		ct.Keeping--
		if err == nil {
			b.took(orderOf(r))
		}
		switch {
		case err == nil && hold:
			ct.lookups.lookFor(b, fs)
		case err == nil:
			ct.Hear(LetGo{fs})
		case class == "": // the run is over
		case class == providers.StaleFence:
			ct.Hear(Overtaken{b, err})
		default:
			ct.Hear(Unheld{b, fs, err.Error()})
		}
	})
}

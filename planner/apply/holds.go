package apply

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// holds keep jobs from starting, here and in their queues: people's holds,
// breakers, limits and full volumes.
type holds struct {
	*jobs
	personHolds
	accounts *accounts
	room     map[*backends.Backend]roomTold
}

// load takes the holds in force from the state.
func (h *holds) load() { h.personHolds = personHoldsOf(h.st) }

// covers reports whether a hold or a breaker keeps a cell from starting. Attempts that the campaign does
// not want have no phase.
func (h *holds) covers(p *phase, cell int32) bool {
	if p == nil {
		return h.All
	}
	return h.Covers(p.Phase, int(cell)) || p.tripped(cell)
}

// controlAll tells every queue which jobs it may start by itself.
func (h *holds) controlAll() {
	h.backends.TellAll(h.All)
	if !h.All && h.Any() {
		h.controlQueued(func(f *attempt) bool { return h.covers(f.p, f.cell) }, true)
	}
}

// controlQueued holds or releases, in their queues, the jobs that match; those of a queue that
// is away may wait in it, too. It reports whether there are any.
func (h *holds) controlQueued(match func(*attempt) bool, hold bool) (some bool) {
	by := map[*backends.Backend][]string{}
	for _, f := range h.attempts {
		if (f.Status == cells.Queued || f.Status == cells.Submitting || f.Status == cells.Waiting || f.Status == cells.Unknown) && f.B.Starts() && match(f) {
			by[f.B] = append(by[f.B], f.Token)
		}
	}
	for b, tokens := range by {
		h.backends.HoldJobs(b, tokens, hold)
	}
	return len(by) > 0
}

// again repeats an order that did not arrive, for those jobs that it is still right for.
func (h *holds) again(n backends.Untaken) {
	of := make(map[string]bool, len(n.Tokens))
	for _, t := range n.Tokens {
		of[t] = true
	}
	if !h.controlQueued(func(f *attempt) bool { return f.B == n.Backend && of[f.Token] && h.mayStart(f) != n.Hold }, n.Hold) {
		n.Backend.Lapse(n.Hold)
	}
}

// moves reports whether an attempt will end by itself. A job in a queue behind a hold or a
// breaker does not, nor one behind other jobs: it moves when they do. The loop asks at every
// turn, for queues of any length: while a job runs that is answer enough, and no attempt is
// asked.
func (h *holds) moves() bool {
	runs := slices.ContainsFunc(h.phases, func(p *phase) bool { return p.Counts[cells.Running]+p.Counts[cells.Verifying] > 0 })
	if runs || !h.stops() {
		for _, f := range h.attempts {
			if !f.Stranded {
				return true
			}
		}
		return false
	}
	for _, f := range h.attempts {
		if !f.Stranded && !h.stuck(f) {
			return true
		}
	}
	return false
}

// stops reports whether anything keeps queued jobs from starting.
func (h *holds) stops() bool {
	return h.Any() || h.accounts.shorted > 0 || slices.ContainsFunc(h.phases, func(p *phase) bool { return len(p.open()) > 0 })
}

// asleep counts the jobs in the queue of a backend that must not start.
func (h *holds) asleep(b *backends.Backend) (n int) {
	if b.Can.FeedSlots == 0 || !h.stops() {
		return 0
	}
	for _, f := range h.attempts {
		if f.B == b && (f.Status == cells.Queued || f.Status == cells.Waiting) && (f.short != "" || h.covers(f.p, f.cell)) {
			n++
		}
	}
	return n
}

// stuck reports whether an attempt is queued and stays so.
func (h *holds) stuck(f *attempt) bool {
	switch {
	case f.Status != cells.Queued && f.Status != cells.Waiting:
		return false
	case f.short != "":
		return true
	case !f.B.Starts():
		return h.accounts.shorted > 0 && f.p != nil && f.p.Waits[f.cell] > 0
	}
	return h.covers(f.p, f.cell) || f.p != nil && f.comesAfter()
}

// comesAfter reports whether an attempt waits for others: its inputs, or its phase's pilots.
func (f *attempt) comesAfter() bool {
	g := &f.p.Gate
	switch {
	case f.p.Waits[f.cell] > 0:
		return true
	case f.smoke:
		return f.p.Smoke != nil && !f.p.Smoke.Parallel && g.Shut() && g.Order[0] < f.cell
	}
	return g.Before(f.cell)
}

// wants reports whether something that may start waits in a queue.
func (h *holds) wants(b *backends.Backend) bool {
	for _, p := range h.phases {
		if p.queues[b.Ord].Len() > 0 && !h.stopped(p) {
			return true
		}
	}
	return false
}

// roomSeen stops launches on a queue while its volume is full, here and in the
// queue itself, and lets them go on when there is room.
func (h *holds) roomSeen(b *backends.Backend, was string) {
	name := providers.At(b.Name, b.Pool)
	_, noted := h.st.Pauses[name] // by an earlier run, too
	switch {
	case b.Full != "" && was == "":
		if !noted {
			h.Emit(state.Paused{Pause: state.Pause{Backend: name, Reason: b.Full, At: h.Clock()}})
		}
		h.tellRoom(b, roomGone, b.Full)
		h.backends.Withdraw(b, b.Title()+" takes no files")
		h.controlQueued(func(f *attempt) bool { return f.B == b }, true)
	case b.Full == "" && noted:
		h.Emit(state.Unpaused{Backend: name, At: h.Clock()})
		h.tellRoom(b, roomBack, "")
		h.controlQueued(func(f *attempt) bool { return f.B == b && h.mayStart(f) }, false)
	}
}

// queueStartsNothing takes a queue's word that nothing starts for want of room. A queue may know
// before the next look at its volume, and of folders that nobody looks at from here.
func (h *holds) queueStartsNothing(b *backends.Backend, o *offer.Observation) {
	switch {
	case h.room[b] != roomUnsaid:
	case o.Cause == offer.NoRoom:
		h.tellRoom(b, roomGone, strings.TrimPrefix(o.Reason, "nothing starts: "))
		b.LookAtOnce()
	case o.Cause == offer.NoSpool:
		h.room[b] = spoolGone
		h.Note(b.Title(), fmt.Sprintf("%s: %s. Jobs there start by themselves when that is corrected", b.Title(), o.Reason), true)
	}
}

// started notes that a queue started a job, for which it must have had room.
func (h *holds) started(b *backends.Backend) {
	if h.room[b] == roomGone && b.Full == "" {
		h.tellRoom(b, roomBack, "")
	}
	delete(h.room, b)
}

// roomTold is the last message to the user about the room of a queue, since a
// job started there.
type roomTold int

const (
	roomUnsaid roomTold = iota
	roomGone
	roomBack
	spoolGone
)

// tellRoom says once that a queue has no room, and once that it has room again.
func (h *holds) tellRoom(b *backends.Backend, now roomTold, why string) {
	if h.room[b] == now {
		return
	}
	h.room[b] = now
	if now == roomGone {
		h.Note(b.Title(), b.Title()+" starts nothing until its workdir takes files, and the others continue: "+why, true)
	} else {
		h.Note(b.Title(), b.Title()+"'s workdir takes files again", false)
	}
}

// releaseForgotten lets go a job that its queue still holds though nothing does
// any more: whoever held it was gone, or out of reach, when the reason ended.
func (h *holds) releaseForgotten(f *attempt, o *offer.Observation) {
	if o.Cause == offer.JobHeld && f.B.Can.HostQueue && f.End == backends.Stays && h.mayStart(f) {
		h.backends.HoldJobs(f.B, []string{f.Token}, false)
	}
}

// mayStart reports whether nothing keeps a queue from starting an attempt.
func (h *holds) mayStart(f *attempt) bool {
	return f.short == "" && h.allow(f)
}

// allow reports whether no hold, full volume or breaker keeps an attempt from
// starting; a limit may.
func (h *holds) allow(f *attempt) bool {
	return f.B.Full == "" && !h.covers(f.p, f.cell)
}

// roomLost looks at a volume at once where a job found it full.
func (f *attempt) roomLost(class string) {
	if failure.AwaitsRoom(class) {
		f.B.LookAtOnce()
	}
}

// stopped reports whether a person has to act before a phase starts anything.
func (h *holds) stopped(p *phase) bool {
	_, stopped := p.Gate.Stopped()
	return p.allTripped() || h.All || h.Phases[p.Name] || stopped
}

package rental

import (
	"context"
	"slices"
	"time"
)

// hearing is how long a machine may take to speak of a job that it has.
const hearing = 2 * time.Minute

// settle waits until the backend has caught up with its machines, for a muster that leaves
// then: each job has the machine that comes for it, what happened on machines is known,
// outputs of jobs that ended are here, and machines whose hold is over were released. It does
// not wait for jobs that run, nor for a machine that is busy, and not where something fails:
// the next muster tries again. In mid-turn nothing is settled, for machines change before
// their jobs do. The lock is held, but for the waits.
func settle(ctx context.Context, b *backend) error {
	b.wake()
	for next := b.begun + 1; b.turned < max(next, b.begun) || b.demand().unsettled(); {
		if b.turned >= next && b.demand().rests() {
			b.wake()
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// rests reports whether the next turn records that a machine became idle, or releases one whose
// hold is over. The lock is held.
func (b demand) rests() bool {
	return b.trouble == "" && slices.ContainsFunc(b.rentals, func(r Rental) bool {
		x := b.boxes[r.Token]
		return b.workless(r) && (x.idle.IsZero() || b.expired(r))
	})
}

// unsettled reports whether a job is about to get a machine, or to be handed to its
// machine, or may have ended there, or whether a machine is about to rest. The lock is held.
func (b demand) unsettled() bool {
	if b.rests() {
		return true
	}
	busy := b.busy()
	for _, j := range b.jobs.sorted() {
		if j.ended() {
			continue
		}
		r := b.rental(j.Box)
		switch x := b.boxes[j.Box]; {
		case j.Box == "":
			if !b.held && !j.Held && b.machineFor(j, busy) {
				return true
			}
		case x == nil:
			if r != nil && b.comes(*r) {
				return true
			}
		case !x.mute && !j.current && (j.heard || !j.Handed || b.now().Sub(x.met) < hearing):
			return true
		}
	}
	return false
}

// machineFor reports whether a waiting job is about to get a machine.
func (b demand) machineFor(j *job, busy map[string]int) bool {
	for _, r := range b.rentals {
		if poolOf(r.Want) != j.Spec.Pool {
			continue
		}
		if x := b.boxes[r.Token]; x != nil && !x.mute && x.takes(j, busy[r.Token]) || b.comes(r) {
			return true
		}
	}
	return false
}

// comes reports whether a machine will run jobs soon, as far as is known.
func (b demand) comes(r Rental) bool {
	if b.trouble != "" {
		return false
	}
	switch r.Step {
	case Planned, Asked, Boots, Checking:
		return !r.Unwanted
	case Preempted:
		return r.Starts && !b.late(r)
	}
	return false
}

// busy counts the GPUs that jobs have, by machine.
func (b demand) busy() map[string]int {
	busy := map[string]int{}
	for _, j := range b.jobs.sorted() {
		if !j.ended() && b.boxes[j.Box] != nil {
			busy[j.Box] += max(1, j.Spec.Shape.GPUs)
		}
	}
	return busy
}

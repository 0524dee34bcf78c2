package rental

import (
	"context"
	"time"
)

// hearing is how long a machine may take to speak of a job that it has.
const hearing = 2 * time.Minute

// settle waits until the backend has caught up with its machines, for a muster that leaves
// then: each job has the machine that comes for it, what happened on machines is known,
// and outputs of jobs that ended are here. It does not wait for jobs that run, nor for a
// machine that is busy, and not where something fails: the next muster tries again. The
// lock is held, but for the waits.
func settle(ctx context.Context, b *backend) error {
	b.wake()
	for next := b.begun + 1; b.turned < next || b.demand().unsettled(); {
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

// unsettled reports whether a job is about to get a machine, or to be handed to its
// machine, or may have ended there. The lock is held.
func (b demand) unsettled() bool {
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

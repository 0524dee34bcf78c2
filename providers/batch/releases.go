package batch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// releases release jobs that muster submitted held, that the scheduler holds
// because it could not launch them, or that wait for room on a volume. A server
// that crashes forgets its last changes, seconds old: a released job is held
// again. To tell this from another's hold, jobs that muster submits held have a
// label, which muster removes after the release: a released job with the label is
// muster's to release again, any other held job is not.
type releases struct {
	campaign     string // its name, for labels
	jobs         *jobs
	holds        *holds
	queue        *queue
	dependencies *dependencies
	retries      *retries
	withdrawals  *withdrawals
}

// releaseAll releases jobs held until all is submitted, after the dependencies are complete.
func (rs *releases) releaseAll(ctx context.Context) error {
	if err := rs.dependencies.redirect(ctx); err != nil {
		return err
	}
	for _, k := range rs.jobs.batches {
		if err := rs.dependencies.tellEach(ctx, k); err != nil {
			return err
		}
	}
	return rs.release(ctx)
}

// release releases the held batches, removes their label, and checks that the
// scheduler has done so.
func (rs *releases) release(ctx context.Context) error {
	if rs.holds.all {
		return nil
	}
	var list []*batch
	for _, k := range rs.jobs.batches {
		if k.held != "" && !k.wide && k.id != "" {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil
	}
	for range releaseTries {
		// Only an administrator can release an administrator's hold; see holder.
		if free := rs.unheld(list); len(free) > 0 {
			if err := rs.queue.Release(ctx, free); err != nil && !scheduler.Gone(err) && !scheduler.Unchangeable(err) {
				return err
			}
		}
		if err := rs.unmark(ctx, list); err != nil {
			return err
		}
		rs.queue.changed()
		rows, err := rs.queue.recent(ctx)
		if err != nil {
			return err
		}
		if !rs.stillHeld(rows, list) {
			return noneHeld(list)
		}
	}
	return providers.Errorf(providers.Unreachable, "%s still holds jobs that it was told to release", rs.queue.Words().Name)
}

// releaseTries is how often a release is repeated: the server may crash right
// after it, and restart without it.
const releaseTries = 3

// unheld are the jobs of batches that are not held by token.
func (rs *releases) unheld(list []*batch) []scheduler.Jobs {
	var free []*job
	for _, k := range list {
		for _, j := range k.jobs {
			if !rs.holds.has(j) {
				free = append(free, j)
			}
		}
	}
	return waitingOf(free, rs.queue.Elements())
}

// stillHeld reports whether jobs of batches are held that are not held by token.
func (rs *releases) stillHeld(rows []scheduler.Entry, list []*batch) bool {
	return slices.ContainsFunc(rows, func(r scheduler.Entry) bool {
		return r.State == scheduler.Waiting && (r.HeldBy == offer.HeldByUser || r.Label == scheduler.Held && r.HeldBy != offer.HeldByAdmin) &&
			slices.ContainsFunc(list, func(k *batch) bool {
				return k.id == r.Array && k.Name == r.Name && k.dir.Noted("marked") == "" && !rs.holds.at(k, r.Index)
			})
	})
}

// noneHeld records that batches are released.
func noneHeld(list []*batch) error {
	for _, k := range list {
		if err := k.hold(""); err != nil {
			return err
		}
	}
	return nil
}

// unmark replaces the label Held by that of the phase. Where the site does not let
// users change it, the label means nothing from then on.
func (rs *releases) unmark(ctx context.Context, list []*batch) error {
	by := map[string][]*batch{}
	for _, k := range list {
		by[k.Phase] = append(by[k.Phase], k)
	}
	for _, phase := range slices.Sorted(maps.Keys(by)) {
		err := rs.queue.Change(ctx, whole(by[phase]), scheduler.LabelOf(rs.campaign, phase))
		switch {
		case err == nil, scheduler.Gone(err):
			continue
		case !scheduler.Heard(err):
			return err
		}
		for _, k := range by[phase] {
			if err := k.dir.Note("marked", "for good: "+err.Error()); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole names batches to the scheduler.
func whole(list []*batch) (out []scheduler.Jobs) {
	for _, k := range list {
		out = append(out, scheduler.Jobs{ID: k.id})
	}
	return out
}

// recall counts released batches that have the label Held again as held. With the
// release the server may have forgotten changed dependencies, too, so that they
// are repeated.
func (rs *releases) recall(rows []scheduler.Entry) error {
	by := map[string]*batch{}
	for _, k := range rs.jobs.batches {
		if k.id != "" && k.held == "" && !k.over() {
			by[k.id] = k
		}
	}
	for _, r := range rows {
		k := by[r.Array]
		if k == nil || r.Label != scheduler.Held || r.State != scheduler.Waiting || r.Name != k.Name {
			continue
		}
		delete(by, r.Array)
		if k.dir.Noted("marked") != "" {
			continue
		}
		if k.dir.Noted("narrowed") != "" {
			k.wide = true
			if err := k.dir.Note("wide", "it is told its own again"); err != nil {
				return err
			}
		}
		if err := k.hold(fmt.Sprintf(asForgotten, rs.queue.Words().Server)); err != nil {
			return err
		}
		rs.dependencies.repeat()
	}
	return nil
}

// holdByToken holds jobs that were held by token while it was unknown whether the
// scheduler has them.
func (rs *releases) holdByToken(ctx context.Context, batches []*batch) error {
	var list []*job
	for _, k := range batches {
		for _, j := range k.jobs {
			if k.id != "" && rs.holds.has(j) && !j.ended && j.last.Status != offer.Running {
				list = append(list, j)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	list, err := rs.withdrawals.withdraw(ctx, list)
	if err != nil || len(list) == 0 {
		return err
	}
	err = rs.queue.Hold(ctx, jobsOf(list))
	if scheduler.Gone(err) || scheduler.Unchangeable(err) {
		return nil
	}
	return err
}

// retry releases jobs that the scheduler holds because it could not launch them,
// unless somebody else holds them.
func (rs *releases) retry(ctx context.Context) error {
	if rs.holds.all {
		return nil
	}
	var list []*job
	for _, r := range rs.queue.rows {
		if r.State != scheduler.Waiting || !r.Unlaunched {
			continue
		}
		for _, k := range rs.jobs.batches {
			if k.id != r.Array || k.Name != r.Name {
				continue
			}
			if j := k.at(r.Index); j != nil && !j.ended && rs.jobs.spool().Stopped(j.of) == "" && !rs.jobs.unwanted(j) && rs.retries.allow(j) {
				list = append(list, j)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := rs.queue.Release(ctx, waitingOf(list, rs.queue.Elements())); err != nil && !scheduler.Gone(err) {
		return err
	}
	rs.queue.changed()
	return nil
}

// startNow starts jobs that wrappers delayed because their volume was full:
// whoever resumes jobs has seen room there, and without room they are delayed
// again. The delay of a retry stays, and so does a later start, which a user has
// set. If the scheduler does not answer or refuses, they start at their time.
func (rs *releases) startNow(ctx context.Context, list []*job) {
	list = slices.DeleteFunc(slices.Clone(list), func(j *job) bool {
		return j.last.Status == offer.Waiting && !failure.AwaitsRoom(j.last.Class)
	})
	if len(list) == 0 {
		return
	}
	rows, err := rs.queue.recent(ctx)
	if err != nil {
		return
	}
	by, now := byPlace(rows), time.Now()
	list = slices.DeleteFunc(list, func(j *job) bool {
		r := j.row(by)
		return r == nil || r.State != scheduler.Waiting || !r.Start.After(now) || r.Start.After(now.Add(node.RoomWait))
	})
	if len(list) > 0 {
		_ = rs.queue.Change(ctx, waitingOf(list, rs.queue.Elements()), scheduler.StartIn(0))
	}
}

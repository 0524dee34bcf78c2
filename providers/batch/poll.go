package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

const (
	// recordLag is how long after a job has ended its own record is waited
	// for: filesystems show what another machine wrote after a while.
	recordLag = 5 * time.Second
	// lostAfter is how long, and lostCycles for how many looks, neither queue nor
	// accounting has a job that counts as lost.
	lostAfter  = time.Minute
	lostCycles = 2
	// unbegun is how long past its walltime the queue may show a job as running whose script has
	// not begun. Its node has lost it: one of PBS whose daemon is killed while it gets a job may
	// leave it so for ever. Seen on OpenPBS 23.06.
	unbegun = 5 * time.Minute
)

// A poll compares jobs with the queue: it reports those that are listed, and finds
// out how the others ended.
type poll struct {
	jobs         *jobs
	queue        *queue
	accounting   *accounting
	reports      *reports
	launches     *launches
	endings      *endings
	holds        *holds
	retries      *retries
	dependencies *dependencies
}

// compare reports the queue's rows of open jobs, and asks accounting about
// those that have left it without a record.
func (po *poll) compare(ctx context.Context, open []*job, rows []scheduler.Entry) error {
	by := byPlace(rows)
	var list []offer.Observation
	var gone, lost []*job
	for _, j := range open {
		row := j.row(by)
		if row == nil || row.State == scheduler.Ended {
			j.other = po.jobs.claimant(j)
			row = j.row(by)
		}
		switch {
		case row == nil, row.State == scheduler.Ended:
			if j.absentSince.IsZero() {
				j.absentSince = po.missingSince(j)
			}
			j.absentLooks++
			gone = append(gone, j)
		case po.lostOnNode(j, row):
			lost = append(lost, j)
		default:
			po.found(j)
			if o, news := po.inQueue(j, row); news {
				if o.Attempt > j.last.Attempt {
					po.launches.awaitEnds(j, o.Attempt-j.base, row.Submit, row.Before)
				}
				list = append(list, o)
			}
		}
	}
	more, err := po.leftQueue(ctx, gone, by)
	if err != nil {
		return err
	}
	back, err := po.takeBack(ctx, lost)
	if err != nil {
		return err
	}
	return po.reports.tell(slices.Concat(list, more, back)...)
}

// lostOnNode reports whether the queue shows a job as running, long past its walltime, whose
// script has not begun. Where the spool cannot be read, nobody knows that.
func (po *poll) lostOnNode(j *job, r *scheduler.Entry) bool {
	if r.State != scheduler.Running || j.batch.Packed || j.walltime <= 0 || r.Start.IsZero() || time.Since(r.Start) <= j.walltime+unbegun {
		return false
	}
	if _, err := os.Stat(po.jobs.path("claims", j.token)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, err := j.batch.dir.Job(j.index)
	return err == nil
}

// takeBack cancels jobs that their nodes have lost, and submits them again, a few times at most.
// Should one begin after all, only one launch gets the claim.
func (po *poll) takeBack(ctx context.Context, lost []*job) (list []offer.Observation, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	places := make([]scheduler.Entry, len(lost))
	for i, j := range lost {
		places[i].ElementID = j.place()
	}
	if err := po.queue.Cancel(ctx, scheduler.Of(places)); err != nil {
		return nil, err
	}
	po.queue.changed()
	var again []*job
	for _, j := range lost {
		o := j.last
		o.Ended, o.Expected = time.Now(), time.Time{}
		switch {
		case po.jobs.unwanted(j):
			list = append(list, po.endings.classify(j, o, scheduler.End{Outcome: scheduler.Cancelled}))
		case po.retries.allow(j):
			again = append(again, j)
		default:
			o.Status, o.Class = offer.Failed, failure.NodeFailure
			o.Reason = po.queue.Words().Name + " shows it as running, long past its walltime, but its script did not begin on node " + o.Node
			po.endings.countFailure(j, o)
			list = append(list, o)
		}
	}
	back, err := po.returnToSpool(again)
	return append(list, back...), err
}

// row is a job's in the queue, nil if it has none.
func (j *job) row(by map[scheduler.ElementID]*scheduler.Entry) *scheduler.Entry {
	r := by[j.place()]
	if r == nil || r.Name != j.batch.Name {
		return nil // the id was given out again
	}
	return r
}

func (j *job) place() scheduler.ElementID {
	if j.other != nil {
		return *j.other
	}
	if j.batch.Array {
		return scheduler.ElementID{Array: j.batch.id, Index: j.index}
	}
	return scheduler.ElementID{Array: j.batch.id, Index: -1}
}

// inQueue is a row's observation of a job that has not ended, and whether that is
// new.
func (po *poll) inQueue(j *job, r *scheduler.Entry) (offer.Observation, bool) {
	o := offer.Observation{Token: j.token, Handle: po.jobs.handle(j), Attempt: j.last.Attempt, Pool: r.Pool}
	switch r.State {
	case scheduler.Waiting, scheduler.Returning:
		o.Status, o.Reason, o.Expected = offer.Queued, r.Reason, r.Start
		o.Stage, o.HeldBy = j.batch.stage(), po.holder(j, r)
		if r.State == scheduler.Waiting && (r.Label == scheduler.Held || r.HeldBy == offer.HeldByUser) && j.batch.held != "" {
			o.Reason = "held by muster " + j.batch.held + "; the next `muster apply` releases it"
		}
		switch {
		case r.HeldBy != "" && o.HeldBy == "" && po.holds.has(j):
			o.Reason, o.Cause = "held", offer.JobHeld
		case r.HeldBy == offer.HeldByUser:
			o.Cause = offer.JobHeld
		}
		if j.last.Status == offer.Running || j.last.Status == offer.Verifying {
			o.Attempt++ // it was put back
			return o, true
		}
		if j.last.Status == offer.Waiting {
			return o, false
		}
		return o, o.Reason != j.last.Reason || o.Cause != j.last.Cause || o.Stage != j.last.Stage || o.HeldBy != j.last.HeldBy || moved(j.last.Expected, o.Expected)
	case scheduler.Running, scheduler.Stopped:
		if j.batch.turns() && j.last.Status == offer.Queued { // its own record says when it begins
			o = j.waitsForTurn(o.Handle)
			if po.holds.has(j) {
				o.Reason, o.Cause = "held", offer.JobHeld
			}
			return o, o.Reason != j.last.Reason || o.Cause != j.last.Cause || o.Stage != j.last.Stage
		}
		o.Status, o.Started, o.Node = offer.Running, r.Start, r.Nodes
		return o, j.last.Status == offer.Queued && r.State == scheduler.Running
	}
	return o, false
}

// startMoved is the least change of an expected start that is reported, as the
// scheduler estimates it all the time.
const startMoved = 15 * time.Minute

func moved(was, now time.Time) bool {
	return was.IsZero() != now.IsZero() || was.Sub(now).Abs() > startMoved
}

// missingSince is when a job left the queue without a record. It is kept on the
// spool, so that short looks of several musters add up.
func (po *poll) missingSince(j *job) time.Time {
	if fi, err := os.Stat(po.jobs.path("missing", j.token)); err == nil {
		j.absenceNoted, j.absentLooks = true, j.absentLooks+1
		return fi.ModTime()
	}
	return time.Now()
}

// noteMissing records that neither the queue nor accounting has a job.
func (po *poll) noteMissing(j *job) error {
	if j.absenceNoted {
		return nil
	}
	j.absenceNoted = true
	if err := os.MkdirAll(po.jobs.path("missing"), 0o700); err != nil {
		return fmt.Errorf("note that %s is not to be found: %w", j.address, err)
	}
	if err := os.WriteFile(po.jobs.path("missing", j.token), nil, 0o600); err != nil {
		return fmt.Errorf("note that %s is not to be found: %w", j.address, err)
	}
	return nil
}

// found forgets the absence of a job that the queue lists.
func (po *poll) found(j *job) {
	if j.absenceNoted {
		os.Remove(po.jobs.path("missing", j.token))
	}
	j.absentSince, j.absentLooks, j.absenceNoted = time.Time{}, 0, false
}

// histories asks accounting for jobs, and for what else their ends depend on.
func (po *poll) histories(ctx context.Context, gone []*job, ids []string) (map[scheduler.ElementID]scheduler.History, error) {
	acct, err := po.accounting.histories(ctx, ids)
	if err == nil && slices.ContainsFunc(gone, func(j *job) bool { return mayBeForgotten(acct[j.place()].Last(j.batch.Name, j.batch.tried)) }) {
		po.endings.booted, err = po.queue.Booted(ctx)
	}
	return acct, err
}

// leftQueue finds out how jobs ended that left the queue. A watch gives them time
// to record it themselves; a single look does not.
func (po *poll) leftQueue(ctx context.Context, gone []*job, by map[scheduler.ElementID]*scheduler.Entry) (list []offer.Observation, err error) {
	recordLag := recordLag
	if !po.accounting.watched {
		recordLag = 0
	}
	ids := goneFor(gone, recordLag)
	if len(ids) == 0 || !po.accounting.mayAsk() {
		return nil, nil
	}
	if err := po.launches.scan(); err != nil { // their own records come first
		return nil, err
	}
	gone = slices.DeleteFunc(gone, func(j *job) bool { return j.ended || j.absentSince.IsZero() || time.Since(j.absentSince) < recordLag })
	if len(gone) == 0 {
		return nil, nil
	}
	acct, err := po.histories(ctx, gone, ids)
	if err != nil {
		return nil, err
	}
	traces := map[*batch]scheduler.Trace{}
	var vanished []*job
	over := map[*job]bool{} // that did not end well, as was found just now
	for _, j := range gone {
		t, traced := traces[j.batch]
		if !traced {
			t = scheduler.TraceOf(j.batch.id, j.batch.Name, j.batch.tried, by, acct)
			traces[j.batch] = t
		}
		o, ok := po.endings.of(j, acct[j.place()], j.row(by), t)
		if ok && (o.Status == offer.Lost || o.GivenUp() && po.lostBefore(j, vanished) || j.batch.Packed && o.Status == offer.Failed) && po.mayReturnToSpool(j) {
			vanished = append(vanished, j)
			continue
		}
		if !ok && po.endings.takenAway(j, over) {
			o, ok = po.endings.classify(j, o, dropped), true
		}
		if ok {
			over[j] = o.Status != offer.Completed
			po.endings.countFailure(j, o)
			list = append(list, o)
			continue
		}
		if err := po.noteMissing(j); err != nil {
			return nil, err
		}
		why := "neither " + po.queue.Words().Name + "'s queue nor its accounting has it; it is looked for again in a minute"
		if po.endings.comesAfterGone(j, gone) {
			why = po.queue.Words().Name + " has taken it from its queue, with the job before it, and its accounting has yet to say how that one ended"
		}
		if o := j.last; o.Status == offer.Queued && o.Reason != why {
			o.Reason, o.Expected = why, time.Time{}
			list = append(list, o)
		}
	}
	back, err := po.returnToSpool(vanished)
	return append(list, back...), err
}

// goneFor lists the arrays of jobs that have been absent for a time.
func goneFor(gone []*job, lag time.Duration) (ids []string) {
	for _, j := range gone {
		if id := j.place().Array; time.Since(j.absentSince) >= lag && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// holder is who holds the job of a row, other than muster. A job that could not be
// launched counts as held only when muster has stopped retrying it.
func (po *poll) holder(j *job, r *scheduler.Entry) offer.Holder {
	switch {
	case po.holds.has(j) && (r.HeldBy == offer.HeldByUser || r.HeldBy == offer.HeldByAdmin): // muster's own hold, which root's is, too
		return ""
	case r.HeldBy == offer.HeldByUser && (po.holds.all || j.batch.held != ""):
		return "" // it is muster
	case r.HeldBy == offer.HeldByScheduler && r.Unlaunched && po.retries.count(j) < launchTries:
		return ""
	}
	return r.HeldBy
}

// seeHolds looks once who holds submitted jobs, for a caller that does not watch:
// a site or an administrator may hold new jobs. If the queue does not answer, the
// next look reports it.
func (po *poll) seeHolds(ctx context.Context) error {
	if po.accounting.watched || len(po.jobs.unfinished()) == 0 {
		return nil
	}
	rows := po.queue.rows
	if !po.queue.fresh() { // else it was asked when jobs were released
		var err error
		if rows, err = po.queue.Queue(ctx); err != nil {
			return nil
		}
	}
	by := byPlace(rows)
	var list []offer.Observation
	for _, j := range po.jobs.unfinished() {
		if r := j.row(by); r != nil && po.holder(j, r) != j.last.HeldBy {
			if o, news := po.inQueue(j, r); news && o.Status == offer.Queued {
				list = append(list, o)
			}
		}
	}
	return po.reports.tell(list...)
}

// mayReturnToSpool reports whether a lost job never began and may be submitted
// again, and counts the retry. A server that crashes forgets the last submissions,
// and accounting may not have them: such a job has run nothing. Should the server
// remember it, one of the two gets the claim. A job whose turn did not come in a pack
// that ran others was not retried.
func (po *poll) mayReturnToSpool(j *job) bool {
	return !po.jobs.claimed(j) && !po.jobs.unwanted(j) && (po.turnsTaken(j.batch) || po.retries.allow(j))
}

// turnsTaken reports whether jobs of a batch ran in turns.
func (po *poll) turnsTaken(k *batch) bool {
	if !k.turns() {
		return false
	}
	for _, j := range k.jobs {
		if po.jobs.claimed(j) {
			return true
		}
	}
	return false
}

// lostBefore reports whether a dependency of a job is submitted again, or will be:
// the job was not cancelled for a failure.
func (po *poll) lostBefore(j *job, lost []*job) bool {
	return slices.ContainsFunc(j.after, func(t string) bool {
		p := po.jobs.current(t)
		return p != nil && !p.ended && (p.batch.id == "" || slices.Contains(lost, p))
	})
}

// returnToSpool moves lost jobs from their batches to unsubmitted parts. Jobs that
// wait for them are redirected to their new ids.
func (po *poll) returnToSpool(lost []*job) (list []offer.Observation, err error) {
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range lost {
		if by[j.batch] == nil {
			order = append(order, j.batch)
		}
		by[j.batch] = append(by[j.batch], j.index)
	}
	for _, k := range order {
		slices.Sort(by[k])
		why := po.queue.Words().Name + " has lost it before it began; it is submitted again"
		if k.Packed {
			why = "the pack that it was in ended before it began; it is submitted again"
			if po.turnsTaken(k) {
				why = "its turn did not come in " + k.id + "; it is submitted again"
			}
		}
		part, err := po.jobs.split(k, by[k])
		if err != nil {
			return list, err
		}
		list = append(list, po.onSpool(part, why)...)
	}
	return list, nil
}

// onSpool reports that the jobs of a part are no longer with the scheduler, and why.
func (po *poll) onSpool(part *batch, why string) (list []offer.Observation) {
	for _, i := range part.Indexes {
		j := part.jobs[i]
		po.found(j)
		po.dependencies.untold[j.token] = true
		o := j.last
		o.Status, o.Handle, o.Stage, o.Expected, o.Reason = offer.Queued, "", offer.Accepted, time.Time{}, why
		o.Started, o.Node = time.Time{}, "" // the queue may have shown it as running
		list = append(list, o)
	}
	return list
}

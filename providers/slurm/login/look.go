package login

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

const (
	// recordLag is how long after a job has ended its own record is waited
	// for: filesystems show what another machine wrote after a while.
	recordLag = 5 * time.Second
	// lostAfter is how long a job must be in neither squeue nor sacct, and
	// lostCycles how often, before it counts as lost.
	lostAfter  = time.Minute
	lostCycles = 2
)

// look asks the queue once about everything, and accounting about what has
// left it without a word.
func (c *campaign) look(ctx context.Context) error {
	open := c.unfinished()
	if len(open) == 0 {
		_, err := c.tidy(ctx, false)
		return err
	}
	rows, err := c.cluster.Queue(ctx)
	if err != nil {
		return err
	}
	c.looked = time.Now()
	c.rows, c.rowsAt = rows, c.looked
	if err := c.recall(rows); err != nil {
		return err
	}
	by := byPlace(rows)
	if _, err := c.sweep(ctx, c.past(false), rows); err != nil {
		return err
	}
	var list []offer.Observation
	var gone []*job
	for _, j := range open {
		row := j.row(by)
		if row == nil || cluster.Ended(row.State) {
			j.other = c.claimant(j)
			row = j.row(by)
		}
		switch {
		case row == nil, cluster.Ended(row.State):
			if j.asked.IsZero() {
				j.asked = c.missingSince(j)
			}
			j.cycles++
			gone = append(gone, j)
		default:
			c.back(j)
			if o, news := c.inQueue(j, row); news {
				if o.Attempt > j.last.Attempt {
					c.owe(j, o.Attempt-j.base, row.Submit)
				}
				list = append(list, o)
			}
		}
	}
	more, err := c.leftQueue(ctx, gone, by)
	if err != nil {
		return err
	}
	if err := c.tell(append(list, more...)...); err != nil {
		return err
	}
	return c.settle(ctx)
}

func byPlace(rows []cluster.QueueRow) map[cluster.Place]*cluster.QueueRow {
	by := make(map[cluster.Place]*cluster.QueueRow, len(rows))
	for i := range rows {
		by[cluster.Place{Array: rows[i].Array, Index: rows[i].Index}] = &rows[i]
	}
	return by
}

// unfinished are the jobs that Slurm has and that have not ended.
func (c *campaign) unfinished() (open []*job) {
	for _, b := range c.batches {
		if b.id == "" {
			continue
		}
		for _, i := range b.Indexes {
			if j := b.jobs[i]; j != nil && !j.ended {
				open = append(open, j)
			}
		}
	}
	return open
}

// row is a job's in the queue, nil if it has none.
func (j *job) row(by map[cluster.Place]*cluster.QueueRow) *cluster.QueueRow {
	r := by[j.place()]
	if r == nil || r.Name != j.batch.Name {
		return nil // the id was given out again
	}
	return r
}

// claimant is where the start of a job is that claimed its token, if that is
// not the one that muster knows of: an sbatch that was lost and sent again may
// have submitted twice. What the other one ended with says nothing of the job.
func (c *campaign) claimant(j *job) *cluster.Place {
	id := node.Spool(c.spool).Claimed(j.token)
	array, index, element := strings.Cut(id, "_")
	if id == "" || array == j.batch.id {
		return nil
	}
	at := &cluster.Place{Array: array, Index: -1}
	if element {
		n, err := strconv.Atoi(index)
		if err != nil {
			return nil
		}
		at.Index = n
	}
	return at
}

func (j *job) place() cluster.Place {
	if j.other != nil {
		return *j.other
	}
	if j.batch.Array {
		return cluster.Place{Array: j.batch.id, Index: j.index}
	}
	return cluster.Place{Array: j.batch.id, Index: -1}
}

// inQueue is what a row says of a job that has not ended, if it is news.
func (c *campaign) inQueue(j *job, r *cluster.QueueRow) (offer.Observation, bool) {
	o := offer.Observation{Token: j.token, Handle: j.elementID(), Attempt: j.last.Attempt, Pool: r.Partition}
	switch r.State {
	case "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING", "POWER_UP_NODE":
		o.Status, o.Reason, o.Expected = offer.Queued, cluster.Reason(r.Reason), r.Start
		o.Stage, o.HeldBy = j.batch.stage(), c.holder(j, r)
		switch r.State {
		case "SPECIAL_EXIT", "REQUEUE_HOLD":
			o.Reason = "held by Slurm after its last start; `scontrol release` lets it go"
		case "CONFIGURING", "POWER_UP_NODE":
			o.Reason = "its nodes are being started"
		case "PENDING":
			if r.Comment == mark && j.batch.held != "" {
				o.Reason = offer.Held + offer.ByMuster + j.batch.held + "; the next `muster apply` lets it go"
			}
		}
		if j.last.Status == offer.Running || j.last.Status == offer.Verifying {
			o.Attempt++ // it was put back
			return o, true
		}
		if j.last.Status == offer.Waiting {
			return o, false
		}
		return o, o.Reason != j.last.Reason || o.Stage != j.last.Stage || o.HeldBy != j.last.HeldBy || moved(j.last.Expected, o.Expected)
	case "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING":
		o.Status, o.Started, o.Node = offer.Running, r.Start, r.Nodes
		return o, j.last.Status == offer.Queued && r.State == "RUNNING"
	}
	return o, false
}

// startMoved is by how much an expected start must move to be news: the
// scheduler reckons it anew all the time.
const startMoved = 15 * time.Minute

func moved(was, now time.Time) bool {
	return was.IsZero() != now.IsZero() || was.Sub(now).Abs() > startMoved
}

// missingSince is since when a job is gone from the queue without a word, as
// any muster has seen it: one that only looks in now and then concludes, too.
func (c *campaign) missingSince(j *job) time.Time {
	if fi, err := os.Stat(c.path("missing", j.token)); err == nil {
		j.missing, j.cycles = true, j.cycles+1
		return fi.ModTime()
	}
	return time.Now()
}

// missed notes that neither the queue nor accounting knows of a job.
func (c *campaign) missed(j *job) error {
	if j.missing {
		return nil
	}
	j.missing = true
	if err := os.MkdirAll(c.path("missing"), 0o700); err != nil {
		return fmt.Errorf("note that %s is not to be found: %w", j.address, err)
	}
	if err := os.WriteFile(c.path("missing", j.token), nil, 0o600); err != nil {
		return fmt.Errorf("note that %s is not to be found: %w", j.address, err)
	}
	return nil
}

// back is for a job that the queue has.
func (c *campaign) back(j *job) {
	if j.missing {
		os.Remove(c.path("missing", j.token))
	}
	j.asked, j.cycles, j.missing = time.Time{}, 0, false
}

// leftQueue finds out what became of jobs that are no more in the queue. A
// watch gives them time to write it down themselves; who asks once does not.
func (c *campaign) leftQueue(ctx context.Context, gone []*job, by map[cluster.Place]*cluster.QueueRow) (list []offer.Observation, err error) {
	recordLag := recordLag
	if !c.watched {
		recordLag = 0
	}
	var ids []string
	for _, j := range gone {
		if id := j.place().Array; time.Since(j.asked) >= recordLag && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || !c.mayAccount() {
		return nil, nil
	}
	if err := c.scan(); err != nil { // what they wrote themselves comes first
		return nil, err
	}
	gone = slices.DeleteFunc(gone, func(j *job) bool { return j.ended || j.asked.IsZero() || time.Since(j.asked) < recordLag })
	if len(gone) == 0 {
		return nil, nil
	}
	rows, err := c.cluster.Account(ctx, ids)
	if err != nil {
		return nil, err
	}
	acct := cluster.Histories(rows)
	traces := map[*batch]cluster.Trace{}
	var vanished []*job
	over := map[*job]bool{} // that did not end well, as was found just now
	for _, j := range gone {
		t, traced := traces[j.batch]
		if !traced {
			t = cluster.TraceOf(j.batch.id, j.batch.Name, j.batch.tried, by, acct)
			traces[j.batch] = t
		}
		o, ok := c.ending(j, acct[j.place()], j.row(by), t)
		if ok && (o.Status == offer.Lost || o.Reason == offer.Blocked && c.lostBefore(j, vanished)) && c.mayReturnToSpool(j) {
			vanished = append(vanished, j)
			continue
		}
		if !ok && c.takenAway(j, over) {
			o, ok = c.judge(j, o, "CANCELLED", 0, 0), true
		}
		if ok {
			over[j] = o.Status != offer.Completed
			c.count(j, o)
			list = append(list, o)
			continue
		}
		if err := c.missed(j); err != nil {
			return nil, err
		}
		why := astray
		if c.comesAfterGone(j, gone) {
			why = awaited
		}
		if o := j.last; o.Status == offer.Queued && o.Reason != why {
			o.Reason, o.Expected = why, time.Time{}
			list = append(list, o)
		}
	}
	back, err := c.returnToSpool(vanished)
	return append(list, back...), err
}

// astray is told of a job that was never seen to start and that Slurm has lost,
// awaited of one that Slurm may have taken away for what it comes after.
const (
	astray  = "neither Slurm's queue nor its accounting has it; it is looked for again in a minute"
	awaited = "Slurm has taken it from its queue, with what it comes after, and its accounting has yet to say how that ended"
)

// takenAway reports whether Slurm has ended a job that is gone from its queue for
// what it comes after, which did not end well: it could not have run, whenever
// accounting comes to say so. over are ends that are not told yet.
func (c *campaign) takenAway(j *job, over map[*job]bool) bool {
	return j.last.Status == offer.Queued && !c.claimed(j) && slices.ContainsFunc(j.after, func(t string) bool {
		p := c.jobs[c.heir(t)]
		if p == nil {
			return node.Spool(c.spool).Unmet(t)
		}
		return over[p] || p.ended && p.last.Status != offer.Completed
	}) && c.hasFailedBefore(j)
}

// comesAfterGone reports whether something a job comes after is gone from the
// queue, too, or had another element of its array that did not end well, for
// which Slurm may take this one away; see dropped.
func (c *campaign) comesAfterGone(j *job, gone []*job) bool {
	return slices.ContainsFunc(j.after, func(t string) bool {
		p := c.jobs[c.heir(t)]
		if p == nil || slices.Contains(gone, p) {
			return p != nil
		}
		for _, like := range p.batch.jobs {
			if like.ended && like.last.Status != offer.Completed {
				return true
			}
		}
		return false
	})
}

// accountRest is how long accounting is left alone in a watch that has asked
// it accountFree times. sacct costs the database more than squeue costs
// slurmctld, and what is late by a minute is not lost.
const (
	accountRest = time.Minute
	accountFree = 10
)

// mayAccount reports whether accounting may be asked now, and counts it.
func (c *campaign) mayAccount() bool {
	if c.watched && c.accounted.n >= accountFree && time.Since(c.accounted.at) < c.rest {
		return false
	}
	c.accounted.n, c.accounted.at = c.accounted.n+1, time.Now()
	return true
}

// claimed reports whether a start of a job ever came to run its command.
func (c *campaign) claimed(j *job) bool { return exists(c.path("claims", j.token)) }

// ending is how a job ended that is gone from the queue, if that is certain.
// t is what is left of its array.
func (c *campaign) ending(j *job, h *cluster.History, row *cluster.QueueRow, t cluster.Trace) (offer.Observation, bool) {
	o := j.last
	o.Handle, o.Ended, o.Reason, o.Expected = j.elementID(), time.Now(), "", time.Time{}
	r := h.Last(j.batch.Name, j.batch.tried)
	state, exit, sig := "", 0, 0
	switch {
	case r != nil && r.Final() && time.Since(r.End) < recordLag && time.Since(j.asked) < recordLag:
		return o, false // its own record may be on its way
	case r != nil && r.Final() && c.forgotten(j, r):
		if c.mayGoOn(j) {
			return o, false
		}
		o.Usage = h.Usage(r)
	case r != nil && r.Final():
		state, exit, sig = r.State, r.Exit, r.Signal
		o.Usage = h.Usage(r)
		if !r.Start.IsZero() {
			o.Started, o.Node = r.Start, r.Nodes
		}
		if !r.End.IsZero() {
			o.Ended = r.End
		}
	case time.Since(j.asked) < lostAfter || j.cycles < lostCycles:
		return o, false // accounting is late: it is not known yet
	case row != nil && cluster.Ended(row.State):
		state = row.State
	case j.last.Status == offer.Queued && (t.Cancelled(h) || h == nil && c.hasFailedBefore(j)) && !c.claimed(j):
		state = "CANCELLED"
	}
	if state == "" {
		o.Status, o.Reason = offer.Lost, "Slurm has neither the job nor its end"
		return o, true
	}
	return c.judge(j, o, state, exit, sig), true
}

// count enters an end that left no record into the breaker that the wrappers
// keep, which has only what they wrote down.
func (c *campaign) count(j *job, o offer.Observation) {
	spec, err := j.batch.dir.Job(j.index)
	if err != nil || o.Status != offer.Failed {
		return
	}
	restart := o.Attempt - j.base
	if e, err := node.Spool(c.spool).ReadEnd(j.token, restart); err == nil && !e.Outside {
		return // it was damaged, and whole by now
	}
	again := o.Attempt < spec.Retry.Max && spec.Retry.Covers(o.Class)
	v := failure.Verdict{Class: o.Class, Line: o.Reason, Signature: o.Class + ": " + failure.Signature(o.Reason)}
	if o.Class == failure.NodeFailure && j.unlaunchable {
		v.Class = failure.Unknown // a script that cannot be started may be at fault on every node
	}
	node.Spool(c.spool).Count(spec, node.Failure{End: node.End{Begin: node.Begin{Token: j.token, Restart: restart}, Final: true, Seen: o}, Verdict: v, Again: again})
}

// judge gives an end that Slurm tells its status and class.
func (c *campaign) judge(j *job, o offer.Observation, state string, exit, sig int) offer.Observation {
	word := cluster.StateWord(state)
	if c.neverBegan(j, o, state, exit) {
		return c.notLaunched(j, o, state)
	}
	if word == "CANCELLED" {
		o.Status, o.Class = offer.Cancelled, ""
		switch {
		case exists(c.path("cancels", j.token)):
		case c.hasFailedBefore(j), state == word && c.dropped(j):
			o.Reason = offer.Blocked
		default:
			o.Class, o.Reason = failure.CancelledOutside, "cancelled in Slurm"+cluster.ByWhom(state)
		}
		return o
	}
	o.Status = offer.Failed
	ev := failure.Evidence{Scheduler: word, OOMKills: -1, HostOOMKills: -1, GPUs: len(o.GPUs) > 0}
	if exit > 0 && !o.Started.IsZero() && word != "BOOT_FAIL" { // of one that never ran it is Slurm's own
		o.Exit, ev.Exit = &exit, &exit
	}
	if sig > 0 && exit == 0 {
		o.Signal = cluster.SignalName(sig)
		ev.Signal = o.Signal
	}
	if o.Started.IsZero() || word == "BOOT_FAIL" {
		o.Reason = "Slurm says " + state
	}
	if spec, err := j.batch.dir.Job(j.index); err == nil {
		if sig == killed && cluster.OverMemory(spec, o.Usage) {
			ev.Scheduler = "OUT_OF_MEMORY"
			o.Reason = fmt.Sprintf("Slurm killed it: it had %s of memory on a node, and asked for %s", units.FormatSize(o.Usage.MaxRSS), units.FormatSize(cluster.PerNode(spec)))
		}
		ev.Tail, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
		rules, _ := failure.Compile(spec.Rules)
		v := rules.Classify(ev)
		o.Class = v.Class
		if o.Reason == "" {
			o.Reason = "Slurm says " + state
			if v.Hint != "" && v.Rule != "scheduler" {
				o.Reason += "; " + v.Hint
			}
		}
	}
	if o.Class == "" {
		o.Class = failure.Unknown
	}
	switch word {
	case "DEADLINE":
		o.Reason = "Slurm says DEADLINE: it could not end before its deadline"
	case "COMPLETED":
		o.Reason = "it ended without a word from its wrapper; Slurm's own output is in " + c.path("out")
	}
	return o
}

// killed is the number of SIGKILL.
const killed = 9

// dropped reports whether Slurm itself, by whom a cancelling is nobody's in
// accounting, may have ended a job for what it comes after although that did
// well: an element of an array that it comes to only when it has forgotten the
// like element of the other (MinJobAge) is judged by that array as a whole, of
// which another element has failed. Seen on 22.05. It runs when muster comes
// to submit it again, alone.
func (c *campaign) dropped(j *job) bool {
	return !c.claimed(j) && slices.ContainsFunc(j.after, func(t string) bool {
		p := c.jobs[c.heir(t)]
		return p != nil && (!p.ended || p.last.Ended.After(j.batch.tried))
	})
}

// hasFailedBefore reports whether something a job comes after did not complete.
func (c *campaign) hasFailedBefore(j *job) bool {
	for _, t := range j.after {
		if p := c.jobs[c.heir(t)]; p != nil && p.last.Status != offer.Completed {
			if e, ok := node.Spool(c.spool).LastEnd(p.token); !ok || !e.Completed() {
				return true
			}
		}
	}
	return false
}

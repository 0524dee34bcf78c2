package batch

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

// endings say how jobs without a record of their end ended, from accounting and
// the queue.
type endings struct {
	jobs     *jobs
	launches *launches
	booted   time.Time // when the scheduler's server began; asked for where it matters
}

// dropped is the end of a job that the scheduler cancelled because a dependency
// failed.
var dropped = scheduler.End{Outcome: scheduler.Cancelled, Said: string(scheduler.Cancelled)}

// of is how a job that left the queue ended, and whether that is certain; t is the
// trace of its array.
func (es *endings) of(j *job, h scheduler.History, row *scheduler.Entry, t scheduler.Trace) (offer.Observation, bool) {
	o := j.last
	o.Handle, o.Ended, o.Reason, o.Expected = es.jobs.handle(j), time.Now(), "", time.Time{}
	r := h.Last(j.batch.Name, j.batch.tried)
	end := scheduler.End{}
	switch {
	case r != nil && r.End.Final() && time.Since(r.Finish) < recordLag && time.Since(j.absentSince) < recordLag:
		return o, false // its own record may be on its way
	case r != nil && r.End.Final() && es.forgotten(j, r):
		if es.mayStillRun(j) {
			return o, false
		}
		o.Usage, o.Got = j.share(r), es.launches.got(j, o.Attempt-j.base, r.Cores)
	case r != nil && r.End.Final():
		end = r.End
		o.Usage, o.Got = j.share(r), es.launches.got(j, o.Attempt-j.base, r.Cores)
		if !r.Start.IsZero() && !(j.batch.turns() && !o.Started.IsZero()) { // else it is when the pack began
			o.Started, o.Node = r.Start, r.Nodes
		}
		if !r.Finish.IsZero() {
			o.Ended = r.Finish
		}
	case time.Since(j.absentSince) < lostAfter || j.absentLooks < lostCycles:
		return o, false // accounting is late: it is not known yet
	case row != nil && row.State == scheduler.Ended:
		end = row.End
	case j.last.Status == offer.Queued && (t.Cancelled(h) || h == nil && es.jobs.hasFailedBefore(j)) && !es.jobs.claimed(j):
		end = dropped
	}
	if es.launchForgotten(j, r) {
		words := es.jobs.notation.Words()
		o.Status, o.Class = offer.Failed, failure.NodeFailure
		o.Reason = fmt.Sprintf("%s says %s: %s ended, forgot its launch and could not launch it again", words.Name, end.Said, words.Server)
		return o, true
	}
	if end.Outcome == "" {
		o.Status, o.Reason = offer.Lost, es.jobs.notation.Words().Name+" has neither the job nor its end"
		return o, true
	}
	return es.classify(j, o, end), true
}

// classify gives an end its status and class.
func (es *endings) classify(j *job, o offer.Observation, end scheduler.End) offer.Observation {
	name := es.jobs.notation.Words().Name
	if es.neverBegan(j, o, end) {
		return es.notLaunched(j, o, end)
	}
	if end.Outcome == scheduler.Cancelled {
		o.Status, o.Class = offer.Cancelled, ""
		switch {
		case es.jobs.unwanted(j):
		case es.jobs.hasFailedBefore(j), end.By == "" && es.dropped(j):
			o.Reason, o.Cause = offer.Blocked, offer.Blocked
		default:
			o.Class, o.Reason = failure.CancelledOutside, "cancelled in "+name+end.By
		}
		return o
	}
	o.Status = offer.Failed
	ev := failure.Evidence{Scheduler: string(end.Outcome), OOMKills: -1, HostOOMKills: -1, GPUs: len(o.GPUs) > 0}
	if end.Exit > 0 && !o.Started.IsZero() && end.Outcome != scheduler.BootFailed { // of one that never ran it is the scheduler's own
		o.Exit, ev.Exit = &end.Exit, &end.Exit
	}
	if end.Signal > 0 && end.Exit == 0 {
		o.Signal = signalName(end.Signal)
		ev.Signal = o.Signal
	}
	if o.Started.IsZero() || end.Outcome == scheduler.BootFailed {
		o.Reason = name + " says " + end.Said
	}
	if spec, err := j.batch.dir.Job(j.index); err == nil {
		if end.Signal == killed && overMemory(spec, o.Usage) {
			ev.Scheduler = "OUT_OF_MEMORY"
			o.Reason = fmt.Sprintf("%s killed it: it had %s of memory on a node, and asked for %s", name, units.FormatSize(o.Usage.MaxRSS), units.FormatSize(perNode(spec)))
		}
		ev.Tail, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
		rules, _ := failure.Compile(spec.Rules)
		v := rules.Classify(ev)
		o.Class = v.Class
		if o.Reason == "" {
			o.Reason = name + " says " + end.Said
			if v.Hint != "" && v.Rule != "scheduler" {
				o.Reason += "; " + v.Hint
			}
		}
	}
	if o.Class == "" {
		o.Class = failure.Unknown
	}
	switch end.Outcome {
	case scheduler.Deadline:
		o.Reason = name + " says DEADLINE: it could not end before its deadline"
	case scheduler.Completed:
		o.Reason = "it ended without a word from its wrapper; " + name + "'s own output is in " + es.jobs.path("out")
	}
	return o
}

// share is a job's part in the use of a launch of the scheduler's job: for a pack, how
// long it lasted, and for how long its node counts as this job's, beside the jobs whose
// ends are known.
func (j *job) share(r *scheduler.Record) *offer.Usage {
	if r.Usage == nil || !j.batch.Packed {
		return r.Usage
	}
	began := j.last.Started
	if !r.Start.IsZero() {
		began = r.Start
	}
	finish := began.Add(r.Usage.Elapsed)
	own := j.batch.since(j, began)
	changes := []offer.Change{{At: own, By: 1}}
	for _, o := range j.batch.jobs {
		if o == j || o.last.Started.IsZero() { // the node was never its own
			continue
		}
		changes = append(changes, offer.Change{At: j.batch.since(o, began), By: 1})
		if o.ended && o.last.Ended.Before(finish) {
			changes = append(changes, offer.Change{At: max(o.last.Ended.UnixNano(), began.UnixNano()), By: -1})
		}
	}
	u := &offer.Usage{Elapsed: r.Usage.Elapsed, CPU: -1, MaxRSS: -1, NodeTime: offer.ShareOf(changes, own, finish.UnixNano())}
	if j.batch.turns() {
		u.Elapsed = time.Duration(finish.UnixNano() - own)
	}
	return u
}

// since is when a job of a pack got its slot: when the scheduler's job began, or when the
// job itself started, if another job of the pack had ended before.
func (b *batch) since(j *job, began time.Time) int64 {
	if b.turns() {
		for _, o := range b.jobs {
			if o != j && o.ended && !o.last.Started.IsZero() && !o.last.Ended.After(j.last.Started) {
				return j.last.Started.UnixNano()
			}
		}
	}
	return began.UnixNano()
}

// killed is the number of SIGKILL.
const killed = 9

// dropped reports whether the scheduler may have cancelled a job although its
// dependency completed. Accounting names nobody then. An element whose like
// element the scheduler has already forgotten (MinJobAge) is judged by the whole
// other array, of which another element failed. Seen on Slurm 22.05. muster
// submits it again, alone.
func (es *endings) dropped(j *job) bool {
	return !es.jobs.claimed(j) && slices.ContainsFunc(j.after, func(t string) bool {
		p := es.jobs.current(t)
		return p != nil && (!p.ended || p.last.Ended.After(j.batch.tried))
	})
}

// neverBegan reports whether a job got its node and its script never claimed the
// token: the node could not be made ready, or could not run it. slurm.conf(5),
// Prolog: "If the prolog fails, the node will be set to a DRAIN state and the job
// will be requeued to a held state"; a job that may not be requeued is CANCELLED
// by slurmd's user, root: seen on 22.05.
func (es *endings) neverBegan(j *job, o offer.Observation, end scheduler.End) bool {
	if o.Usage == nil || es.jobs.claimed(j) || es.jobs.unwanted(j) {
		return false // nor of one that never had a node
	}
	switch end.Outcome {
	case scheduler.Cancelled:
		return end.ByDaemon
	case scheduler.Failed:
		return end.Exit != node.ExitRefused // that is the wrapper's own
	case scheduler.TimedOut, scheduler.Completed:
		return true // its node never got the script, or the site's own script before it hung or ended it
	}
	return false
}

// lateLaunch is how long after its start a server may hear of a launch that failed before.
const lateLaunch = time.Minute

// launchForgotten reports whether a job ended since its server had forgotten a launch, and told
// its node to end it or to launch it again: the server was killed, and began again with an older
// state. slurmd's log says "Could not launch job 55 and not able to requeue it, cancelling job",
// or "Job 4 already killed, do not launch batch job": seen on 22.05. An administrator's cancel
// and a script that fails at once look alike, but for the time.
func (es *endings) launchForgotten(j *job, l *scheduler.Record) bool {
	return mayBeForgotten(l) && !es.jobs.unwanted(j) && j.batch.tried.Before(es.booted) &&
		(l.Start.IsZero() || !l.Start.Before(es.booted)) && !l.Finish.Before(es.booted) && l.Finish.Sub(es.booted) < lateLaunch
}

// mayBeForgotten reports whether a launch ended as one does that its server had forgotten: a
// daemon cancelled it, or its node refused it in the second of its start. Whether it was depends
// on when the server began.
func mayBeForgotten(l *scheduler.Record) bool {
	switch {
	case l == nil:
		return false
	case l.End.Outcome == scheduler.Failed:
		return l.End.Exit == 1 && l.End.Signal == 0 && !l.Start.IsZero() && l.Finish.Equal(l.Start)
	}
	return l.End.Outcome == scheduler.Cancelled && l.End.ByDaemon
}

// notLaunched is the end of a job that never began. The output of its script, if
// any, is in the scheduler's own file.
func (es *endings) notLaunched(j *job, o offer.Observation, end scheduler.End) offer.Observation {
	n := es.jobs.notation
	o.Status, o.Class = offer.Failed, failure.NodeFailure
	why := "its script could not be started on node " + o.Node
	if j.unlaunchable = end.Outcome != scheduler.Cancelled; j.unlaunchable {
		o.Tail = attempt.TailOf(es.jobs.path("out", n.Output(j.batch.Name, j.place())))
	}
	switch {
	case !j.unlaunchable:
		why = "it was not launched, as its node " + o.Node + " could not be prepared for it"
	case end.Outcome == scheduler.TimedOut:
		why = "its walltime ended on node " + o.Node + " before the command was begun"
	case end.Outcome == scheduler.Completed, len(o.Tail) > 0:
		why = "its script ended on node " + o.Node + " before the command was begun"
	}
	o.Reason = fmt.Sprintf("%s says %s: %s", n.Words().Name, end.Said, why)
	return o
}

// takenAway reports whether the scheduler cancelled a job because a dependency
// failed, before accounting says so. over are jobs whose ends are not reported
// yet.
func (es *endings) takenAway(j *job, over map[*job]bool) bool {
	return j.last.Status == offer.Queued && !es.jobs.claimed(j) && slices.ContainsFunc(j.after, func(t string) bool {
		p := es.jobs.current(t)
		if p == nil {
			return es.jobs.spool().Unmet(t)
		}
		return over[p] || p.ended && p.last.Status != offer.Completed
	}) && es.jobs.hasFailedBefore(j)
}

// comesAfterGone reports whether a dependency of a job has left the queue, too, or
// is in an array with a failed element, for which the scheduler may cancel the
// job; see dropped.
func (es *endings) comesAfterGone(j *job, gone []*job) bool {
	return slices.ContainsFunc(j.after, func(t string) bool {
		p := es.jobs.current(t)
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

// forgotten reports whether a row belongs to a second launch under the same id and number,
// made because a crashed server forgot the first. The claim refused the second launch; the
// first records its own end.
func (es *endings) forgotten(j *job, r *scheduler.Record) bool {
	if r.End.Exit != node.ExitRefused || r.End.Outcome != scheduler.Failed {
		return false
	}
	b := es.launches.last(j)
	if b.ID != es.jobs.handle(j) {
		return false
	}
	_, err := es.jobs.spool().ReadEnd(j.token, b.Restart)
	return err != nil
}

// mayStillRun reports whether the launch with the claim may have time left.
func (es *endings) mayStillRun(j *job) bool {
	b := es.launches.last(j)
	spec, err := j.batch.dir.Job(j.index)
	if err != nil {
		return true
	}
	w := es.jobs.spool().Shape(spec, b.Restart).Walltime
	return w <= 0 || time.Since(b.At) < w+lostAfter
}

// countFailure adds a failure without a record to the phase's breaker, which
// wrappers keep.
func (es *endings) countFailure(j *job, o offer.Observation) {
	spec, err := j.batch.dir.Job(j.index)
	if err != nil || o.Status != offer.Failed {
		return
	}
	restart := o.Attempt - j.base
	if e, err := es.jobs.spool().ReadEnd(j.token, restart); err == nil && !e.Outside {
		return // it was damaged, and whole by now
	}
	again := o.Attempt < spec.Retry.Max && spec.Retry.Covers(o.Class)
	v := failure.Verdict{Class: o.Class, Line: o.Reason, Signature: o.Class + ": " + failure.Signature(o.Reason)}
	if o.Class == failure.NodeFailure && j.unlaunchable {
		v.Class = failure.Unknown // a script that cannot be started may be at fault on every node
	}
	es.jobs.spool().Count(spec, node.Failure{End: node.End{Begin: node.Begin{Token: j.token, Restart: restart}, Final: true, Seen: o}, Verdict: v, Again: again})
}

// overMemory reports whether a job used more memory on a node than it requested.
// Without control groups the scheduler samples it, kills the job, and says FAILED.
// slurm.conf(5), JobAcctGatherParams, OverMemoryKill.
func overMemory(j *providers.Job, u *offer.Usage) bool {
	return u != nil && j.Shape.Memory > 0 && u.MaxRSS >= perNode(j)
}

// perNode is the memory that a job requests on each of its nodes.
func perNode(j *providers.Job) int64 { return j.Shape.Memory / int64(max(j.Shape.Nodes, 1)) }

// signalName is the name of a signal without SIG, or its number.
func signalName(n int) string {
	names := map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM"}
	if s := names[n]; s != "" {
		return s
	}
	return strconv.Itoa(n)
}

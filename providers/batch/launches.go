package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
)

// launches reads the records of launches on the spool, and asks accounting about
// launches without one. It reports each launch once, in order. A launch that the
// scheduler requeued (preempted, node failed, by a person) may leave no final
// record: accounting says a little later why and when it ended, and later
// observations of the job wait for that.
type launches struct {
	jobs       *jobs
	reports    *reports
	accounting *accounting
	records    node.Records    // those that were read
	pending    map[string]*job // by token: jobs with ends to report
	settled    time.Time       // accounting was asked of them
	stopped    map[string]bool // phases that wrappers stopped, as far as it was reported
}

func newLaunches(j *jobs, r *reports, a *accounting) *launches {
	return &launches{jobs: j, reports: r, accounting: a, pending: map[string]*job{}, stopped: map[string]bool{}}
}

// settleMost is how long accounting may take to have the end of a requeued launch;
// after it, unknown facts are reported as unknown.
const settleMost = time.Minute

// settleRest is the time between two queries of one watch.
const settleRest = 5 * time.Second

// A pendingEnd is the end of a launch that is not reported yet.
type pendingEnd struct {
	restart int
	since   time.Time     // the launch was over by then
	said    scheduler.End // as the queue has it; its Outcome is "" if it does not
	asked   bool          // accounting answered, or could not, since then
}

// scan reads new records. It costs the scheduler nothing: two folders, listed only
// when they have changed.
func (ls *launches) scan() error {
	spool := ls.jobs.spool()
	var list []offer.Observation
	err := ls.each("ends", func(j *job, restart int) error {
		e, err := spool.ReadEnd(j.token, restart)
		if j.awaitsEnd(restart) {
			return nil // settle tells it
		}
		if err != nil {
			j.absentSince = time.Now().Add(-recordLag) // it is damaged: the scheduler has to say
			return nil
		}
		if e.Outside && restart+j.base >= j.last.Attempt {
			j.absentSince = time.Now().Add(-lostAfter) // only the scheduler knows why
			return nil
		}
		// A completed job is done, whatever its attempt number: its claim refuses
		// a later start, and a server that restarted with an older state shows a
		// running job as requeued.
		if (restart+j.base >= j.last.Attempt || e.Completed()) && (over(e.Seen.Status) || e.Seen.Status == offer.Waiting) {
			ls.awaitEnds(j, e.Seen.Attempt-j.base, e.Seen.Started, scheduler.End{})
			list = append(list, endOf(e))
		}
		return nil
	})
	if err = errors.Join(err, ls.reports.tell(list...)); err != nil {
		return err
	}
	list = nil
	err = ls.each("starts", func(j *job, restart int) error {
		if b, err := spool.ReadBegin(j.token, restart); err == nil && (j.last.Attempt < j.base+restart || j.last.Status == offer.Queued) {
			list = append(list, ls.began(j, b)...)
		}
		return nil
	})
	return errors.Join(err, ls.reports.tell(list...), ls.stalls(), ls.stops())
}

// stalls reports commands that have stalled, and those that continue.
func (ls *launches) stalls() error {
	spool := ls.jobs.spool()
	names, err := ls.records.Fresh(spool, "stalls")
	if err != nil {
		return err
	}
	var list []offer.Observation
	slices.Sort(names)
	for _, name := range names {
		token, restart, why, ok := spool.ReadStall(name)
		if j := ls.jobs.byToken[token]; ok && j != nil && !j.ended && j.last.Status == offer.Running && j.last.Attempt == j.base+restart {
			o := j.last
			o.Reason = why
			list = append(list, o)
		}
	}
	return ls.reports.tell(list...)
}

// each visits the new records of a folder, of jobs that have not ended.
func (ls *launches) each(folder string, take func(j *job, restart int) error) error {
	names, err := ls.records.Fresh(ls.jobs.spool(), folder)
	if err != nil {
		return err
	}
	for _, name := range names {
		token, restart, ok := node.ParseRecordName(name)
		j := ls.jobs.byToken[token]
		if !ok || j == nil || j.ended {
			continue
		}
		if err := take(j, restart); err != nil {
			return err
		}
	}
	return nil
}

// endOf is an end as it is reported: a launch that refused to run, because a
// dependency failed or its phase is stopped, is blocked; nobody cancelled it.
func endOf(e node.End) offer.Observation {
	o := e.Seen
	if e.Refused != "" && e.Refused != "cancelled" {
		o.Reason, o.Cause = offer.Blocked, offer.Blocked
	}
	return o
}

// began is the report of a start; earlier launches are over then.
func (ls *launches) began(j *job, b node.Begin) (list []offer.Observation) {
	attempt := j.base + b.Restart
	if attempt < j.last.Attempt {
		return nil
	}
	ls.awaitEnds(j, b.Restart, b.At, scheduler.End{})
	if j.batch.turns() {
		for _, i := range j.batch.Indexes {
			if o := j.batch.jobs[i]; o != nil && o != j && !o.ended && o.last.Status == offer.Queued && o.last.Stage != o.batch.stage() {
				list = append(list, o.waitsForTurn(b.ID))
			}
		}
	}
	return append(list, offer.Observation{Token: j.token, Handle: b.ID, Status: offer.Running, Attempt: attempt, Started: b.At, Node: b.Node, GPUs: b.GPUs, Pool: b.Pool})
}

// waitsForTurn is a job whose turn in its pack, which runs, has not come.
func (j *job) waitsForTurn(handle string) offer.Observation {
	o := j.last
	o.Status, o.Handle, o.Stage, o.HeldBy, o.Expected = offer.Queued, handle, j.batch.stage(), "", time.Time{}
	o.Reason, o.Cause = "its turn comes in "+handle+", which runs", ""
	return o
}

// stops reports breakers that a wrapper opened.
func (ls *launches) stops() error {
	looked := map[string]bool{}
	for _, j := range ls.jobs.byToken {
		if ls.stopped[j.of] || looked[j.of] {
			continue
		}
		looked[j.of] = true
		why := ls.whyStopped(j.of)
		if why == "" {
			continue
		}
		ls.stopped[j.of] = true
		if err := ls.reports.note(providers.Note{Kind: "breaker", Phase: j.of, Text: offer.Stopped + why}); err != nil {
			return err
		}
	}
	return nil
}

// whyStopped is why a wrapper opened a breaker, "" where it is closed.
func (ls *launches) whyStopped(of string) string {
	text, err := os.ReadFile(ls.jobs.path(node.StopFile(of)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// outdated reports whether a note says that a breaker opened which has been closed since:
// a watcher that reads it late would open the breaker again.
func (ls *launches) outdated(n *providers.Note) bool {
	return n.Kind == "breaker" && ls.whyStopped(n.Phase) == ""
}

// awaitEnds marks the unreported ends of launches before a restart as pending; last is the
// end of the last one where the queue has it.
func (ls *launches) awaitEnds(j *job, restart int, since time.Time, last scheduler.End) {
	first := j.last.Attempt - j.base
	if j.last.Status == offer.Waiting {
		first++
	}
	for n := max(first, 0); n < restart; n++ {
		if j.awaitsEnd(n) || ls.records.Read("ends", node.RecordName(j.token, n)) && ls.hasOwnWord(j, n) {
			continue // its own records are reported as they are read
		}
		d := pendingEnd{restart: n, since: since}
		if n == restart-1 {
			d.said = last
		}
		j.pendingEnds = append(j.pendingEnds, d)
		ls.pending[j.token] = j
	}
}

// awaitsEnd reports whether the end of a launch is pending.
func (j *job) awaitsEnd(restart int) bool {
	return slices.ContainsFunc(j.pendingEnds, func(d pendingEnd) bool { return d.restart == restart })
}

// hasOwnWord reports whether a launch recorded why it ended.
func (ls *launches) hasOwnWord(j *job, restart int) bool {
	e, err := ls.jobs.spool().ReadEnd(j.token, restart)
	return err == nil && !e.Outside
}

// settle reports pending ends that are known by now, and the observations held
// back behind them.
func (ls *launches) settle(ctx context.Context) error {
	if len(ls.pending) == 0 || ls.accounting.watched && time.Since(ls.settled) < settleRest {
		return nil
	}
	ls.settled = time.Now()
	var ids []string
	for _, j := range ls.pending {
		if id := j.place().Array; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	var acct map[scheduler.ElementID]scheduler.History
	asked := ls.accounting.mayAsk()
	if asked {
		acct, _ = ls.accounting.histories(ctx, ids) // else it is unknown, after a while
	}
	for token, j := range ls.pending {
		var list []offer.Observation
		for len(j.pendingEnds) > 0 {
			d := &j.pendingEnds[0]
			d.asked = d.asked || asked
			o, sure := ls.putBack(j, *d, acct[j.place()])
			if !sure && (!d.asked || time.Since(d.since) < settleMost) {
				break
			}
			list = append(list, o)
			j.pendingEnds = j.pendingEnds[1:]
		}
		if len(j.pendingEnds) == 0 {
			delete(ls.pending, token)
			list, j.later = append(list, j.later...), nil
		}
		if err := ls.reports.tellNow(list...); err != nil {
			return err
		}
	}
	return nil
}

// hold keeps an observation back until pending ends are reported.
func (j *job) hold(o offer.Observation) {
	if n := len(j.later); n > 0 && j.later[n-1].Attempt == o.Attempt && j.later[n-1].Status == o.Status {
		j.later[n-1] = o
		return
	}
	j.later = append(j.later, o)
}

// putBack is the end of a requeued launch, and whether no more will be known of
// it. Accounting knows more of it than the queue.
func (ls *launches) putBack(j *job, d pendingEnd, h scheduler.History) (o offer.Observation, sure bool) {
	spool, restart := ls.jobs.spool(), d.restart
	b, notBegun := spool.ReadBegin(j.token, restart)
	e, noEnd := spool.ReadEnd(j.token, restart)
	if noEnd == nil && !e.Outside {
		return endOf(e), true // in its own words
	}
	o = offer.Observation{Token: j.token, Handle: ls.jobs.handle(j), Status: offer.Waiting, Attempt: j.base + restart, Pool: j.last.Pool,
		Class: failure.Preempted, Reason: ls.jobs.notation.Words().Name + " requeued it"}
	if d.said.Outcome != "" {
		o.Class, o.Reason = whyPutBack(ls.jobs.notation.Words().Name, d.said, notBegun == nil)
	}
	if notBegun == nil {
		o.Started, o.Node, o.GPUs, o.Pool, o.Handle = b.At, b.Node, b.GPUs, cmp.Or(b.Pool, o.Pool), b.ID
	}
	r := h.Restart(j.batch.Name, j.batch.tried, restart, b.At)
	if r != nil {
		o.Got = ls.got(j, restart, r.Cores)
		o.Usage, o.Ended, o.Node = j.share(r), r.Finish, cmp.Or(o.Node, r.Nodes)
		if o.Started.IsZero() {
			o.Started = r.Start
		}
		o.Class, o.Reason = whyPutBack(ls.jobs.notation.Words().Name, r.End, notBegun == nil)
	}
	if noEnd == nil { // the wrapper lived to measure it
		o.Ended, o.Exit, o.Signal, o.Usage, o.Tail, o.Got = e.Seen.Ended, e.Seen.Exit, e.Seen.Signal, e.Seen.Usage, e.Seen.Tail, e.Seen.Got
	} else if spec, err := j.batch.dir.Job(j.index); err == nil && notBegun == nil {
		_, o.Tail = attempt.Tail(spec, o.Attempt, j.batch.dir.Mask(spec.Token))
	}
	return o, r != nil || d.said.Outcome != ""
}

// got is the shape of a launch with so many allocated cores, 0 = unknown; nil = as
// requested.
func (ls *launches) got(j *job, restart, cores int) *offer.Shape {
	spec, err := j.batch.dir.Job(j.index)
	if err != nil {
		return nil
	}
	g := node.Grant{Restart: restart, Cores: cores}
	if j.batch.Packed {
		g.Pack, g.Cores = max(j.batch.live(), 1), 0 // the others recorded their own use
	}
	return ls.jobs.spool().Got(spec, g)
}

// last is the record of a job's latest start.
func (ls *launches) last(j *job) node.Begin {
	for n := j.last.Attempt - j.base; n >= 0; n-- {
		if b, err := ls.jobs.spool().ReadBegin(j.token, n); err == nil {
			return b
		}
	}
	return node.Begin{}
}

// resume closes a breaker and forgets its failures.
func (ls *launches) resume(of string) error {
	if err := errors.Join(os.RemoveAll(ls.jobs.path(node.StopFile(of))), ls.jobs.spool().Forget(of)); err != nil {
		return fmt.Errorf("close the breaker of %s: %w", of, err)
	}
	delete(ls.stopped, of)
	return nil
}

// whyPutBack is the class and the reason of a requeued launch's end.
// slurm.conf(5), PreemptMode, JobRequeue; sacct(1), -D.
func whyPutBack(name string, end scheduler.End, begun bool) (class, reason string) {
	switch {
	case !begun:
		return failure.NodeFailure, "it was put back before its command began: its node could not be made ready, or its volume was full; " + name + " says " + end.Said
	case end.Outcome == scheduler.NodeFailed || end.Outcome == scheduler.BootFailed:
		return failure.NodeFailure, "its node failed, and " + name + " requeued it"
	case end.Outcome == scheduler.Preempted:
		return failure.Preempted, "preempted, and " + name + " requeued it"
	}
	return failure.Preempted, name + " requeued it"
}

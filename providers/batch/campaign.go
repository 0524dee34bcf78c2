package batch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/muster-run/muster/providers/batch/events"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// A campaign is the jobs of one campaign on one backend. The spool is its only memory. Each of
// its parts owns a piece of that and decides about it.
type campaign struct {
	name      string
	scheduler scheduler.Scheduler

	mu     sync.Mutex
	loaded bool
	spools *spools

	jobs         *jobs         // the jobs and their batches
	reports      *reports      // their reported states
	holds        *holds        // jobs that muster keeps from starting
	queue        *queue        // the scheduler's, as it was seen last
	accounting   *accounting   // questions to it
	launches     *launches     // the records of launches on the spool
	intake       *intake       // new jobs
	limits       *limits       // how many of a phase run at once
	dependencies *dependencies // the jobs' predecessors
	retries      *retries      // of jobs that were not launched
	releases     *releases     // of jobs submitted held
	submitter    *submitter    // the scheduler's command
	copies       *copies       // second submissions
	leftovers    *leftovers    // ended jobs in the queue
	poll         *poll         // the queue's rows of jobs
	withdrawals  *withdrawals  // of elements that the scheduler cannot hold
	cancels      *cancels      // of jobs that have not ended
}

// newCampaign is a campaign whose first cluster has a spool.
func newCampaign(name, first string, s scheduler.Scheduler) *campaign {
	c := &campaign{name: name, scheduler: s, spools: &spools{first: first, dir: first}}
	c.begin()
	return c
}

// begin begins with the spool in use, of which nothing is read yet.
func (c *campaign) begin() {
	c.loaded = false
	c.queue = &queue{Scheduler: c.scheduler}
	c.accounting = &accounting{reader: c.scheduler}
	c.retries = &retries{c.spools}
	c.holds = &holds{spools: c.spools, tokens: map[string]bool{}}
	c.jobs = newJobs(c.spools, c.scheduler)
	c.reports = &reports{jobs: c.jobs, log: events.In(c.spools.dir)}
	c.launches = newLaunches(c.jobs, c.reports, c.accounting)
	c.intake = &intake{c.jobs, c.reports}
	c.limits = &limits{c.jobs, c.queue}
	c.dependencies = &dependencies{jobs: c.jobs, queue: c.queue, reports: c.reports, untold: map[string]bool{}}
	c.submitter = &submitter{jobs: c.jobs, queue: c.queue}
	c.copies = &copies{c.jobs, c.queue}
	c.leftovers = &leftovers{c.jobs, c.queue, c.reports, map[scheduler.ElementID]time.Time{}}
	c.cancels = &cancels{c.jobs, c.queue, c.reports, c.submitter, c.copies}
	c.poll = &poll{jobs: c.jobs, queue: c.queue, accounting: c.accounting, reports: c.reports, launches: c.launches, endings: &endings{jobs: c.jobs, launches: c.launches},
		holds: c.holds, retries: c.retries, dependencies: c.dependencies}
	c.withdrawals = &withdrawals{c.jobs, c.queue, c.reports, c.poll}
	c.releases = &releases{c.name, c.jobs, c.holds, c.queue, c.dependencies, c.retries, c.withdrawals}
}

// locate finds the spool of the cluster that answers.
func (c *campaign) locate(ctx context.Context) error {
	if c.spools.located {
		return nil
	}
	cluster, err := c.scheduler.Cluster(ctx)
	if err != nil {
		return err
	}
	if c.spools.locate(cluster) {
		c.reports.log.Close()
		c.begin()
	}
	return nil
}

// load reads the spool once.
func (c *campaign) load() error {
	if c.loaded {
		return nil
	}
	if err := c.jobs.load(); err != nil {
		return err
	}
	c.holds.load()
	c.dependencies.repeat()
	if err := c.reports.load(); err != nil {
		return err
	}
	c.loaded = true
	return nil
}

// look asks the queue once about everything, and accounting about jobs that have left it
// without a record.
func (c *campaign) look(ctx context.Context) error {
	open := c.jobs.unfinished()
	if len(open) == 0 {
		_, err := c.leftovers.tidy(ctx, false)
		return err
	}
	rows, err := c.queue.look(ctx)
	if err != nil {
		return err
	}
	if err := c.releases.recall(rows); err != nil {
		return err
	}
	if _, err := c.leftovers.sweep(ctx, c.leftovers.past(false), rows); err != nil {
		return err
	}
	if err := c.poll.compare(ctx, open, rows); err != nil {
		return err
	}
	return c.launches.settle(ctx)
}

// waiting reports whether a batch has yet to be submitted, or released.
func (c *campaign) waiting() bool {
	return slices.ContainsFunc(c.jobs.batches, func(k *batch) bool { return (k.id == "" || k.held != "" && !c.holds.all) && !k.over() })
}

// setLimit changes how many of a phase may run at once; none = no limit.
func (c *campaign) setLimit(ctx context.Context, phase string, limit int) error {
	limit = max(limit, 0)
	list, err := c.limits.share(ctx, phase, limit)
	if err != nil || list == nil {
		return err
	}
	if err := c.releases.releaseAll(ctx); err != nil {
		return err
	}
	return c.limits.keep(list, limit)
}

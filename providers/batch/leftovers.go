package batch

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// leftovers are ended jobs that the scheduler still lists. A scheduler that
// crashes forgets recent changes: a cancelled job may be back in its queue and
// wait forever, and a job that ended meanwhile may count as running, and be
// charged, until its walltime is over. It may also hold a job that ended on a node
// without its knowledge.
type leftovers struct {
	jobs    *jobs
	queue   *queue
	reports *reports
	// asked is when this process last had the scheduler end a job that it shows as running.
	asked map[scheduler.ElementID]time.Time
}

const (
	// stays is how long the queue may show an ended job as running: it has an
	// epilog, and the server may be busy.
	stays = 2 * time.Minute
	// saved is how long after its last end a campaign may still get leftovers: a
	// server that crashes before may not have saved it.
	saved = 10 * time.Minute
	// endsWithin is how long the scheduler may take to end a job before it is asked again. One
	// whose node has lost the job may never end it: seen on OpenPBS 23.06, where the daemon of
	// the node was killed.
	endsWithin = 10 * time.Minute
)

// past are the submitted jobs that have ended; all = none of them may run,
// whatever the queue says.
func (ls *leftovers) past(all bool) pastJobs {
	jobs := pastJobs{}
	for _, j := range ls.jobs.byToken {
		if j.ended && j.batch.id != "" && (!j.batch.Packed || j.batch.over()) {
			jobs[j.place()] = pastJob{name: j.batch.Name, at: j.last.Ended, unwanted: all || ls.jobs.unwanted(j)}
		}
	}
	return jobs
}

// sweep removes leftovers from the queue and reports them.
func (ls *leftovers) sweep(ctx context.Context, past pastJobs, rows []scheduler.Entry) (string, error) {
	now := time.Now()
	waiting, running := past.in(rows, now)
	again := 0
	running = slices.DeleteFunc(running, func(r scheduler.Entry) bool {
		at, asked := ls.asked[r.ElementID]
		if asked && now.Sub(at) >= endsWithin {
			again++
		}
		return asked && now.Sub(at) < endsWithin
	})
	err := remove(ctx, ls.queue, waiting, running)
	text := ""
	if n := len(running) - again; err == nil {
		for _, list := range waiting {
			n += len(list)
		}
		text = ls.words(n, again)
		for _, r := range running {
			ls.asked[r.ElementID] = now
		}
	}
	if text != "" {
		ls.queue.changed()
		err = ls.reports.note(providers.Note{Kind: "info", Text: text})
	}
	return text, err
}

// words describe jobs that were taken out of the queue, and those that the scheduler was asked
// to end again.
func (ls *leftovers) words(out, again int) string {
	name := ls.queue.Words().Name
	switch {
	case out == 0 && again == 0:
		return ""
	case out == 0 && again == 1:
		return name + " does not end 1 job that has ended: its node may have lost it. It may be charged until an administrator removes it"
	case out == 0:
		return fmt.Sprintf("%s does not end %d jobs that have ended: their nodes may have lost them. They may be charged until an administrator removes them", name, again)
	case out == 1:
		return "1 job that had ended was still in " + name + "'s queue, which may have forgotten that; it was taken out"
	}
	return fmt.Sprintf("%d jobs that had ended were still in %s's queue, which may have forgotten that; they were taken out", out, name)
}

// tidy sweeps the queue of a campaign without open jobs, at which nobody else
// looks; all is that of past.
func (ls *leftovers) tidy(ctx context.Context, all bool) (string, error) {
	past := ls.past(all)
	if len(ls.jobs.unfinished()) > 0 || past.over(ls.jobs.path("tidy")) {
		return "", nil
	}
	rows, err := ls.queue.recent(ctx)
	if err != nil {
		return "", err
	}
	text, err := ls.sweep(ctx, past, rows)
	past.seen(ls.jobs.path("tidy"), rows)
	return text, err
}

// A pastJob is one that has ended.
type pastJob struct {
	name string // of its batch, in the queue
	at   time.Time
	// unwanted says that it must not run, whatever the queue says: it was
	// cancelled, or its folders are removed.
	unwanted bool
}

// pastJobs are ended jobs, by their place in the scheduler.
type pastJobs map[scheduler.ElementID]pastJob

// in are the rows of a queue that should be gone: those that wait, by the name of
// their batch, and those that run.
func (past pastJobs) in(queue []scheduler.Entry, now time.Time) (waiting map[string][]scheduler.Entry, running []scheduler.Entry) {
	waiting = map[string][]scheduler.Entry{}
	for _, r := range queue {
		j, ok := past[r.ElementID]
		switch {
		case !ok || j.name != r.Name: // the id was given out again
		case r.State == scheduler.Waiting:
			waiting[r.Name] = append(waiting[r.Name], r)
		case r.State == scheduler.Running && (j.unwanted || now.Sub(j.at) > stays && !r.Start.After(j.at)):
			running = append(running, r)
		}
	}
	return waiting, running
}

// remove cancels jobs that wait, by the name of their batch, and jobs that run.
func remove(ctx context.Context, c scheduler.Scheduler, waiting map[string][]scheduler.Entry, running []scheduler.Entry) error {
	for name, rows := range waiting {
		if err := c.CancelWaiting(ctx, name, scheduler.Of(rows)); err != nil {
			return err
		}
	}
	if len(running) > 0 {
		return c.Cancel(ctx, scheduler.Of(running))
	}
	return nil
}

// over reports whether none can come back, because the queue was seen without them
// later; the file mark records that.
func (past pastJobs) over(mark string) bool {
	fi, err := os.Stat(mark)
	last := past.last()
	return last.IsZero() || err == nil && fi.ModTime().Sub(last) > saved
}

// seen touches the mark if a queue lists none of them.
func (past pastJobs) seen(mark string, queue []scheduler.Entry) {
	for _, r := range queue {
		if j, ok := past[r.ElementID]; ok && j.name == r.Name && r.State != scheduler.Ended {
			return
		}
	}
	_ = os.WriteFile(mark, nil, 0o600) // else it is asked again
}

func (past pastJobs) last() (at time.Time) {
	for _, j := range past {
		if j.at.After(at) {
			at = j.at
		}
	}
	return at
}

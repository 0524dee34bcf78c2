package cluster

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// SchedulingOff is why nothing starts on a server whose scheduling is off.
const SchedulingOff = "PBS starts no jobs now: the server's scheduling is off"

const (
	// cycleRest is how long a job waits without a word of the scheduler before the server is
	// asked about that, and how long its answer counts.
	cycleRest = 2 * time.Minute
	// cycleLeast is the least time without a word after which a scheduler may be down: a cycle
	// of a large site takes minutes.
	cycleLeast = 10 * time.Minute
)

// A cycle is how the scheduler works, as the server says.
type cycle struct {
	asked   time.Time
	off     bool
	between time.Duration // two cycles, at most
	ahead   time.Duration // the server's clock, of this one
}

// unseen gives a reason to waiting jobs that the scheduler has not looked at: it sets the
// comment of each job that it considers. pbs_job_attributes(7B), comment; pbs_server_attributes(7B),
// scheduler_iteration.
func (c *Commands) unseen(ctx context.Context, all map[string]job, rows []scheduler.Entry) {
	since := map[string]time.Time{} // queued, by id of a job or an array
	for id, j := range all {
		at, known := c.Place(id)
		queued := when(j["qtime"])
		if known && j["job_state"] == "Q" && j["comment"] == "" && !queued.IsZero() && time.Since(queued) > cycleRest {
			since[at.Array] = queued
		}
	}
	if len(since) == 0 {
		return
	}
	cycle, ok := c.lastCycle(ctx)
	if !ok {
		return // the queue is known all the same
	}
	for i := range rows {
		r := &rows[i]
		queued, ok := since[r.Array]
		switch {
		case !ok || r.State != scheduler.Waiting || r.Reason != "":
		case cycle.off:
			r.Reason = SchedulingOff
		case time.Since(queued)+cycle.ahead > max(2*cycle.between, cycleLeast):
			r.Reason = "PBS's scheduler has not looked at it since it was queued at " + units.FormatTime(queued) + ": it may be down; ask the site"
		}
	}
}

// lastCycle is the server's report of its scheduler, now or a little while ago; false = it
// does not answer.
func (c *Commands) lastCycle(ctx context.Context) (cycle, bool) {
	c.mu.Lock()
	last := c.cycle
	c.mu.Unlock()
	if time.Since(last.asked) < cycleRest {
		return last, true
	}
	out, err := c.told(ctx, "qstat", "-Bf", "-F", "json")
	var a queueAnswer
	if err != nil || json.Unmarshal(out, &a) != nil || len(a.Server) == 0 {
		return last, false
	}
	last = cycle{asked: time.Now()}
	for _, s := range a.Server {
		last.off, last.between = off(s), time.Duration(number(s["scheduler_iteration"]))*time.Second
	}
	if a.Time > 0 {
		last.ahead = time.Unix(a.Time, 0).Sub(last.asked)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cycle = last
	return last, true
}

// off reports whether the scheduling of a server is off.
func off(server map[string]any) bool { return strings.EqualFold(text(server["scheduling"]), "false") }

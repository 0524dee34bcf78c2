package login

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// neverBegan reports whether Slurm gave a job its node and its script never came
// to claim the token: the node could not be made ready, or could not run it.
// slurm.conf(5), Prolog: "If the prolog fails, the node will be set to a DRAIN
// state and the job will be requeued to a held state"; a job that may not be
// requeued is CANCELLED by slurmd's user, root: seen on 22.05.
func (c *campaign) neverBegan(j *job, o offer.Observation, state string, exit int) bool {
	if o.Usage == nil || exists(c.path("claims", j.token)) || exists(c.path("cancels", j.token)) {
		return false // nor of one that never had a node
	}
	switch cluster.StateWord(state) {
	case "CANCELLED":
		return cluster.ByRoot(state)
	case "FAILED":
		return exit != node.ExitRefused // that is the wrapper's own
	}
	return false
}

// notLaunched is the end of a job that never began. What its script said, if it
// said anything, is in Slurm's own output.
func (c *campaign) notLaunched(j *job, o offer.Observation, state string) offer.Observation {
	o.Status, o.Class = offer.Failed, failure.NodeFailure
	o.Reason = fmt.Sprintf("Slurm says %s: it was not launched, as its node %s could not be made ready for it", state, o.Node)
	if j.unlaunchable = !strings.HasPrefix(state, "CANCELLED"); j.unlaunchable {
		o.Reason = fmt.Sprintf("Slurm says %s: its script could not be started on node %s", state, o.Node)
		if o.Tail = attempt.TailOf(c.path("out", j.batch.Name+"-"+j.elementID()+".out")); len(o.Tail) > 0 {
			o.Reason = fmt.Sprintf("Slurm says %s: its script ended on node %s before the command was begun", state, o.Node)
		}
	}
	return o
}

// launchTries is how often a job that Slurm could not launch, and holds, is let
// go by muster. The node at fault is drained by then; it goes to another one.
const launchTries = 3

// relaunch lets go what Slurm holds since it could not launch it, for as long as
// nobody else holds it.
func (c *campaign) relaunch(ctx context.Context) error {
	if c.held {
		return nil
	}
	var list []*job
	for _, r := range c.rows {
		if r.State != "PENDING" || !cluster.NotLaunched(r.Reason) {
			continue
		}
		for _, k := range c.batches {
			if k.id != r.Array || k.Name != r.Name || node.Spool(c.spool).Stopped(k.Phase) != "" {
				continue
			}
			if j := k.jobs[max(r.Index, 0)]; j != nil && !j.ended && !exists(c.path("cancels", j.token)) && c.mayRelaunch(j) {
				list = append(list, j)
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := c.cluster.Scontrol(ctx, "release", strings.Join(cancelIDs(list), ",")); err != nil && !cluster.Gone(err) {
		return err
	}
	c.rowsAt = time.Time{}
	return nil
}

// goOn tells Slurm again what it forgot, lets go what is held for nobody's sake, and hands over what waits on the
// spool, for whoever drives the campaign without watching it. Where Slurm cannot
// be asked the next one does it.
func (s *Slurm) goOn(ctx context.Context, b *backend) {
	c := b.campaign
	if c.held {
		return
	}
	if len(c.unfinished()) > 0 {
		rows, err := c.queued(ctx)
		if err != nil || c.recall(rows) != nil || c.heed(ctx, rows) != nil {
			return
		}
	}
	if c.waiting() && c.scan() == nil {
		s.handOver(ctx, b)
	}
	_ = c.relaunch(ctx)
}

// mayRelaunch counts on the spool how often a job was let go, whoever did it.
func (c *campaign) mayRelaunch(j *job) bool {
	name := c.path("relaunched", j.token)
	if c.relaunches(j) >= launchTries {
		return false
	}
	if os.MkdirAll(c.path("relaunched"), 0o700) != nil {
		return false
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return false
	}
	_, err = f.WriteString(".")
	return f.Close() == nil && err == nil
}

package login

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/node"
)

// comeForward lets jobs start now that wrappers put off for want of room on
// their volume. Whoever lets jobs go has seen room there, or wants them tried;
// where there is none they are put off again, and lose nothing. The delay of a
// retry is waited out, and a start that is further off is somebody's own. Where
// Slurm cannot be asked, or refuses, they start at their time.
func (c *campaign) comeForward(ctx context.Context, list []*job) {
	list = slices.DeleteFunc(slices.Clone(list), func(j *job) bool {
		return j.last.Status == offer.Waiting && j.last.Class != failure.DiskFull && j.last.Class != failure.NoInodes
	})
	if len(list) == 0 {
		return
	}
	rows, err := c.queued(ctx)
	if err != nil {
		return
	}
	by, now := byPlace(rows), time.Now()
	list = slices.DeleteFunc(list, func(j *job) bool {
		r := j.row(by)
		return r == nil || r.State != "PENDING" || !r.Start.After(now) || r.Start.After(now.Add(node.RoomWait))
	})
	if len(list) > 0 {
		_ = c.cluster.Scontrol(ctx, "update", "JobId="+strings.Join(cancelIDs(list), ","), "StartTime=now")
	}
}

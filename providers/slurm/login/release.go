package login

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/script"
)

// A controller that is killed forgets what it was told since it last saved its
// state, seconds before: a job that was let go then is held again, as it was
// submitted. So that this can be told from a hold of somebody's, what muster
// submits held bears a mark, its comment, until it is let go. The mark is taken
// off after that, and what is forgotten is always the latest: what bears it, and
// was let go, is muster's to let go again. What is held and bears none is not.

// mark is the comment of what muster holds.
const mark = script.HeldComment

// Why muster holds a batch, as it is noted and told.
const (
	untilAllIsIn = "until all of its campaign is in"
	asForgotten  = "again: slurmctld was killed, and has forgotten that it was let go"
)

// hold notes that a batch is held by muster, and why; "" = it is no more.
func (b *batch) hold(why string) error {
	b.held = why
	if err := b.dir.Note("held", why); err != nil {
		return fmt.Errorf("note whether %s is held: %w", b.Name, err)
	}
	return nil
}

// letGo lets go what was held until all was in, once Slurm has been told what
// each comes after.
func (c *campaign) letGo(ctx context.Context) error {
	if err := c.repoint(ctx); err != nil {
		return err
	}
	for _, k := range c.batches {
		if err := c.narrow(ctx, k); err != nil {
			return err
		}
	}
	return c.release(ctx)
}

// release lets go what was held until all was in, takes the mark off it, and
// looks whether that was heard.
func (c *campaign) release(ctx context.Context) error {
	if c.held {
		return nil
	}
	var list []*batch
	for _, k := range c.batches {
		if k.held != "" && !k.wide && k.id != "" {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return nil
	}
	for range releaseTries {
		// What an administrator holds is theirs to release; see holder.
		if err := c.cluster.Scontrol(ctx, "release", ids(list)); err != nil && !cluster.Gone(err) && !cluster.Unchangeable(err) {
			return err
		}
		if err := c.unmark(ctx, list); err != nil {
			return err
		}
		c.rowsAt = time.Time{}
		rows, err := c.queued(ctx)
		if err != nil {
			return err
		}
		if !holds(rows, list) {
			return noneHeld(list)
		}
	}
	return providers.Errorf(providers.Unreachable, "Slurm holds what it was told to release")
}

// releaseTries is how often it is released what is held after it was: between a
// release and what follows it the controller may be killed, and come back
// without that.
const releaseTries = 3

// holds reports whether something of some batches is held.
func holds(rows []cluster.QueueRow, list []*batch) bool {
	return slices.ContainsFunc(rows, func(r cluster.QueueRow) bool {
		return r.State == "PENDING" && (r.Reason == "JobHeldUser" || r.Comment == mark && r.Reason != "JobHeldAdmin") &&
			slices.ContainsFunc(list, func(k *batch) bool { return k.id == r.Array && k.Name == r.Name && k.dir.Noted("marked") == "" })
	})
}

// noneHeld notes that batches are not held any more.
func noneHeld(list []*batch) error {
	for _, k := range list {
		if err := k.hold(""); err != nil {
			return err
		}
	}
	return nil
}

// unmark gives batches the comment that their scripts have. Where the site does
// not let users change that, the mark says nothing from then on.
func (c *campaign) unmark(ctx context.Context, list []*batch) error {
	by := map[string][]*batch{}
	for _, k := range list {
		by[k.Phase] = append(by[k.Phase], k)
	}
	for _, phase := range slices.Sorted(maps.Keys(by)) {
		err := c.cluster.Scontrol(ctx, "update", "JobId="+ids(by[phase]), "Comment="+script.Comment(c.name, phase))
		switch {
		case err == nil, cluster.Gone(err):
			continue
		case !cluster.Heard(err):
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

// ids names batches as scontrol takes them.
func ids(list []*batch) string {
	var out []string
	for _, k := range list {
		out = append(out, k.id)
	}
	return strings.Join(out, ",")
}

// recall takes batches for held that were let go and bear the mark again. With
// their release the controller may have forgotten what they, and what comes after
// them, were told to wait for.
func (c *campaign) recall(rows []cluster.QueueRow) error {
	by := map[string]*batch{}
	for _, k := range c.batches {
		if k.id != "" && k.held == "" && !k.over() {
			by[k.id] = k
		}
	}
	for _, r := range rows {
		k := by[r.Array]
		if k == nil || r.Comment != mark || r.State != "PENDING" || r.Name != k.Name {
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
		if err := k.hold(asForgotten); err != nil {
			return err
		}
		for t := range c.heirs {
			c.unpointed[t] = true
		}
	}
	return nil
}

package queue

import (
	"context"
	"fmt"
	"os"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// remove moves files aside or deletes them, if the fence is not stale.
func (an *requests) remove(ctx context.Context, p machine.Tenant, r providers.RemoveRequest) error {
	refused, err := ask(ctx, an.core, func() error { return an.submissions.fence(p.Lineage, r.Fence, r.Holder) })
	if err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	for _, path := range r.Paths {
		path = attempt.InWorkdir(p.Workdir, path)
		var err error
		if r.To == "" {
			err = os.RemoveAll(path)
		} else {
			err = guard.Move(p.Workdir, attempt.InWorkdir(p.Workdir, r.To), path)
		}
		if err != nil {
			return fmt.Errorf("remove: %w", err)
		}
	}
	for _, n := range r.Renames {
		if err := guard.Rename(attempt.InWorkdir(p.Workdir, n.From), attempt.InWorkdir(p.Workdir, n.To)); err != nil {
			return fmt.Errorf("rename: %w", err)
		}
	}
	return nil
}

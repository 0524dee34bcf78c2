package attempt

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Clear readies the output paths and the checkpoint of a job for a launch: files of others keep
// it from starting, no torn checkpoint is resumed from, and what the launch before it left is
// kept apart. A launch cut short in it may repeat it.
func Clear(ctx context.Context, l guard.Start, shape offer.Shape, launch int) error {
	if err := guard.Clear(l); err != nil {
		return err
	}
	if l.Fresh() {
		if err := begin(l.Job, launch); err != nil {
			return err
		}
	}
	if err := Resumable(ctx, l.Job, shape, launch); err != nil {
		return err
	}
	return keepApart(l, launch)
}

// FailedPath is the folder, relative to the workdir, of the outputs that a launch left which did
// not complete.
func FailedPath(token string, launch int) string {
	return path.Join(".muster", "failed", LaunchName(token, launch))
}

// LaunchName names a launch of a token in files.
func LaunchName(token string, launch int) string { return token + "." + strconv.Itoa(launch) }

// keepApart moves the files that the launch before this one left at the output paths to the
// folder of that launch. A launch that resumes from a checkpoint continues with these files:
// a program appends to them.
func keepApart(l guard.Start, launch int) error {
	j := l.Job
	if !mayKeepApart(j, launch) || l.Before == "" {
		return nil
	}
	if j.Checkpoint.Path != "" {
		if all, err := checkpoints(j); err != nil || len(all) > 0 {
			return err
		}
	}
	var names, paths []string
	for _, o := range j.Outputs {
		if o.Shared || !verify.Stat(j.Workdir, o).Exists() || holdsOthers(j, o) {
			continue
		}
		files := []string{wrapper.OutputPath(j.Workdir, o)}
		if o.Kind == "glob" {
			if l.Unseen() {
				continue // any job may have written matching files
			}
			var err error
			if files, err = guard.Matches(j.Workdir, o.Path); err != nil {
				return fmt.Errorf("output %s: %w", o.Name, err)
			}
		}
		names, paths = append(names, fromWorkdir(j, o.Path)), append(paths, files...)
	}
	if len(paths) == 0 {
		return nil
	}
	return moveFailed(l, launch, names, paths)
}

// moveFailed records each move first: a queue that was killed meanwhile continues here.
func moveFailed(l guard.Start, launch int, names, paths []string) error {
	j := l.Job
	to := path.Join(".muster", "failed", l.Before)
	if n := len(names) - mostNotes; n > 0 {
		names = append(names[:mostNotes:mostNotes], units.Count(n, "other output"))
	}
	note := fmt.Sprintf("%s of the failed launch before it: moved to %s", strings.Join(names, ", "), to)
	r := prologueOf(j, launch)
	if !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
		if err := r.write(j, launch); err != nil {
			return err
		}
	}
	for _, p := range paths {
		if err := guard.Move(j.Workdir, filepath.Join(j.Workdir, filepath.FromSlash(to)), p); err != nil {
			return fmt.Errorf("%s was left by a failed launch, and could not be moved to %s: %w", fromWorkdir(j, p), to, err)
		}
	}
	return nil
}

// mayKeepApart reports whether a launch may find files of one before it.
func mayKeepApart(j *providers.Job, launch int) bool {
	return j.Guard != nil && !j.Smoke && (launch > 1 || j.Guard.Begun)
}

// holdsOthers reports whether an output is, or is above, a path that the job reads or shares.
func holdsOthers(j *providers.Job, o providers.Output) bool {
	if o.Kind == "glob" {
		return false
	}
	reads := []string{j.Workdir, j.Dir}
	for _, r := range j.Require {
		reads = append(reads, r.Path)
	}
	for _, in := range j.Inputs {
		reads = append(reads, in.Paths...)
	}
	for _, other := range j.Outputs {
		if other.Shared {
			reads = append(reads, other.Path)
		}
	}
	at := wrapper.OutputPath(j.Workdir, o)
	return slices.ContainsFunc(reads, func(p string) bool {
		p = filepath.Clean(InWorkdir(j.Workdir, p))
		return p == at || within(at, p)
	})
}

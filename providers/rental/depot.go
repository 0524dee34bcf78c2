package rental

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/tree"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A depot keeps on muster's machine the files that machines share: those pushed for jobs
// before there was a machine, and outputs, which outlive it. A path of a machine is the same
// path below the depot.
type depot struct {
	dir, home, workdir string
}

func (d depot) files() string { return filepath.Join(d.dir, "files") }

// there is a path as machines see it, absolute.
func (d depot) there(path string) string {
	switch {
	case path == "~":
		return d.home
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(d.home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(d.there(d.workdir), path)
}

// here is where the depot keeps the file of a path.
func (d depot) here(path string) string { return filepath.Join(d.files(), d.there(path)) }

// inside is where the depot keeps a file of an absolute path; one that is relative to a
// workdir stays so.
func (d depot) inside(path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return d.here(path)
	}
	return path
}

// back is the path on machines of a file of the depot.
func (d depot) back(path string) string {
	return "/" + strings.TrimPrefix(strings.TrimPrefix(path, d.files()), "/")
}

// origin is the file that is pushed on to machines for a path.
func (d depot) origin(path string) string {
	if _, packed := tree.Folder(path); packed {
		return filepath.Join(d.dir, "trees", d.there(path)+".packed")
	}
	return d.here(path)
}

// A pushed file goes to each machine before its first job.
type pushed struct {
	Path   string `json:"path"` // as machines see it
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// push keeps a file, and that machines want it.
func (d depot) push(path string, size int64, digest string, r io.ReadSeeker) error {
	if d.origin(path) != d.here(path) { // it does not stay where it is unpacked
		if err := machine.Push(d.origin(path), size, digest, r); err != nil {
			return err
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	if err := machine.Push(d.here(path), size, digest, r); err != nil {
		return err
	}
	all, err := d.pushes()
	if err != nil {
		return err
	}
	all[d.there(path)] = pushed{Path: d.there(path), Size: size, Digest: digest}
	return writeJSON(filepath.Join(d.dir, "pushed.json"), all)
}

func (d depot) pushes() (map[string]pushed, error) {
	all := map[string]pushed{}
	return all, readJSON(filepath.Join(d.dir, "pushed.json"), &all)
}

// verify looks at outputs in the depot. Its paths are those of machines.
func (d depot) verify(ctx context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	r.Workdir = d.here(r.Workdir)
	for i, o := range r.Outputs {
		if filepath.IsAbs(o.Path) || strings.HasPrefix(o.Path, "~") {
			r.Outputs[i].Path = d.here(o.Path)
		}
	}
	out, err := machine.Files{}.Verify(ctx, r)
	for i := range out {
		if strings.HasPrefix(out[i].Path, d.files()) {
			out[i].Path = d.back(out[i].Path)
		}
	}
	return out, err
}

// list resolves patterns to files of the depot, with the paths of machines.
func (d depot) list(patterns []string) ([]providers.FileInfo, error) {
	here := make([]string, len(patterns))
	for i, p := range patterns {
		here[i] = d.here(p)
	}
	out, err := machine.List(here)
	for i := range out {
		out[i].Path = d.back(out[i].Path)
	}
	return out, err
}

// begin moves the checkpoints of other work aside, so that no machine gets them for a job that
// begins from the start.
func (d depot) begin(j *providers.Job) error {
	if !j.Checkpoint.Fresh {
		return nil
	}
	paths, err := []string{d.here(j.Checkpoint.Path)}, error(nil)
	if j.Checkpoint.Glob {
		paths, err = guard.Matches(d.here(d.workdir), paths[0])
	}
	for _, p := range paths {
		err = errors.Join(err, guard.Move(d.here(d.workdir), d.here(guard.Folder(j)), p))
	}
	return err
}

// replacing is a job's guard as a machine gets it. The files that a person agreed to replace were
// seen here. A machine that has copies of them, with other times and inodes, moves those aside,
// as long as the file here is the one that was seen.
func (d depot) replacing(j *providers.Job) *offer.Guard {
	if j.Guard == nil || len(j.Guard.Replace) == 0 {
		return j.Guard
	}
	there := *j.Guard
	there.Results = slices.Clone(there.Results)
	for _, o := range j.Outputs {
		o.Path = d.inside(o.Path)
		now := verify.Stat(d.here(d.workdir), o)
		for _, seen := range j.Guard.Replace {
			path := seen.Path
			if seen.Path = now.Path; d.inside(path) == o.Path && seen.Unchanged(now) {
				seen.Path = path
				there.Results = append(there.Results, seen)
			}
		}
	}
	return &there
}

// remove moves files of the depot aside, or deletes them, and then renames.
func (d depot) remove(r providers.RemoveRequest) error {
	for _, p := range r.Paths {
		var err error
		if r.To == "" {
			err = os.RemoveAll(d.here(p))
		} else {
			err = guard.Move(d.here(d.workdir), d.here(r.To), d.here(p))
		}
		if err != nil {
			return err
		}
	}
	for _, n := range r.Renames {
		if err := guard.Rename(d.here(n.From), d.here(n.To)); err != nil {
			return err
		}
	}
	return nil
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o600)
}

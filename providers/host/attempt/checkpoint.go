package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// CheckpointMark identifies one state of a job's checkpoint; 0 = the job declares none, 1 =
// there is none yet.
func CheckpointMark(j *providers.Job) (mark int64) {
	if j.Checkpoint.Path == "" {
		return 0
	}
	paths, _ := checkpointPaths(j)
	for _, path := range paths {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil {
			mark = (mark*31 ^ st.Mtim.Nano() ^ int64(st.Ino)<<1 ^ st.Size<<40) | 2
		}
	}
	return cmp.Or(mark, 1)
}

// checkpointPaths are the paths of a job's checkpoints. muster's own files are none, and
// neither is a folder that holds others of the pattern.
func checkpointPaths(j *providers.Job) ([]string, error) {
	if !j.Checkpoint.Glob {
		return []string{InWorkdir(j.Workdir, j.Checkpoint.Path)}, nil
	}
	paths, err := guard.Matches(j.Workdir, j.Checkpoint.Path)
	paths = slices.DeleteFunc(paths, func(p string) bool { return !j.Smoke && guard.Muster(j.Workdir, p) || p == wrapper.CheckpointPath(j) })
	slices.Sort(paths)
	holds := map[string]bool{}
	for _, p := range paths {
		for dir := filepath.Dir(p); !holds[dir] && len(dir) > 1; dir = filepath.Dir(dir) {
			holds[dir] = true
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return holds[p] }), err
}

// A checkpoint is one of a job, at its path now.
type checkpoint struct {
	path string // absolute
	kind string // of the output that it is checked as
	link bool
	seen offer.Output
}

// checkpoints are those of a job, the newest first. An empty folder is none.
func checkpoints(j *providers.Job) (out []checkpoint, err error) {
	paths, err := checkpointPaths(j)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		at, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		c := checkpoint{path: path, link: err != nil || at.Mode()&os.ModeSymlink != 0}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			c.kind = "dir"
		}
		c.seen = verify.Stat(j.Workdir, providers.Output{Kind: c.kind, Path: path})
		if c.kind != "dir" || c.seen.Files > 0 {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b checkpoint) int {
		return cmp.Or(cmp.Compare(b.seen.MTime, a.seen.MTime), cmp.Compare(b.path, a.path))
	})
	return out, nil
}

// Resumable keeps a launch from resuming from a torn checkpoint: it opens the newest and, while
// they fail their checks, the one before it, and moves those that failed aside. The record and
// the log of the launch say so. One that has no verdict keeps the launch from starting, and
// nothing is moved: a missing program is no reason to begin from the start.
func Resumable(ctx context.Context, j *providers.Job, shape offer.Shape, launch int) error {
	if j.Checkpoint.Path == "" {
		return nil
	}
	if j.Checkpoint.Checked() {
		if err := moveAllTorn(ctx, j, shape, launch); err != nil {
			return err
		}
	}
	return takeStock(j, launch)
}

// moveAllTorn opens the checkpoints, the newest first, and moves aside those that fail.
func moveAllTorn(ctx context.Context, j *providers.Job, shape offer.Shape, launch int) error {
	all, err := checkpoints(j)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	next := "none is left, so the job begins from the start"
	var torn []checkpoint
	var notes []string
	for _, f := range all {
		path := fromWorkdir(j, f.path)
		found := opened(ctx, j, f, shape)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if found.Unverified || verify.NotRun(found) {
			return fmt.Errorf("checkpoint %s could not be verified (%s), so the job was not started and nothing was moved. "+
				"Make its verify work there, raise verify_timeout in the checkpoint block, or move the checkpoint away", path, found.Verdict)
		}
		if found.OK {
			next = "the job resumes from " + path
			break
		}
		torn = append(torn, f)
		notes = append(notes, fmt.Sprintf("checkpoint %s is torn (%s), and was moved below %s", path, found.Verdict, fromWorkdir(j, guard.Folder(j))))
	}
	if n := len(notes); n > mostNotes {
		notes = append(notes[:mostNotes], fmt.Sprintf("%d older checkpoints are torn, and were moved below %s", n-mostNotes, fromWorkdir(j, guard.Folder(j))))
	}
	if len(notes) > 0 {
		notes[len(notes)-1] += "; " + next
	}
	return moveTorn(j, launch, torn, notes)
}

// begin moves all checkpoints aside: they belong to other work, and the job begins from the start.
// The plan says so of the phase; the log of the launch says where they are.
func begin(j *providers.Job, launch int) error {
	all, err := checkpoints(j)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if len(all) == 0 {
		return nil
	}
	for _, c := range all {
		if err := guard.Aside(j, c.path); err != nil {
			return fmt.Errorf("checkpoint %s belongs to earlier work, and could not be moved aside: %w", fromWorkdir(j, c.path), err)
		}
	}
	r := prologueOf(j, launch)
	r.Mark = CheckpointMark(j)
	line := fmt.Sprintf("checkpoint %s belongs to earlier work: moved below %s, and the job begins from the start", fromWorkdir(j, all[0].path), fromWorkdir(j, guard.Folder(j)))
	return errors.Join(r.write(j, launch), log(j, launch, []string{line}))
}

// mostNotes is how many torn checkpoints a launch names.
const mostNotes = 9

// opened is the verdict of a checkpoint.
func opened(ctx context.Context, j *providers.Job, f checkpoint, shape offer.Shape) offer.Output {
	c := j.Checkpoint
	limit := c.VerifyTimeout
	if limit == 0 && shape.Walltime > 0 {
		limit = max(shape.Walltime/4, time.Minute)
	}
	task := verify.Task{Workdir: j.Workdir, Outputs: []providers.Output{{Name: offer.CheckpointName, Kind: f.kind, Path: f.path, MinSize: c.MinSize, Verify: c.Verify, VerifyTimeout: limit}}}
	return verifier.Run(ctx, task, verifier.Limits{CPUs: shape.CPUs, Umask: j.Umask}).Outputs[0]
}

// moveTorn moves checkpoints aside. It records each move first: a queue that was killed
// meanwhile continues here.
func moveTorn(j *providers.Job, launch int, torn []checkpoint, notes []string) error {
	r := prologueOf(j, launch)
	r.Notes = append(r.Notes, slices.DeleteFunc(slices.Clone(notes), func(n string) bool { return slices.Contains(r.Notes, n) })...)
	if len(r.Notes) == 0 {
		return nil
	}
	if err := r.write(j, launch); err != nil {
		return err
	}
	for _, f := range torn {
		if err := guard.Aside(j, f.path); err != nil {
			return fmt.Errorf("checkpoint %s is torn, and could not be moved aside: %w", fromWorkdir(j, f.path), err)
		}
	}
	r.Mark = CheckpointMark(j)
	return errors.Join(r.write(j, launch), log(j, launch, notes))
}

// fromWorkdir is a path as a person writes it: relative to the workdir where it is below it.
func fromWorkdir(j *providers.Job, path string) string {
	if rel, err := filepath.Rel(j.Workdir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return term.CleanLine(path)
}

// A prologue is the record of muster's changes to the checkpoints and outputs of a job before
// the command of a launch. It is a file beside the launch's logs, so that no output of the
// command is taken for it.
type prologue struct {
	Notes []string `json:"notes"`
	Mark  int64    `json:"mark"` // of the checkpoint that the command found
}

// ProloguePath is the path of a launch's prologue, which follows from the token alone.
func ProloguePath(workdir, token string, launch int) string {
	return strings.TrimSuffix(LogPath(workdir, token, launch, true), ".err") + ".checkpoint"
}

// prologueOf is that of a launch, as far as it is recorded.
func prologueOf(j *providers.Job, launch int) (r prologue) {
	b, err := os.ReadFile(ProloguePath(j.Workdir, j.Token, launch))
	if err != nil || json.Unmarshal(b, &r) != nil {
		return prologue{}
	}
	return r
}

func (r prologue) write(j *providers.Job, launch int) error {
	path := ProloguePath(j.Workdir, j.Token, launch)
	if err := MakeFolder(j, filepath.Dir(path)); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	b, err := json.Marshal(r)
	if err == nil {
		err = atomicfile.Write(path, b, 0o600)
	}
	return err
}

// ownLine begins a line of muster in a log.
const ownLine = "muster: "

// log writes lines of muster to the log of a launch.
func log(j *providers.Job, launch int, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	path := LogPath(j.Workdir, j.Token, launch, true)
	if err := MakeFolder(j, filepath.Dir(path)); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	_, err = io.WriteString(f, ownLine+strings.Join(lines, "\n"+ownLine)+"\n")
	return errors.Join(err, f.Close())
}

// Notes describe muster's changes to the checkpoints and outputs of a job before a launch, for
// a person.
func Notes(j *providers.Job, launch int) []string {
	if !j.Checkpoint.Checked() && j.Checkpoint.CopyTo == "" && !mayKeepApart(j, launch) {
		return nil
	}
	return prologueOf(j, launch).Notes
}

// Moved reports whether a launch has written its checkpoint. Mark is that of the checkpoint
// before anything was moved aside for the launch, 0 if the job has none.
func Moved(j *providers.Job, launch int, mark int64) bool {
	if mark == 0 {
		return false
	}
	if j.Checkpoint.Checked() || j.Checkpoint.CopyTo != "" || j.Checkpoint.Fresh {
		mark = cmp.Or(prologueOf(j, launch).Mark, mark)
	}
	return CheckpointMark(j) != mark
}

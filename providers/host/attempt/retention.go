package attempt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// A ledger records which checkpoints of a job are its own: those that appeared while a launch of
// it ran, and that nobody changed since. Only such a one is ever removed.
type ledger struct {
	Address string             `json:"address"`
	Launch  string             `json:"launch"` // the one that the record is about
	Own     map[string]version `json:"own,omitempty"`
	Others  []string           `json:"others,omitempty"` // there before the launch
}

// A version is one state of a checkpoint.
type version struct {
	Inode uint64 `json:"inode"`
	MTime int64  `json:"mtime"`
	Size  int64  `json:"size"`
}

func (c checkpoint) version() version {
	return version{Inode: c.seen.Inode, MTime: c.seen.MTime, Size: c.seen.Size}
}

func keeps(j *providers.Job) bool { return j.Checkpoint.Glob && j.Checkpoint.Keep > 0 && !j.Smoke }

// ledgerPath depends on a job's address, not on its token: a later launch may have
// another.
func ledgerPath(j *providers.Job) string {
	sum := sha256.Sum256([]byte(j.Address + "\x00" + InWorkdir(j.Workdir, j.Checkpoint.Path)))
	return filepath.Join(j.Workdir, ".muster", "checkpoints", hex.EncodeToString(sum[:16])+".json")
}

func ledgerOf(j *providers.Job) (l ledger) {
	b, err := os.ReadFile(ledgerPath(j))
	if err != nil || json.Unmarshal(b, &l) != nil || l.Address != j.Address {
		return ledger{}
	}
	return l
}

func (l ledger) write(j *providers.Job) error {
	if err := MakeFolder(j, filepath.Dir(ledgerPath(j))); err != nil {
		return fmt.Errorf("record of the checkpoints: %w", err)
	}
	b, err := json.Marshal(l)
	if err == nil {
		err = atomicfile.Write(ledgerPath(j), b, 0o600)
	}
	return err
}

// takeStock records, before a launch, which checkpoints are the job's own. Where the newest has
// passed its checks, older ones than the job keeps are removed.
func takeStock(j *providers.Job, launch int) error {
	if !keeps(j) {
		return nil
	}
	all, err := checkpoints(j)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	last := ledgerOf(j)
	now := ledger{Address: j.Address, Launch: LaunchName(j.Token, launch), Own: map[string]version{}}
	var own []checkpoint
	for _, c := range all {
		if v, ok := last.Own[c.path]; ok && v == c.version() {
			own, now.Own[c.path] = append(own, c), v
		} else {
			now.Others = append(now.Others, c.path)
		}
	}
	if err := now.write(j); err != nil || !j.Checkpoint.Checked() {
		return err
	}
	removed := retain(j, own, all)
	if len(removed) == 0 {
		return nil
	}
	r := prologueOf(j, launch)
	r.Mark = CheckpointMark(j)
	return errors.Join(r.write(j, launch), log(j, launch, removed))
}

// Tidy ends a launch for the files that a job leaves beside its outputs, its logs among them.
func Tidy(j *providers.Job, launch int, done bool) error {
	err := errors.Join(shortenLogs(j, launch), retainCheckpoints(j, launch, done))
	if !done {
		return err
	}
	return errors.Join(err, discard(j, launch))
}

// retainCheckpoints ends a launch for its checkpoints: those that appeared while it ran are the job's own.
// Of a job that is done, older ones than it keeps are removed; of any other, the newest may be
// torn, and all stay.
func retainCheckpoints(j *providers.Job, launch int, done bool) error {
	if !keeps(j) {
		return nil
	}
	l := ledgerOf(j)
	if l.Launch != LaunchName(j.Token, launch) {
		return nil // no record says which checkpoints this launch found
	}
	all, err := checkpoints(j)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(all), func(c checkpoint) bool { return c.link || slices.Contains(l.Others, c.path) })
	l.Own = map[string]version{}
	for _, c := range own {
		l.Own[c.path] = c.version()
	}
	if err := l.write(j); err != nil || !done {
		return err
	}
	return log(j, launch, retain(j, own, all))
}

// retain removes the oldest of a job's own checkpoints, beyond those that it keeps, and says so.
// Outputs of the job stay, as do targets of links among all its checkpoints, and the best by a
// metric.
func retain(j *providers.Job, own, all []checkpoint) (said []string) {
	linked := map[string]bool{}
	for _, c := range all {
		if to, err := filepath.EvalSymlinks(c.path); c.link && err == nil {
			linked[to] = true
		}
	}
	own = slices.DeleteFunc(slices.Clone(own), func(c checkpoint) bool {
		at, err := filepath.EvalSymlinks(c.path)
		return err != nil || linked[at] || isOutput(j, c.path)
	})
	old := own[min(j.Checkpoint.Keep, len(own)):]
	if len(old) == 0 {
		return nil
	}
	best, why := bests(j, own)
	if why != "" {
		return []string{why}
	}
	for _, c := range old {
		if best[c.path] {
			continue
		}
		text := fmt.Sprintf("checkpoint %s was removed (keep = %d)", fromWorkdir(j, c.path), j.Checkpoint.Keep)
		if err := os.RemoveAll(c.path); err != nil {
			text = fmt.Sprintf("checkpoint %s could not be removed: %s", fromWorkdir(j, c.path), err)
		}
		said = append(said, text)
	}
	return said
}

// bests are the paths of the checkpoints with the best values in their names. why says which
// metric no name has: then none is known to be worse than another.
func bests(j *providers.Job, own []checkpoint) (paths map[string]bool, why string) {
	paths = map[string]bool{}
	for _, by := range []struct {
		metric, attr string
		sign         float64
	}{{j.Checkpoint.KeepLowest, "keep_lowest", 1}, {j.Checkpoint.KeepHighest, "keep_highest", -1}} {
		if by.metric == "" {
			continue
		}
		best, least := "", math.Inf(1)
		for _, c := range own {
			if v, ok := valueIn(fromWorkdir(j, c.path), by.metric); ok && (best == "" || by.sign*v < least) {
				best, least = c.path, by.sign*v
			}
		}
		if best == "" {
			return nil, fmt.Sprintf("no checkpoint was removed: none has %s=NUMBER in its name (%s)", by.metric, by.attr)
		}
		paths[best] = true
	}
	return paths, ""
}

// valueIn is the number after NAME= in a path, the last where there are several.
func valueIn(path, name string) (v float64, ok bool) {
	re := regexp.MustCompile(`(?:^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `=([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)`)
	all := re.FindAllStringSubmatch(path, -1)
	if len(all) == 0 {
		return 0, false
	}
	v, err := strconv.ParseFloat(all[len(all)-1][1], 64)
	return v, err == nil
}

// isOutput reports whether a path is an output of a job, holds one or is in one.
func isOutput(j *providers.Job, path string) bool {
	return slices.ContainsFunc(j.Outputs, func(o providers.Output) bool {
		paths := []string{InWorkdir(j.Workdir, o.Path)}
		if o.Kind == "glob" {
			paths, _ = guard.Matches(j.Workdir, o.Path)
		}
		return slices.ContainsFunc(paths, func(p string) bool {
			return p == path || within(path, p) || within(p, path)
		})
	})
}

// within reports whether a path is below a folder.
func within(folder, path string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

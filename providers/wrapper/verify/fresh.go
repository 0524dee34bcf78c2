package verify

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Mark is the state of a file before the first attempt of a result hash. For a glob or a dir
// it covers the set. Times are nanoseconds.
type Mark struct {
	Exists bool   `json:"exists,omitempty"`
	Inode  uint64 `json:"inode,omitempty"` // for a set: a fold of its members
	Size   int64  `json:"size,omitempty"`  // bytes; for a set their sum
	MTime  int64  `json:"mtime,omitempty"` // for a set the latest
	CTime  int64  `json:"ctime,omitempty"` // for a set the latest
}

// A Baseline is the marks of a job's declared outputs that existed before, by output name. An
// output without a mark did not exist.
type Baseline map[string]Mark

// tick is the longest time within which a kernel may give two changes of a file the same
// timestamp: one period of a 100 Hz clock.
const tick = 10 * time.Millisecond

// Take records the baseline of a job's outputs. Metrics are read from
// outputs, so that their files are among them. If an output was written this
// very moment, Take waits for the filesystem's clock to tick, so that the
// job's own writing cannot bear the same timestamp.
func Take(workdir string, outputs []providers.Output) Baseline {
	b := Baseline{}
	var latest int64
	for _, o := range outputs {
		if m := look(workdir, o); m.Exists {
			b[o.Name] = m
			latest = max(latest, m.CTime)
		}
	}
	if age := time.Since(time.Unix(0, latest)); latest > 0 && age < tick {
		time.Sleep(min(tick-age, tick)) // one in the future comes from another clock and says nothing
	}
	return b
}

// Fresh reports whether an output exists and differs from the baseline (or need not exist, and
// does not), else why not. It compares and reads no clock.
func (b Baseline) Fresh(workdir string, o providers.Output) (ok bool, why string) {
	now := look(workdir, o)
	switch before, was := b[o.Name]; {
	case !now.Exists && mayLack(o):
		return true, ""
	case !now.Exists:
		return false, lacking(workdir, o)
	case was && now == before:
		return false, "stale: it is as it was before the job began; the job did not write it"
	}
	return true, ""
}

// lacking says why an output is missing, and what else is at its path.
func lacking(workdir string, o providers.Output) string {
	_, err := os.Lstat(join(workdir, o.Path))
	if v := Stat(workdir, o).Verdict; v != noMatch && !(errors.Is(err, fs.ErrNotExist) && o.Kind != "glob") {
		return v
	}
	return "missing: it was not written"
}

// look takes the mark of an output as it is now.
func look(workdir string, o providers.Output) Mark {
	if isSet(o) {
		_, _, _, m := statSet(workdir, o)
		return m
	}
	info, err := os.Stat(join(workdir, o.Path))
	if err != nil || !info.Mode().IsRegular() {
		return Mark{}
	}
	return markOf(info)
}

// Stat looks at an output without opening it: size, mtime, inode, and for a set the number of
// files. OK says only that it exists. Something else than declared has a time and an inode all
// the same; where it is at the path of a glob's folder, Path is that.
func Stat(workdir string, o providers.Output) offer.Output {
	if isSet(o) {
		out, _, _, _ := statSet(workdir, o)
		switch {
		case out.Files > 0 || out.Inode != 0:
		case o.Kind == "dir":
			return other(workdir, o, out)
		default:
			return inTheWay(workdir, o, out)
		}
		return out
	}
	out := offer.Output{Name: o.Name, Path: o.Path}
	path := join(workdir, o.Path)
	info, err := os.Stat(path)
	if err != nil {
		return other(workdir, o, refuse(out, absent(path, err)))
	}
	if err := regular(path, info); err != nil {
		out.Present = true
		return other(workdir, o, refuse(out, err))
	}
	m := markOf(info)
	m.fill(&out)
	if err := sizes(o, m.Size); err != nil {
		return refuse(out, err)
	}
	out.OK, out.Verdict = true, "there, not opened"
	return out
}

// inTheWay adds the path and the mark of a file at the path of a glob's folder, in which the job
// could write nothing.
func inTheWay(workdir string, o providers.Output, out offer.Output) offer.Output {
	head, _ := doublestar.SplitPattern(filepath.ToSlash(o.Path))
	path := join(workdir, filepath.FromSlash(head))
	info, err := os.Stat(path)
	if err != nil { // a link that leads nowhere is in the way, too
		info, err = os.Lstat(path)
	}
	if err != nil || info.IsDir() {
		return out
	}
	out.Path = filepath.FromSlash(head)
	markOf(info).fill(&out)
	return refuse(out, notFolderMode(info.Mode()))
}

// other adds the mark of a path that has something else than the declared output: a broken
// link, a pipe, a folder in place of a file.
func other(workdir string, o providers.Output, out offer.Output) offer.Output {
	info, err := os.Lstat(join(workdir, o.Path))
	if err != nil || o.Kind == "dir" && info.IsDir() {
		return out
	}
	m := markOf(info)
	out.MTime, out.Inode = m.MTime, m.Inode
	return out
}

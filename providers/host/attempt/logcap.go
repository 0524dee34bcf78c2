package attempt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
)

// A logCap is how large a log may become: its head and its latest lines stay.
type logCap struct{ most, head int64 } // bytes

// logs are capped one by one: standard output and standard error of each launch.
var logs = logCap{most: 256 << 20, head: 16 << 20}

// CapEvery is the pause between two calls of CapLogs for a running job.
const CapEvery = 10 * time.Second

// CapLogs gives the disk space of the excess in a running job's logs back to the file
// system, where that is possible: the job goes on writing to the same files.
func CapLogs(j *providers.Job, launch int) {
	for _, stderr := range []bool{false, true} {
		logs.punch(LogPath(j.Workdir, j.Token, launch, stderr))
	}
}

// shortenLogs ends a launch for its logs.
func shortenLogs(j *providers.Job, launch int) error {
	return errors.Join(logs.shorten(LogPath(j.Workdir, j.Token, launch, false)), logs.shorten(LogPath(j.Workdir, j.Token, launch, true)))
}

// punch makes a hole between the head and the latest lines. If it fails, it is tried again
// later, or done when the job has ended.
func (c logCap) punch(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) == nil && st.Size > c.most && st.Blocks*512 > c.most {
		punchHole(f, c.head, st.Size-c.most)
	}
}

// shorten rewrites a log that is too large: its head, a line that says what is missing, and its
// last lines. It leaves the log as it is if there is no room.
func (c logCap) shorten(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // none was written
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() <= c.most {
		return err
	}
	short, err := os.CreateTemp(filepath.Dir(path), ".muster-log-*")
	if err != nil {
		return whole(path, err)
	}
	defer os.Remove(short.Name())
	g := around(f, c.head, fi.Size()-(c.most-c.head))
	err = g.copy(short, f)
	if err == nil {
		_, err = io.Copy(short, io.NewSectionReader(f, g.to, 1<<62))
	}
	if err = errors.Join(err, short.Chmod(fi.Mode().Perm()), short.Close()); err == nil {
		err = os.Rename(short.Name(), path)
	}
	if err != nil {
		return whole(path, err)
	}
	return nil
}

// whole says that a log keeps all its lines, and why.
func whole(path string, err error) error {
	return fmt.Errorf("%s has more than %s and is not shortened: %w; delete it if you do not need it", path, units.FormatSize(logs.most), err)
}

// A gap is the part of a log that is left out, from the end of a line to the end of
// another.
type gap struct{ from, to int64 }

// copy writes the log up to the gap, and what the gap is.
func (g gap) copy(w io.Writer, f io.ReaderAt) error {
	_, err := io.Copy(w, io.NewSectionReader(f, 0, g.from))
	if err == nil {
		err = g.say(w)
	}
	return err
}

func (g gap) say(w io.Writer) error {
	_, err := fmt.Fprintf(w, "muster: %s of this log are left out here: it had more than %s\n", units.FormatSize(g.to-g.from), units.FormatSize(logs.most))
	return err
}

// around moves a gap to the ends of lines near it.
func around(f io.ReaderAt, from, to int64) gap {
	const near = 64 << 10
	g := gap{from, to}
	part := make([]byte, min(near, from))
	if n, _ := f.ReadAt(part, from-int64(len(part))); n > 0 {
		if i := bytes.LastIndexByte(part[:n], '\n'); i >= 0 {
			g.from = from - int64(len(part)) + int64(i) + 1
		}
	}
	part = make([]byte, near)
	n, _ := f.ReadAt(part, to)
	if i := bytes.IndexByte(part[:n], '\n'); i >= 0 {
		g.to = to + int64(i) + 1
	}
	return g
}

// gapIn is the hole in the log of a running job at an offset or after it; false without one.
func gapIn(f *os.File, at int64) (g gap, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Size < logs.most || st.Blocks*512 >= st.Size {
		return gap{}, false
	}
	hole, err := unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE)
	if err != nil || hole >= st.Size {
		return gap{}, false
	}
	data, err := unix.Seek(int(f.Fd()), hole, unix.SEEK_DATA)
	if err != nil {
		return gap{}, false
	}
	g = around(f, hole, data)
	g.from = max(g.from, at)
	return g, true
}

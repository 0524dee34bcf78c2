package attempt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
)

// A Watcher follows an attempt's output, and how long it has been silent. One goroutine uses
// it.
type Watcher struct {
	job      *providers.Job
	patterns []*regexp.Regexp
	ready    *regexp.Regexp // nil once a line matched
	began    time.Time
	streams  [2]logStream
	mark     int64     // of the checkpoint, when it last moved
	moved    time.Time // when the attempt last printed something or moved its checkpoint
	busy     cpuTime   // of its processes, half of the allowed silence later
	stalled  bool      // Stalled has reported the present silence
}

// LookEvery is the pause between two looks at logs.
const LookEvery = time.Second

// gpuWait is how long a report that an attempt has stalled waits for a reading of its GPUs:
// nvidia-smi needs seconds on a busy machine, and where the driver is not kept loaded.
const gpuWait = 10 * time.Second

// NewWatcher watches an attempt from the beginning of its log on.
func NewWatcher(j *providers.Job, attempt int, now time.Time) *Watcher {
	w := &Watcher{job: j, mark: CheckpointMark(j), moved: now, began: now}
	for _, p := range j.Watch.Forbid {
		if re, err := regexp.Compile(p); err == nil { // the campaign was checked where it was read
			w.patterns = append(w.patterns, re)
		}
	}
	if re, err := regexp.Compile(j.Watch.Ready); err == nil && j.Watch.Ready != "" {
		w.ready = re
	}
	for i := range w.streams {
		w.streams[i].path = LogPath(j.Workdir, j.Token, attempt, i == 1)
	}
	return w
}

// Look reads new output, and returns the first forbidden line, else "". An unfinished line
// counts once it has not grown between two looks, so that half a word is no match.
func (w *Watcher) Look(now time.Time) (forbidden string) {
	grown := false
	for i := range w.streams {
		line, more := w.streams[i].read(w.reads(), false)
		grown = grown || more
		if forbidden == "" {
			forbidden = line
		}
	}
	if mark := CheckpointMark(w.job); mark != w.mark {
		w.mark, grown = mark, true
	}
	if grown {
		w.moved, w.busy, w.stalled = now, cpuTime{}, false
	}
	return forbidden
}

// reads is the check of each line: it returns a forbidden one, else "". It is nil without
// patterns.
func (w *Watcher) reads() func(line []byte) string {
	if len(w.patterns) == 0 && w.ready == nil {
		return nil
	}
	return func(line []byte) string {
		if bytes.IndexByte(line, 0x1b) >= 0 {
			line = escape.ReplaceAll(line, nil)
		}
		if w.ready != nil && w.ready.Match(line) {
			w.ready = nil
		}
		return match(line, w.patterns)
	}
}

// Stalled reports that no line of the job's log matched `ready` in time, or a silence that is as
// long as the watch block allows, with the work of the processes and the GPUs meanwhile; else "".
// gpus is the percentage for which each GPU of the attempt was busy when it was last read, nil
// where that is unknown or was not within a duration; soon means that a reading is under way. A
// reading has half of the silence, and gpuWait after it.
func (w *Watcher) Stalled(now time.Time, pids func() []int, gpus func(within time.Duration) (percent []int, soon bool)) string {
	limit, silent := w.job.Watch.StalledAfter, now.Sub(w.moved)
	if limit > 0 && silent >= limit/2 && w.busy.at.IsZero() {
		w.busy = cpuTimeOf(pids(), now)
	}
	var percent []int
	var soon bool
	if limit > 0 && silent >= limit/2 {
		percent, soon = gpus(silent)
	}
	if within := w.job.Watch.ReadyWithin; w.ready != nil && now.Sub(w.began) >= within {
		return fmt.Sprintf("stalled: no line matches %q within %s", w.job.Watch.Ready, units.FormatDuration(within))
	}
	if limit <= 0 || silent < limit || soon && !w.stalled && silent < limit+gpuWait {
		return ""
	}
	w.stalled = true
	what := "no output"
	if w.job.Checkpoint.Path != "" {
		what = "no output and no checkpoint"
	}
	text := fmt.Sprintf("stalled: %s for %s", what, units.FormatDuration(silent.Round(time.Second)))
	var work []string
	if cores, ok := cpuTimeOf(pids(), now).since(w.busy); ok {
		work = append(work, "its processes kept "+coresText(cores)+" busy")
	}
	if len(percent) > 0 {
		work = append(work, gpuText(percent))
	}
	if len(work) > 0 {
		text += "; " + strings.Join(work, ", ")
	}
	return text
}

func coresText(n float64) string {
	text := fmt.Sprintf("%.2g", n)
	if text == "1" {
		return "1 core"
	}
	return text + " cores"
}

func gpuText(percent []int) string {
	lo, hi := slices.Min(percent), slices.Max(percent)
	switch {
	case len(percent) == 1:
		return fmt.Sprintf("GPU %d %% busy", hi)
	case lo == hi:
		return fmt.Sprintf("GPUs %d %% busy", hi)
	}
	return fmt.Sprintf("GPUs %d–%d %% busy", lo, hi)
}

// Forbidden is the first line in the log of an attempt that has ended which its
// watch block forbids, else "".
func Forbidden(j *providers.Job, attempt int) string {
	if len(j.Watch.Forbid) == 0 {
		return ""
	}
	w := NewWatcher(j, attempt, time.Time{})
	for i := range w.streams {
		if line, _ := w.streams[i].read(w.reads(), true); line != "" {
			return line
		}
	}
	return ""
}

// A stream is one of the two logs, as far as it has been read.
type logStream struct {
	path  string
	at    int64
	rest  []byte // of the line that is not finished
	quiet bool   // rest was matched
}

// longestLine bounds a line. A longer one is matched in pieces, each of which begins with the
// end of the one before.
const (
	longestLine = 64 << 10
	overlap     = 1 << 10
)

// read matches new output; ended means that no more comes.
func (s *logStream) read(look func(line []byte) string, ended bool) (forbidden string, grown bool) {
	f, err := os.Open(s.path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	buf := make([]byte, longestLine)
	for forbidden == "" {
		n, err := f.ReadAt(buf, s.at)
		s.at += int64(n)
		if n > 0 {
			grown = true
			forbidden = s.take(buf[:n], look)
		}
		if err != nil || n == 0 {
			if err != nil && err != io.EOF {
				return forbidden, grown
			}
			break
		}
	}
	if look != nil && forbidden == "" && len(s.rest) > 0 && !s.quiet && (ended || !grown) {
		forbidden, s.quiet = look(s.rest), true
	}
	return forbidden, grown
}

// take cuts new output into lines. A progress bar ends its lines with a carriage return.
func (s *logStream) take(b []byte, look func(line []byte) string) string {
	if look == nil {
		s.rest = nil
		return ""
	}
	s.quiet = false
	for {
		i := bytes.IndexAny(b, "\n\r")
		if i < 0 {
			break
		}
		s.rest = append(s.rest, b[:i]...)
		line := look(s.rest)
		s.rest, b = s.rest[:0], b[i+1:]
		if line != "" {
			return line
		}
	}
	s.rest = append(s.rest, b...)
	for len(s.rest) > longestLine {
		if line := look(s.rest[:longestLine]); line != "" {
			return line
		}
		s.rest = slices.Delete(s.rest, 0, longestLine-overlap)
	}
	return ""
}

// escape is a terminal's control sequence (ECMA-48, 5.4): a colour would join a letter to the
// next word.
var escape = lazyregexp.New("\x1b\\[[0-9;?]*[ -/]*[@-~]")

func match(line []byte, patterns []*regexp.Regexp) string {
	for _, re := range patterns {
		loc := re.FindIndex(line)
		if loc == nil {
			continue
		}
		if len(line) <= lineBytes {
			return strings.ToValidUTF8(string(line), "�")
		}
		from := max(0, min(loc[0]-lineBytes/4, len(line)-lineBytes))
		return strings.ToValidUTF8(string(line[from:from+lineBytes]), "�")
	}
	return ""
}

// cpuTime is the processor time of processes up to a moment.
type cpuTime struct {
	at   time.Time
	used time.Duration
	seen bool // the kernel reported it for one of them
}

// clockTick is the unit of utime and stime: proc(5), sysconf(_SC_CLK_TCK), 100
// on every Linux.
const clockTick = time.Second / 100

func cpuTimeOf(pids []int, now time.Time) cpuTime {
	c := cpuTime{at: now}
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		// proc(5): the name in parentheses may hold anything; utime and stime are
		// the 12th and 13th field after it.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		for i := 11; i <= 12 && i < len(fields); i++ {
			ticks, _ := strconv.ParseInt(fields[i], 10, 64)
			c.used, c.seen = c.used+time.Duration(ticks)*clockTick, true
		}
	}
	return c
}

// since is how many cores were busy since an earlier moment; false where that is unknown, as
// after a counted process has ended.
func (c cpuTime) since(before cpuTime) (cores float64, ok bool) {
	took := c.at.Sub(before.at)
	if took <= 0 || c.used < before.used || !c.seen || !before.seen {
		return 0, false
	}
	return float64(c.used-before.used) / float64(took), true
}

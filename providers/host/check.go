package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A check is an attempt whose process is gone, on its way to a verdict.
type check struct {
	job     *job
	spec    *providers.Job
	attempt int
	restart int
	launch  launch
	folder  wrapper.Folder
	proc    process
	marks   verify.Baseline

	waited    bool // status and usage are the kernel's word
	status    unix.WaitStatus
	usage     unix.Rusage
	expired   bool
	rebooted  bool
	cancelled bool
	oomKill   int64
	done      bool // run has been called
	booked    bool // its core is still its own
	lingered  bool // its group has been looked after

	obs     offer.Observation
	verdict failure.Verdict
	moved   bool // the checkpoint moved
	// unclaimed says that nothing ran: the start may be repeated.
	unclaimed bool
	// holder is another process that claimed the token first.
	holder process
}

func (q *queue) newCheck(j *job) *check {
	c := &check{job: j, spec: &j.spec, attempt: j.attempt(), restart: j.Restart, launch: *j.Launch, folder: wrapper.Folder(q.folder(j)),
		proc: process{PID: j.pid()}, marks: q.bases.get(baseKey(j)), expired: j.expired, cancelled: j.cancels, oomKill: j.oomKill}
	c.obs = q.observe(j)
	return c
}

// checkOf is the check of a start; it needs nothing of the job's own.
func (q *queue) checkOf(s *start) *check {
	return &check{job: s.job, spec: s.spec, attempt: s.attempt, restart: s.restart, launch: s.launch, folder: s.folder, oomKill: s.oomKill, obs: s.obs}
}

// light reports whether the check of an attempt is quickly done: a few small
// files.
func (c *check) light() bool {
	if len(c.spec.Outputs) > maxLightFiles {
		return false
	}
	for _, o := range c.spec.Outputs {
		if o.Kind != "path" && o.Kind != "" {
			return false
		}
		for _, v := range o.Verify {
			if v.Kind == "command" || v.Kind == "sha256" {
				return false
			}
		}
		fi, err := os.Lstat(inWorkdir(c.spec.Workdir, o.Path))
		if err == nil && (fi.Size() > maxLightSize || !fi.Mode().IsRegular()) {
			return false
		}
	}
	return true
}

// What counts as a light check.
const (
	maxLightFiles = 4
	maxLightSize  = 256 << 10 // bytes of one file
)

func (q *queue) checker(ctx context.Context) {
	for {
		select {
		case c := <-q.checks:
			if !c.lingered && !c.rebooted && !c.quiet() {
				go q.settleGroup(ctx, c)
				continue
			}
			c.run(ctx)
			q.post(ctx, func() { q.checked(c) })
		case <-ctx.Done():
			return
		}
	}
}

// quiet reports whether nothing of the job's session is left.
func (c *check) quiet() bool { return c.proc.PID <= 1 || groupGone(c.proc.PID) }

// checked takes a verdict in.
func (q *queue) checked(c *check) {
	q.busy--
	j := c.job
	switch {
	case c.holder.PID != 0:
		q.rebook(c)
		j.Status, j.proc = offer.Running, c.holder
		q.adoptOne(j)
	case c.unclaimed && !j.cancels && j.tries < maxTries:
		q.rebook(c)
		j.Status = offer.Running
		q.live[j] = true
		s := q.newStart(j)
		s.again = true
		time.AfterFunc(repeatDelay<<min(j.tries, 6), func() { q.ops <- func() { q.due = append(q.due, s) } })
		j.tries++
	default:
		q.finish(c)
	}
}

// rebook takes back what was given up for an attempt that goes on.
func (q *queue) rebook(c *check) {
	if !c.booked {
		q.book(c.job, 1)
	}
}

// A start that did not come to a claim is repeated, with growing pauses.
const (
	repeatDelay = 50 * time.Millisecond
	maxTries    = 20
)

// run finds out how the attempt ended.
func (c *check) run(ctx context.Context) {
	rec, err := c.record()
	switch {
	case !c.rebooted && (errors.Is(err, os.ErrNotExist) || err == nil && (rec.PID == 0 || rec.Launch != c.launch.ID)) && c.bare():
		// No claim: the command has not run. The folder stays if another
		// wrapper may still come to it, so that the record decides.
		if rec.Torn || rec.PID != 0 {
			os.RemoveAll(string(c.folder))
		}
		c.unclaimed = true
		c.obs.Ended = time.Now()
		c.verdict = failure.Verdict{Class: failure.Unknown, Signature: "no claim", Line: "the job's wrapper cannot claim its token; is the spool's disk full?"}
		return
	case err == nil && rec.PID != c.proc.PID && rec.Exit == nil && !c.rebooted:
		if p := (process{PID: rec.PID}); holds(p.PID, c.spec.Token, c.restart) {
			p.Start, _ = startTime(p.PID)
			c.holder = p
			return
		}
	}
	if rec.PID != c.proc.PID {
		c.waited = false // what was waited for was a start that came too late
	}
	for _, d := range rec.Duplicates {
		if d != c.launch.ID {
			c.obs.Duplicate = d
		}
	}
	ev := c.evidence(rec)
	if ev.Exit != nil && *ev.Exit == 0 && ev.Signal == "" && !c.cancelled {
		ev.Outputs = c.verify(ctx)
	}
	c.tail(&ev)
	rules, _ := failure.Compile(c.spec.Rules)
	c.verdict = rules.Classify(ev)
	c.moved = c.launch.Checkpoint != 0 && checkpointMark(c.job) != c.launch.Checkpoint
	c.obs.Exit, c.obs.Signal = ev.Exit, ev.Signal
	c.obs.Usage = c.used()
	if c.verdict.Class != "" && c.verdict.Hint != "" {
		c.obs.Reason = c.verdict.Hint
	}
}

// record is what the wrapper wrote down. A child that exited by itself has
// said the same with its status.
func (c *check) record() (wrapper.Record, error) {
	if c.waited && c.status.Exited() && c.status.ExitStatus() != unclaimedExit {
		code := c.status.ExitStatus()
		return wrapper.Record{PID: c.proc.PID, Launch: c.launch.ID, Exit: &code}, nil
	}
	return wrapper.ReadRecord(c.folder.Record())
}

// unclaimedExit is what the wrapper exits with when it has no claim.
const unclaimedExit = 97

// bare reports whether a start that left no claim may be repeated: not if
// the shell itself said that it cannot run.
func (c *check) bare() bool {
	return !c.waited || c.status.Signaled() || c.status.ExitStatus() == unclaimedExit
}

// evidence puts together how the process ended.
func (c *check) evidence(rec wrapper.Record) failure.Evidence {
	ev := failure.Evidence{Exit: rec.Exit, OOMKills: -1, HostOOMKills: -1, WalltimeHit: c.expired, Rebooted: c.rebooted && rec.Exit == nil,
		GPUs: len(c.launch.GPUs) > 0}
	c.obs.Ended = rec.Ended
	if c.waited {
		c.obs.Ended = c.obs.Started.Add(uptime() - time.Duration(c.launch.Up))
	}
	if c.obs.Ended.IsZero() {
		c.obs.Ended = time.Now()
	}
	if c.obs.Ended.Before(c.obs.Started) {
		c.obs.Ended = c.obs.Started
	}
	if rec.Exit == nil && c.waited {
		if c.status.Signaled() {
			ev.Signal = strings.TrimPrefix(unix.SignalName(c.status.Signal()), "SIG")
		} else {
			code := c.status.ExitStatus()
			ev.Exit = &code
		}
	}
	if ev.Exit != nil && *ev.Exit > 128 && *ev.Exit <= 128+64 {
		ev.Signal = strings.TrimPrefix(unix.SignalName(unix.Signal(*ev.Exit-128)), "SIG")
	}
	if c.oomKill >= 0 && ev.Signal == "KILL" {
		ev.HostOOMKills = hostOOMKills() - c.oomKill
	}
	return ev
}

// verify opens the declared outputs; the text says what is wrong with them.
func (c *check) verify(ctx context.Context) string {
	var wrong []string
	for _, o := range c.spec.Outputs {
		var found offer.Output
		if fresh, why := c.marks.Fresh(c.spec.Workdir, o); !fresh {
			found = verify.Stat(c.spec.Workdir, o)
			found.OK, found.Verdict = false, why
		} else {
			found = verify.Check(ctx, c.spec.Workdir, o)
		}
		if !found.OK {
			wrong = append(wrong, fmt.Sprintf("output %s: %s", o.Name, found.Verdict))
		}
		c.obs.Outputs = append(c.obs.Outputs, found)
	}
	if len(c.spec.Metrics) > 0 && len(wrong) == 0 {
		c.metrics()
	}
	return strings.Join(wrong, "; ")
}

// metrics reads values from outputs that passed.
func (c *check) metrics() {
	c.obs.Metrics = make(map[string]offer.Metric, len(c.spec.Metrics))
	for _, m := range c.spec.Metrics {
		for i, o := range c.spec.Outputs {
			if o.Name == m.Output {
				c.obs.Metrics[m.Name] = verify.ReadMetric(m, c.obs.Outputs[i], inWorkdir(c.spec.Workdir, o.Path))
			}
		}
	}
}

// tailLines is how many lines of a failed job's log go with its event.
const tailLines = 20

// tail reads the ends of both streams of an attempt that did not end well.
func (c *check) tail(ev *failure.Evidence) {
	if ev.Exit != nil && *ev.Exit == 0 && ev.Signal == "" && ev.Outputs == "" && !c.cancelled {
		return
	}
	out := readTail(logPath(c.spec.Workdir, c.spec.Token, c.attempt, false), failure.TailSize/2)
	errs := readTail(logPath(c.spec.Workdir, c.spec.Token, c.attempt, true), failure.TailSize/2)
	ev.Tail = append(append(out, '\n'), errs...)
	ev.Tail = bytes.TrimPrefix(ev.Tail, []byte("\n"))
	shown := errs
	if len(bytes.TrimSpace(errs)) == 0 {
		shown = out
	}
	c.obs.Tail = lastLines(shown, tailLines)
	if ev.Outputs != "" {
		c.obs.Tail = append(c.obs.Tail, ev.Outputs)
	}
}

// readTail is the last n bytes of a file, from the start of a line on.
func readTail(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(fi.Size()-n, 0)
	b, _ := io.ReadAll(io.NewSectionReader(f, from, n))
	if from > 0 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return b
}

// lineBytes bounds a line that goes with an event.
const lineBytes = 400

func lastLines(b []byte, n int) []string {
	lines := strings.Split(strings.TrimRight(string(b), "\n\r \t"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	for i, l := range lines {
		if len(l) > lineBytes {
			l = l[:lineBytes] + "…"
		}
		lines[i] = strings.ToValidUTF8(l, "�")
	}
	return lines
}

// used is what the attempt used, as far as it can be known.
func (c *check) used() *offer.Usage {
	u := &offer.Usage{Elapsed: c.obs.Ended.Sub(c.obs.Started), CPU: -1, MaxRSS: -1, GPUMaxMem: -1}
	if c.waited {
		u.CPU = time.Duration(c.usage.Utime.Nano() + c.usage.Stime.Nano())
		u.MaxRSS = c.usage.Maxrss << 10 // getrusage(2): kilobytes
	}
	u.GPUSeconds = float64(len(c.launch.GPUs)) * u.Elapsed.Seconds()
	return u
}

// checkpointMark tells one state of a job's checkpoint from another; 0 = the
// job has none declared, 1 = none is there yet.
func checkpointMark(j *job) int64 {
	if j.spec.Checkpoint.Path == "" {
		return 0
	}
	var st unix.Stat_t
	if err := unix.Stat(inWorkdir(j.spec.Workdir, j.spec.Checkpoint.Path), &st); err != nil {
		return 1
	}
	return st.Mtim.Nano() ^ int64(st.Ino)<<1 ^ st.Size<<40 | 2
}

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A start is one execution of one job in a Slurm job.
type start struct {
	spool Spool
	batch Batch
	job   *providers.Job
	place place
	begin Begin
	ask   asker

	digests map[string]string // of inputs that were not known when the job was submitted
	folder  wrapper.Folder
	marks   verify.Baseline
	checked int64 // the checkpoint's mark before the command
	oom     int64
	pid     int
	usage   *syscall.Rusage
	peak    proc.Peak
	gpus    *gpuWatch // nil: nobody looks
	signals <-chan os.Signal

	stalled string // why its watch block ended it; "" if it did not
	stalls  int    // notes that it has stalled or goes on
	expired bool   // its walltime is over, by the wrapper's clock
	warned  bool   // it was sent its checkpoint signal
	told    bool   // Slurm asked it to end
	first   bool   // none of this job has come to run before
	before  int    // the restart that came to run before this one
	lost    int    // how many restarts did not come to run
	// elsewhere says that the engine starts the job again, under a new id.
	elsewhere bool
}

// number is which launch of the job this is, counted from 1.
func (s *start) number() int { return max(s.job.Attempt, 1) + s.begin.Restart }

// launches is how many launches of the command the job has had with this one.
func (s *start) launches() int { return s.number() - s.lost }

// group are the processes of the command whose wrapper has a pid.
func (s *start) group(pid int) attempt.Group {
	return attempt.Group{Job: s.job, Attempt: wrapper.Attempt(s.job, s.begin.Restart), Leader: pid, Folder: s.folder}
}

// run is the whole life of a start. Its result is the exit status that Slurm
// sees: 0 only if the command did well and its outputs were verified.
func (s *start) run() (int, error) {
	if why := s.refusal(); why != "" {
		return ExitRefused, s.refuse(why)
	}
	if why, class := s.noRoom(); why != "" {
		return s.postpone(why, class)
	}
	s.first = s.spool.Claimed(s.begin.Token) == ""
	switch got, err := s.spool.take(s.begin); {
	case err != nil:
		return exitBroken, err
	case got == duplicate:
		return s.besides()
	case got == over:
		if e, ok := s.spool.LastEnd(s.begin.Token); ok && e.Completed() {
			return 0, nil // Slurm had not heard of it: what comes after it goes on
		}
		return ExitRefused, nil
	}
	s.before, s.lost = s.spool.earlier(s.begin)
	if why := s.notAgain(); why != "" {
		return ExitRefused, s.giveUp(why)
	}
	if err := writeJSON(s.spool.path("starts", RecordName(s.begin.Token, s.begin.Restart)), s.begin); err != nil {
		return exitBroken, fmt.Errorf("record of the start: %w", err)
	}
	s.awaitDelay() // a start beside this one knows of it by then
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT)
	s.signals = signals
	cmd, err := s.exec()
	if err != nil {
		return s.finish(s.notStarted(err))
	}
	return s.finish(s.verdict(s.wait(cmd, signals)))
}

// awaitDelay keeps to the retry's delay where Slurm was told of it too late. The
// clock of the node where the launch before ended may be ahead of this one's.
func (s *start) awaitDelay() {
	if e, err := s.spool.ReadEnd(s.begin.Token, s.before); err == nil {
		time.Sleep(min(time.Until(e.Seen.Ended.Add(s.job.Retry.Delay)), s.job.Retry.Delay))
	}
}

// cancelled reports whether a person, or the engine, has cancelled the job.
func (s *start) cancelled() bool {
	_, err := os.Stat(s.spool.path("cancels", s.begin.Token))
	return err == nil
}

// refusal says why the command must not even be claimed.
func (s *start) refusal() string {
	if s.cancelled() {
		return "cancelled"
	}
	if why := s.spool.Stopped(s.job.Phase); why != "" {
		return "stopped: " + why
	}
	if s.begin.Restart == 0 {
		if token := s.spool.unmet(s.job); token != "" {
			return offer.Blocked
		}
	}
	return ""
}

func (s *start) refuse(why string) error {
	e := End{Begin: s.begin, Final: true, Refused: why}
	e.Seen = s.seen(offer.Cancelled)
	e.Seen.Reason, e.Seen.Started = why, time.Time{}
	return errors.Join(s.record(e), s.over(e))
}

// notAgain says why a job that Slurm requeued by itself must not run again.
func (s *start) notAgain() string {
	if s.begin.Restart == 0 || s.first {
		return "" // what Slurm could not launch was no launch of the command
	}
	if e, err := s.spool.ReadEnd(s.begin.Token, s.before); err == nil && !e.Outside {
		return s.withheld() // the wrapper wanted it
	}
	r := s.job.Retry
	if n := s.launches(); n > r.Launches() {
		return fmt.Sprintf("Slurm requeued it after launch %d, and %d are allowed", n-1, r.Launches())
	}
	if r.Covers(failure.Preempted) || r.Covers(failure.NodeFailure) {
		return ""
	}
	return "Slurm requeued it, and retry.on has neither preempted nor node_failure"
}

// giveUp ends a job that may not run again, after the start before this one:
// as that one ended, or as preempted where it left no word.
func (s *start) giveUp(why string) error {
	e := End{Begin: s.begin, Final: true}
	e.Begin.Restart = s.before
	e.Seen = s.seen(offer.Failed)
	e.Seen.Attempt -= s.begin.Restart - s.before
	e.Seen.Class, e.Seen.Reason = failure.Preempted, why
	if before, err := s.spool.ReadEnd(e.Token, e.Restart); err == nil && before.Seen.Class != "" {
		e.Seen, e.Signature = before.Seen, before.Signature
		e.Seen.Status, e.Seen.Reason, e.Seen.Expected = offer.Failed, why, time.Time{}
		if before.Outside {
			e.Seen.Class = failure.Preempted
		}
	}
	s.elsewhere = s.withheld() != ""
	// Under the number of this start, too: that of the other may have been read.
	return errors.Join(s.record(e), writeJSON(s.spool.path("ends", RecordName(e.Token, s.begin.Restart)), e), s.over(e))
}

// exec readies the ground and starts the wrapper in a session of its own.
func (s *start) exec() (*process, error) {
	j := s.job
	if err := attempt.Required(j); err != nil {
		return nil, err
	}
	late := attempt.Settle(j, s.spool.outputsOf)
	s.digests = attempt.Digests(late)
	if err := attempt.Inputs(context.Background(), j, late); err != nil {
		return nil, err
	}
	if err := guard.Clear(guard.Launch{Job: j, First: s.first, Left: s.leftBefore()}); err != nil {
		return nil, err
	}
	var err error
	if s.marks, err = s.spool.marks(j); err != nil {
		return nil, fmt.Errorf("baseline of the outputs: %w", err)
	}
	if err := attempt.MakeFolders(j); err != nil {
		return nil, err
	}
	s.checked = attempt.CheckpointMark(j)
	s.folder = wrapper.Folder(s.spool.path("run", RecordName(j.Token, s.begin.Restart)))
	secrets := s.batch.secrets(j.Token)
	if _, err := os.Stat(secrets); err != nil {
		secrets = ""
	}
	shelf := wrapper.Shelf{Dir: s.spool.path("run")}
	if _, err := shelf.Fill(s.folder, j, secrets, false); err != nil {
		return nil, err
	}
	lists, err := attempt.WriteLists(j, s.folder)
	if err != nil {
		return nil, err
	}
	script, err := wrapper.Install(s.spool.path("run"))
	if err != nil {
		return nil, err
	}
	s.oom = oomKills()
	env := wrapper.Environ(j, inherited(), wrapper.Start{Folder: s.folder, Restart: s.begin.Restart, Launch: s.begin.ID, Lists: lists, GPUs: s.begin.GPUs})
	return s.launch(append([]string{"sh", script}, j.Argv...), env)
}

// leftBefore is what the start before this one left, nil where it had no time to
// look.
func (s *start) leftBefore() []offer.Output {
	if s.first {
		return nil
	}
	e, err := s.spool.ReadEnd(s.begin.Token, s.before)
	if err != nil {
		return nil
	}
	return e.Seen.Outputs
}

// inherited is what Slurm gave this process, less muster's own.
func inherited() (out []providers.EnvVar) {
	for _, line := range os.Environ() {
		name, value, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(name, "MUSTER_") && strings.IndexFunc(name, notName) < 0 {
			out = append(out, providers.EnvVar{Name: name, Value: value})
		}
	}
	return out
}

// notName lets exported functions of bash (BASH_FUNC_module%%) through.
func notName(r rune) bool {
	return !(r == '_' || r == '%' || r == '(' || r == ')' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
}

// devices are the GPUs that Slurm gave the job. gres.conf(5), File.
func devices() []string {
	if os.Getenv("SLURM_JOB_GPUS") == "" && os.Getenv("SLURM_STEP_GPUS") == "" && os.Getenv("GPU_DEVICE_ORDINAL") == "" {
		return nil
	}
	list := os.Getenv("CUDA_VISIBLE_DEVICES")
	if list == "" || list == "NoDevFiles" {
		return nil
	}
	return strings.Split(list, ",")
}

// seen is an observation of this start with a status.
func (s *start) seen(status offer.Status) offer.Observation {
	o := offer.Observation{Token: s.begin.Token, Presence: offer.Found, Handle: s.begin.ID, Status: status, Attempt: s.number(),
		Started: s.begin.At, Ended: time.Now(), Node: s.begin.Node, GPUs: s.begin.GPUs, Pool: s.begin.Pool, Inputs: s.digests}
	if got := s.shape(); got.Memory != s.job.Shape.Memory || got.Walltime != s.job.Shape.Walltime { // else what was asked for
		o.Got = &got
	}
	return o
}

func (s *start) record(e End) error {
	err := writeJSON(s.spool.path("ends", RecordName(e.Token, e.Begin.Restart)), e)
	if err != nil {
		return fmt.Errorf("record of the end: %w", err)
	}
	return nil
}

// notStarted is the end of a start whose command could not be run.
func (s *start) notStarted(err error) (End, failure.Verdict) {
	e := End{Begin: s.begin, Final: true}
	e.Seen = s.seen(offer.Failed)
	e.Seen.Class, e.Seen.Reason, e.Seen.Tail = attempt.StartClass(err), err.Error(), []string{err.Error()}
	e.Seen.Started = time.Time{} // no command ran, and it left nothing
	if e.Seen.Class == failure.NotItsOwn {
		e.Seen.Tail = nil // it has a reason, and no log
	}
	e.Signature = e.Seen.Class + ": " + err.Error()
	return e, failure.Verdict{Class: e.Seen.Class, Line: err.Error(), Signature: e.Signature}
}

// verdict finds out how the command ended.
func (s *start) verdict(exit *int, sig string) (End, failure.Verdict) {
	j := s.job
	e := End{Begin: s.begin, Final: true}
	e.Seen = s.seen(offer.Completed)
	e.Seen.Exit, e.Seen.Signal, e.Seen.Usage = exit, sig, s.used()
	ev := failure.Evidence{Exit: exit, Signal: sig, OOMKills: -1, HostOOMKills: -1, WalltimeHit: s.expired, GPUs: len(s.begin.GPUs) > 0}
	if now := oomKills(); s.oom >= 0 && now >= 0 {
		if ev.OOMKills = now - s.oom; ev.OOMKills > 0 {
			ev.Scheduler = "OUT_OF_MEMORY" // the job's own limit, as Slurm will say
		}
	}
	cancelled := s.told && s.cancelled() // whatever it exits with: a shell may go on when what it waited for was ended
	mask := s.batch.Mask(j.Token)
	if err := attempt.Scrub(j, s.number(), mask); err != nil {
		e.Seen.Reason = "its log may hold its secrets: " + err.Error()
	}
	if ev.Stalled = s.stalled; !cancelled {
		ev.Forbidden = attempt.Forbidden(j, s.number())
	}
	good := exit != nil && *exit == 0 && !cancelled && ev.Forbidden == ""
	if good {
		r := s.verify()
		e.Seen.Outputs, e.Seen.Metrics = r.Outputs, r.Metrics
		ev.Outputs, ev.Unverified = r.Wrong, r.Unverified
		cancelled = s.told && s.cancelled()
		e.Seen.Ended = time.Now()
	}
	if !good || !ev.Fine() {
		ev.Tail, e.Seen.Tail = attempt.Tail(j, s.number(), mask)
		ev.NoRoom = attempt.Full(j.Workdir)
		for _, said := range []string{ev.Outputs, ev.Unverified, ev.Forbidden} {
			if said != "" {
				e.Seen.Tail = append(e.Seen.Tail, said)
			}
		}
	}
	rules, _ := failure.Compile(j.Rules)
	v := rules.Classify(ev)
	if s.saved(v) {
		ev.WalltimeHit = true
		v = rules.Classify(ev)
	}
	if v.Class == "" && ev.OOMKills > 0 && !cancelled {
		// Slurm says OUT_OF_MEMORY for the whole job and cancels what comes after it.
		v = killedWithin(ev.OOMKills)
		_, e.Seen.Tail = attempt.Tail(j, s.number(), mask)
		e.Seen.Tail = append(e.Seen.Tail, v.Hint)
	}
	if cancelled || v.Class != "" {
		guard.Note(j, &e.Seen)
	}
	if cancelled {
		e.Seen.Status, e.Signature = offer.Cancelled, v.Signature
		return e, v
	}
	if v.Class == "" {
		return e, v
	}
	e.Seen.Status, e.Seen.Class, e.Seen.Reason, e.Signature = offer.Failed, v.Class, v.Hint, v.Signature
	if s.told && !s.expired {
		e.Outside = true
	}
	return e, v
}

// killedWithin is the verdict on a command that exits 0, and leaves valid outputs,
// although the kernel killed processes of it: what they were to do is missing.
func killedWithin(n int64) failure.Verdict {
	which := "one of its processes"
	if n > 1 {
		which = fmt.Sprintf("%d of its processes", n)
	}
	hint := "the command exited 0, but the kernel killed " + which + " for using more memory than the job may; raise resources.memory"
	return failure.Verdict{Class: failure.OOMSched, Rule: "cgroup", Hint: hint, Line: hint, Signature: failure.OOMSched + ": " + failure.Signature(hint)}
}

func (s *start) used() *offer.Usage {
	u := &offer.Usage{Elapsed: time.Since(s.begin.At), CPU: -1, MaxRSS: -1}
	if r := s.usage; r != nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
		u.MaxRSS = s.peak.Bytes(r.Maxrss)
	}
	u.GPUSeconds = float64(len(s.begin.GPUs)) * u.Elapsed.Seconds()
	u.GPUMaxMem = s.gpuMemory()
	if b := s.batch.Bounds().Billing; b > 0 { // as accounting would have it, which may be closed, late or none
		u.Billed = fmt.Sprintf("%.0f billing-seconds", float64(b)*u.Elapsed.Seconds())
	}
	return u
}

// oomKills is how many processes of this job the kernel has killed for want of
// memory; -1 = unknown. cgroups(7); memory.oom_control and memory.events.
func oomKills() int64 {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	most := int64(-1)
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		root, file := "", ""
		switch {
		case f[1] == "":
			root, file = "/sys/fs/cgroup", "memory.events"
		case f[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.oom_control"
		default:
			continue
		}
		// A job's limit may stand at any level up to that of the job.
		for at, up := f[2], 0; at != "/" && at != "." && up < 4; at, up = filepath.Dir(at), up+1 {
			most = max(most, counter(filepath.Join(root, at, file), "oom_kill"))
			if strings.HasPrefix(filepath.Base(at), "job_") {
				break
			}
		}
	}
	return most
}

// counter is a number of a file of "name number" lines; -1 = not there.
func counter(path, name string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

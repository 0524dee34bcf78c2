package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/gpu"
	proc "github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A command is the job's command as a start runs it: the state before it began, its wrapper's
// process, and why it was ended.
type command struct {
	*start
	signals <-chan os.Signal // from the scheduler

	digests map[string]string // of inputs that were not known when the job was submitted
	folder  wrapper.Folder
	scratch scratch
	hosts   []string // of a job that a launcher starts, or on several nodes
	marks   verify.Baseline
	checked int64 // the checkpoint's mark before the command
	oom     int64 // oomKills before the command

	pid   int // of the wrapper
	done  chan syscall.WaitStatus
	usage *syscall.Rusage
	peak  proc.Peak
	gpus  *gpuWatch // nil: the devices are not watched

	stalled string // why its watch block ended it; "" if it did not
	stalls  int    // notes that it has stalled or goes on
	expired bool   // its walltime is over, by the wrapper's clock
	warned  bool   // it was sent its checkpoint signal
	told    bool   // the scheduler asked it to end
}

// run starts the command, follows it to its end and verifies its outputs.
func (c *command) run() (e End, v failure.Verdict) {
	if err := c.exec(); err != nil {
		e, v = c.notStarted(err)
	} else {
		e, v = c.verdict(c.wait())
	}
	if c.folder != "" {
		os.RemoveAll(string(c.folder))
	}
	c.scratch.remove()
	return e, v
}

// group are the processes of the command.
func (c *command) group() attempt.Processes {
	return attempt.Processes{Job: c.job, Attempt: wrapper.Attempt(c.job, c.begin.Restart), Leader: c.pid, Folder: c.folder}
}

// exec prepares inputs and folders, and starts the wrapper in a session of its own.
func (c *command) exec() error {
	j := c.job
	if err := attempt.Required(j); err != nil {
		return err
	}
	late := attempt.Settle(j, c.spool.outputsOf)
	c.digests = attempt.Digests(late)
	if err := attempt.Inputs(context.Background(), j, late); err != nil {
		return err
	}
	var err error
	if c.inTime(func(ctx context.Context) { err = attempt.Clear(ctx, c.ground(), c.shape(), c.number()) }); err != nil {
		return err
	}
	if c.marks, err = c.spool.marks(j); err != nil {
		return fmt.Errorf("baseline of the outputs: %w", err)
	}
	if err := attempt.MakeFolders(j); err != nil {
		return err
	}
	c.checked = attempt.CheckpointMark(j)
	run, err := c.stageIn()
	if err != nil {
		return err
	}
	if err := c.findHosts(); err != nil {
		return err
	}
	if err := c.preflight(); err != nil {
		return err
	}
	return c.prepare(wrapper.OnHosts(run, c.hosts))
}

// findHosts asks the scheduler for the names of the job's nodes.
func (c *command) findHosts() error {
	span, ok := c.allocation.scheduler.(scheduler.Spanner)
	if !ok || !c.job.Launched() && c.job.Shape.Nodes < 2 {
		return nil
	}
	ctx, stop := context.WithTimeout(context.Background(), changeTimeout)
	defer stop()
	hosts, err := span.Hosts(ctx)
	if err != nil || len(hosts) == 0 {
		return fmt.Errorf("%s does not say which nodes the job has: %w", c.allocation.name(), err)
	}
	c.hosts = hosts
	return nil
}

// prepare writes the folder of a job, as its command sees it, and starts the wrapper.
func (c *command) prepare(j *providers.Job) error {
	c.folder = wrapper.Folder(c.spool.path("run", RecordName(j.Token, c.begin.Restart)))
	secrets := c.batch.secrets(j.Token)
	if _, err := os.Stat(secrets); err != nil {
		secrets = ""
	}
	folders := wrapper.FolderPool{Dir: c.spool.path("run")}
	if _, err := folders.Fill(c.folder, j, secrets, false); err != nil {
		return err
	}
	lists, err := attempt.WriteLists(j, c.folder)
	if err != nil {
		return err
	}
	script, err := wrapper.Install(c.spool.path("run"))
	if err != nil {
		return err
	}
	c.oom = oomKills(c.allocation.scheduler.Environment().Cgroup)
	env := wrapper.Environ(j, inherited(), wrapper.Start{Folder: c.folder, Restart: c.begin.Restart, Launch: c.begin.ID, Lists: lists, GPUs: c.begin.GPUs, Hosts: c.hosts})
	return c.launch(append([]string{"sh", script}, j.Argv...), env)
}

// inherited is the environment from the scheduler, without muster's own variables.
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

// launch starts the wrapper with the attempt's log files.
func (c *command) launch(argv, env []string) error {
	j := c.job
	var files []uintptr
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	files = append(files, null.Fd())
	for _, stderr := range []bool{false, true} {
		path := attempt.LogPath(j.Workdir, j.Token, c.number(), stderr)
		if err := attempt.MakeFolder(j, path[:strings.LastIndexByte(path, '/')]); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("log: %w", err)
		}
		defer f.Close()
		files = append(files, f.Fd())
	}
	if _, err := os.Stat(j.Dir); err != nil {
		return fmt.Errorf("the job's current directory: %w", err)
	}
	pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{Dir: j.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("start /bin/sh: %w", err)
	}
	c.pid, c.done = pid, make(chan syscall.WaitStatus, 1)
	c.peak.Watch(pid)
	c.gpus = c.watchGPUs(c.group(), gpu.Rest)
	go func() {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		kernel.AwaitChild(pid)
		c.peak.Stop()
		for {
			_, err := syscall.Wait4(pid, &status, 0, &usage)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		c.usage = &usage
		c.done <- status
	}()
	return nil
}

// defaultGrace is the time between TERM and KILL where a job names none.
const defaultGrace = 30 * time.Second

// recordTime is kept free at the end of a job's walltime for verifying and
// recording.
const recordTime = 15 * time.Second

func (s *start) grace() time.Duration {
	if g := s.job.Grace; g > 0 {
		return g
	}
	return defaultGrace
}

// patience is the time between TERM and KILL where the scheduler ends the job.
func (c *command) patience() time.Duration {
	if p := c.allocation.scheduler.Environment().Patience; p > 0 {
		return min(c.grace(), p)
	}
	return c.grace()
}

// limit is when the command is asked to end, so that the wrapper still lives
// to record it: the scheduler kills both at the walltime.
func (c *command) limit() <-chan time.Time {
	w := c.shape().Walltime
	if w <= 0 {
		return nil
	}
	reserve := min(c.grace()+recordTime, w/8)
	return time.After(time.Until(c.begin.At.Add(w - reserve)))
}

// warning is when the command is sent its checkpoint signal, where the scheduler
// does not send it.
func (c *command) warning() <-chan time.Time {
	w, p := c.shape().Walltime, c.job.Checkpoint
	if !c.allocation.scheduler.Environment().Unwarned || w <= 0 || p.Signal == "" || p.Grace <= 0 {
		return nil
	}
	return time.After(time.Until(c.begin.At.Add(w - p.Grace)))
}

// wait follows the command to its end, passing signals on. exit is nil if it
// was killed by a signal.
func (c *command) wait() (exit *int, sig string) {
	limit, warn := c.limit(), c.warning()
	var kill, look <-chan time.Time
	var watcher *attempt.Watcher
	if !c.job.Watch.None() {
		watcher = attempt.NewWatcher(c.job, c.number(), time.Now())
		tick := time.NewTicker(attempt.LookEvery)
		defer tick.Stop()
		look = tick.C
	}
	logs, elsewhere := time.NewTicker(attempt.CapEvery), time.NewTicker(supersededLook)
	defer logs.Stop()
	defer elsewhere.Stop()
	for {
		select {
		case <-logs.C:
			attempt.CapLogs(c.job, c.number())
		case <-elsewhere.C:
			if c.superseded() && !c.told {
				c.told = true
				c.terminate()
				kill = time.After(c.patience())
			}
		case now := <-look:
			if c.watched(watcher, now) {
				look = nil
				c.terminate()
				kill = time.After(c.grace())
			}
		case status := <-c.done:
			c.settle()
			exit, sig = ending(status)
			c.told = c.told || toldToo(c.signals, sig)
			return exit, sig
		case <-warn:
			c.warned = true
			c.group().SignalProgram(unix.SignalNum("SIG" + strings.TrimPrefix(c.job.Checkpoint.Signal, "SIG")))
		case <-limit:
			c.expired = true
			c.terminate()
			kill = time.After(min(c.grace(), c.shape().Walltime/16))
		case <-kill:
			unix.Kill(-c.pid, unix.SIGKILL)
		case sg := <-c.signals:
			switch number := sg.(syscall.Signal); number {
			case unix.SIGCONT:
			case unix.SIGTERM, unix.SIGINT, unix.SIGHUP:
				c.told = true
				c.terminate()
				kill = time.After(c.patience())
			default: // the checkpoint signal that the script asks for: sbatch --signal=B:
				c.warned = true
				c.group().SignalProgram(number)
			}
		}
	}
}

// watched reports whether the job's watch block ends the command.
func (c *command) watched(w *attempt.Watcher, now time.Time) bool {
	if w.Look(now) != "" {
		return true
	}
	stalled := w.Stalled(now, c.group().Members, c.gpus.utilization)
	if stalled != "" && c.job.Watch.End {
		c.stalled = stalled
		return true
	}
	if (stalled == "") == (c.stalls%2 == 0) {
		return false
	}
	// If this note cannot be written now, the next look writes it.
	name := stallName(c.begin.Token, c.begin.Restart, c.stalls+1)
	if os.MkdirAll(c.spool.path("stalls"), 0o700) == nil && atomicfile.WriteCache(c.spool.path("stalls", name), []byte(stalled)) == nil {
		c.stalls++
	}
	return false
}

// saved reports whether a command that ended for no other known reason received its checkpoint
// signal and wrote the checkpoint: many programs then exit before their walltime. A missing
// file may be the checkpoint of a first launch.
func (c *command) saved(v failure.Verdict) bool {
	why := slices.Contains([]string{failure.Unknown, failure.BadOutput, failure.Killed, failure.MissingFile}, v.Class)
	return why && c.warned && c.moved()
}

// moved reports whether the command has rewritten its checkpoint.
func (c *command) moved() bool {
	return c.checked != 0 && attempt.CheckpointMark(c.job) != c.checked
}

func (c *command) terminate() {
	unix.Kill(-c.pid, unix.SIGTERM)
	unix.Kill(-c.pid, unix.SIGCONT)
}

// settle ends processes that the command left behind, so that nobody writes the outputs while
// they are verified.
func (c *command) settle() {
	const look, polite = 20 * time.Millisecond, 2 * time.Second
	for began := time.Now(); ; time.Sleep(look) {
		left := c.group().Members()
		if len(left) == 0 || time.Since(began) > 2*polite {
			return
		}
		sig := unix.SIGTERM
		if time.Since(began) > polite {
			sig = unix.SIGKILL
		}
		for _, m := range left {
			if m != os.Getpid() {
				unix.Kill(m, sig)
			}
		}
	}
}

// ending reads the command's end from the wrapper's status: above 128 for a signal.
func ending(status syscall.WaitStatus) (exit *int, sig string) {
	if status.Signaled() {
		return nil, strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")
	}
	code := status.ExitStatus()
	if code > 128 && code <= 128+64 {
		sig = strings.TrimPrefix(unix.SignalName(unix.Signal(code-128)), "SIG")
	}
	return &code, sig
}

// wordLag is how long to wait for the scheduler's TERM when only the command has received one
// so far.
const wordLag = 2 * time.Second

// toldToo reports whether the scheduler asked this process to end, too: it sends TERM to all
// processes of a job, and the command may end before this process receives its own.
func toldToo(signals <-chan os.Signal, sig string) bool {
	if sig != "TERM" && len(signals) == 0 {
		return false
	}
	for end := time.After(wordLag); ; {
		select {
		case sg := <-signals:
			if sg == unix.SIGTERM || sg == unix.SIGINT || sg == unix.SIGHUP {
				return true
			}
		case <-end:
			return false
		}
	}
}

package node

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
)

// A process is the wrapper of a running command.
type process struct {
	pid  int
	done chan syscall.WaitStatus
}

// launch starts the wrapper with the attempt's log files.
func (s *start) launch(argv, env []string) (*process, error) {
	j := s.job
	var files []uintptr
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	files = append(files, null.Fd())
	for _, stderr := range []bool{false, true} {
		path := attempt.LogPath(j.Workdir, j.Token, s.number(), stderr)
		if err := attempt.MakeFolder(j, path[:strings.LastIndexByte(path, '/')]); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		defer f.Close()
		files = append(files, f.Fd())
	}
	if _, err := os.Stat(j.Dir); err != nil {
		return nil, fmt.Errorf("the job's current directory: %w", err)
	}
	pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{Dir: j.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, fmt.Errorf("start /bin/sh: %w", err)
	}
	s.pid = pid
	s.peak.Watch(pid)
	s.watchGPUs()
	p := &process{pid: pid, done: make(chan syscall.WaitStatus, 1)}
	go func() {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		var info unix.Siginfo
		for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		s.peak.Stop()
		for {
			_, err := syscall.Wait4(pid, &status, 0, &usage)
			if !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		s.usage = &usage
		p.done <- status
	}()
	return p, nil
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

// limit is when the command is asked to end, so that the wrapper still lives
// to record it: Slurm kills both at the walltime.
func (s *start) limit() <-chan time.Time {
	w := s.shape().Walltime
	if w <= 0 {
		return nil
	}
	reserve := min(s.grace()+recordTime, w/8)
	return time.After(time.Until(s.begin.At.Add(w - reserve)))
}

// wait follows the command to its end, passing signals on. exit is nil if it
// was killed by a signal.
func (s *start) wait(p *process, signals <-chan os.Signal) (exit *int, sig string) {
	limit := s.limit()
	var kill, look <-chan time.Time
	var watcher *attempt.Watcher
	if !s.job.Watch.None() {
		watcher = attempt.NewWatcher(s.job, s.number(), time.Now())
		tick := time.NewTicker(attempt.LookEvery)
		defer tick.Stop()
		look = tick.C
	}
	for {
		select {
		case now := <-look:
			if s.watched(watcher, now, p.pid) {
				look = nil
				s.terminate(p.pid)
				kill = time.After(s.grace())
			}
		case status := <-p.done:
			s.settle(p.pid)
			exit, sig = ending(status)
			s.told = s.told || toldToo(signals, sig)
			return exit, sig
		case <-limit:
			s.expired = true
			s.terminate(p.pid)
			kill = time.After(min(s.grace(), s.shape().Walltime/16))
		case <-kill:
			unix.Kill(-p.pid, unix.SIGKILL)
		case sg := <-signals:
			switch number := sg.(syscall.Signal); number {
			case unix.SIGCONT:
			case unix.SIGTERM, unix.SIGINT, unix.SIGHUP:
				s.told = true
				s.terminate(p.pid)
				kill = time.After(s.grace())
			default: // the checkpoint signal of sbatch --signal=B:
				s.warned = true
				s.group(p.pid).SignalProgram(number)
			}
		}
	}
}

// watched reports whether the job's watch block ends the command.
func (s *start) watched(w *attempt.Watcher, now time.Time, pid int) bool {
	if w.Look(now) != "" {
		return true
	}
	stalled := w.Stalled(now, s.group(pid).Members)
	if stalled != "" && s.job.Watch.End {
		s.stalled = stalled
		return true
	}
	if (stalled == "") == (s.stalls%2 == 0) {
		return false
	}
	// What cannot be told now is told by the next look.
	name := StallName(s.begin.Token, s.begin.Restart, s.stalls+1)
	fresh := s.spool.path("stalls", "."+name)
	if os.MkdirAll(s.spool.path("stalls"), 0o700) == nil && os.WriteFile(fresh, []byte(stalled), 0o600) == nil && os.Rename(fresh, s.spool.path("stalls", name)) == nil {
		s.stalls++
	}
	return false
}

// saved reports whether a command that ended for no other reason that is known was
// sent its checkpoint signal, and wrote the checkpoint: many programs end with
// that, before their walltime does. It has come as far as that let it.
// A file that is not there may be the checkpoint, when the command first began.
func (s *start) saved(v failure.Verdict) bool {
	why := slices.Contains([]string{failure.Unknown, failure.BadOutput, failure.Killed, failure.MissingFile}, v.Class)
	return why && s.warned && s.moved()
}

// moved reports whether the command has written its checkpoint anew.
func (s *start) moved() bool {
	return s.checked != 0 && attempt.CheckpointMark(s.job) != s.checked
}

func (s *start) terminate(pid int) {
	unix.Kill(-pid, unix.SIGTERM)
	unix.Kill(-pid, unix.SIGCONT)
}

// settle ends what the command has left behind: outputs are checked when
// nobody writes them any more.
func (s *start) settle(pid int) {
	const look, polite = 20 * time.Millisecond, 2 * time.Second
	for began := time.Now(); ; time.Sleep(look) {
		left := s.group(pid).Members()
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

// ending is how the wrapper said that the command ended: above 128 for a signal.
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

// wordLag is how long Slurm's word is waited for after a TERM of which only the
// command has had its share yet.
const wordLag = 2 * time.Second

// toldToo reports whether Slurm asked this process to end, too: its TERM goes to
// all processes of a job, and the command may be gone before it is heard here.
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

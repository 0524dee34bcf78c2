package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/host/spool"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// starts make processes of jobs.
type starts struct {
	*core
	allocator *allocator
	folders   wrapper.FolderPool
	logs      spool.Logs
	umask     *int         // of jobs that name none
	killed    func() int64 // how many processes the machine has killed for memory
	// environs are the base environments of jobs, by digest.
	environs map[string][]providers.EnvVar
}

// A start is one job on its way to a process.
type start struct {
	child
	ctx     context.Context // ends when the job is cancelled before it is a process, or its walltime is over
	stop    context.CancelFunc
	job     *job
	seq     uint64 // of the event that reported it, 0 if an earlier one did
	spec    *providers.Job
	shape   offer.Shape // as scaled for this launch
	restart int
	attempt int
	launch  attempt.Intent
	folder  wrapper.Folder
	secrets string
	environ []providers.EnvVar
	locks   []*os.File
	base    string          // key of the baseline
	marks   verify.Baseline // nil: to be taken
	ground  guard.Start     // the files it may find at its output paths
	script  string

	obs     offer.Observation
	oomKill int64
	again   bool // it may have been begun before
	proc    process.ID
	peak    process.Peak
	simple  bool // its folder may be used again
	err     error
	// unwritten says why the spool took no log or folder: not the job's fault.
	unwritten error
}

func (st *starts) newStart(j *job) *start {
	if j.spec.Umask == nil {
		j.spec.Umask = st.umask
	}
	s := &start{child: child{pidfd: -1}, job: j, spec: &j.spec, shape: j.shape(), restart: j.Restart, attempt: j.attempt(), launch: *j.Launch,
		folder: wrapper.Folder(st.folder(j)), environ: st.environs[j.environ], locks: j.locks, base: baseKey(j), script: st.script}
	s.obs = st.observe(j)
	s.oomKill = j.oomKill
	s.ctx, s.stop = context.WithCancel(context.Background())
	j.start = s
	s.marks = st.bases.get(s.base)
	s.ground = ground(j)
	if j.secret {
		s.secrets = st.secretsPath(j.spec.Token)
	}
	return s
}

// ground describes the files that a launch of a job may find at its output
// paths.
func ground(j *job) guard.Start {
	l := guard.Start{Job: &j.spec, First: j.Restart == j.NotRun, Left: j.Leaves}
	switch {
	case !l.First:
		l.Before = attempt.LaunchName(j.spec.Token, wrapper.Attempt(&j.spec, j.LeavesOf))
	case j.spec.Guard != nil:
		l.Before = j.spec.Guard.Before
	}
	return l
}

// baseKey names the freshness baseline of a job: it is taken once for a
// result hash in a workdir, before the first attempt, and forgotten when the
// job completes.
func baseKey(j *job) string {
	hash := j.spec.ResultHash
	if hash == "" {
		hash = j.spec.Token
	}
	return j.place.Lineage + " " + hash + " " + j.spec.Workdir
}

// launch readies the ground and starts the wrapper. Everything before the
// last step may be repeated by a queue that finds no claim.
func (st *starts) launch(s *start) error {
	j := s.spec
	if err := attempt.Required(j); err != nil {
		return err
	}
	if err := attempt.Inputs(s.ctx, j, s.launch.Late); err != nil {
		return err
	}
	if err := st.copyIn(s); err != nil {
		return err
	}
	if err := attempt.Clear(s.ctx, s.ground, s.shape, s.attempt); err != nil {
		return err
	}
	if s.marks == nil {
		st.takeMarks(s)
	}
	if err := attempt.MakeFolders(j); err != nil {
		return err
	}
	if s.launch.Scratch == "" {
		if _, err := attempt.ScratchFolder(j, s.job.place.Scratch, s.launch.ID); err != nil {
			return err
		}
	}
	run := attempt.InScratch(wrapper.OnHosts(j, hostsOf(j)), s.launch.Scratch)
	var err error
	if s.simple, err = st.folders.Fill(s.folder, run, s.secrets, s.again); err != nil {
		if attempt.NoSpace(err) {
			s.unwritten = err
		}
		return err
	}
	lists, err := attempt.WriteLists(run, s.folder)
	if err != nil {
		return err
	}
	s.simple = s.simple && len(lists) == 0
	// The intent, and the baseline, are in the file before the process is there.
	if s.unwritten = st.journal.Flush(); s.unwritten != nil {
		return s.unwritten
	}
	if err := attempt.StageIn(s.ctx, j, s.launch.Scratch, s.again); err != nil {
		return err
	}
	begin := func() error {
		if err := attempt.MakeFolders(run); err != nil {
			return err
		}
		return st.exec(s, run, lists)
	}
	var missing *attempt.Missing
	if err = begin(); errors.Is(err, os.ErrNotExist) || errors.As(err, &missing) { // somebody moved the workdir at this moment
		err = begin()
	}
	if err != nil && !s.again {
		attempt.RemoveScratch(s.launch.Scratch)
	}
	return err
}

// hostsOf is this machine, for a job that a launcher starts on it.
func hostsOf(j *providers.Job) []string {
	if !j.Launched() {
		return nil
	}
	return []string{"localhost"}
}

// takeMarks takes the baseline of a start's outputs.
func (st *starts) takeMarks(s *start) {
	s.marks = verify.Take(s.spec.Workdir, s.spec.Outputs)
	if s.marks == nil {
		s.marks = verify.Baseline{}
	}
	st.bases.set(s.base, s.marks)
	if !empty(s.marks) {
		st.put(entry{Base: &baseEntry{Key: s.base, Marks: s.marks}})
	}
}

// openLogs opens the two logs of a start, in a folder that it makes.
func (st *starts) openLogs(s *start, j *providers.Job) (out, errs *os.File, err error) {
	if err := attempt.MakeFolder(j, filepath.Dir(attempt.LogPath(j.Workdir, j.Token, s.attempt, false))); err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	providers.KeepFromGit(filepath.Join(j.Workdir, ".muster"))
	if out, err = st.logs.Open(attempt.LogPath(j.Workdir, j.Token, s.attempt, false)); err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	if errs, err = st.logs.Open(attempt.LogPath(j.Workdir, j.Token, s.attempt, true)); err != nil {
		out.Close()
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	return out, errs, nil
}

// exec starts the wrapper in its own session, with its log and the locks of
// its GPUs.
func (st *starts) exec(s *start, j *providers.Job, lists map[string]string) error {
	out, errs, err := st.openLogs(s, j)
	if err != nil {
		return err
	}
	defer out.Close()
	defer errs.Close()
	null, err := devNull()
	if err != nil {
		return err
	}
	env := wrapper.Environ(j, s.environ, wrapper.Start{Folder: s.folder, Restart: s.restart, Plain: s.secrets == "" && wrapper.Plain(j),
		Shape: &s.shape, Launch: s.launch.ID, Lists: lists, GPUs: s.launch.GPUs, Hosts: hostsOf(j)})
	files := []uintptr{null.Fd(), out.Fd(), errs.Fd()}
	if len(s.locks) > 0 { // 3 to 9 are the shell's to use
		for len(files) < 10 {
			files = append(files, ^uintptr(0))
		}
		for _, l := range s.locks {
			files = append(files, l.Fd())
		}
	}
	argv := append([]string{"sh", s.script}, j.Argv...)
	attr := &syscall.ProcAttr{Dir: j.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	pid, fd, err := forkInto(s.launch.Cgroup, argv, attr)
	if err != nil {
		if _, gone := os.Stat(j.Dir); gone != nil {
			return &attempt.Missing{Path: j.Dir, What: "the job's current directory is not there"}
		}
		return fmt.Errorf("start /bin/sh: %w", err)
	}
	s.proc.PID = pid // unreaped, the number is its own: no start time needed
	s.begun(pid, fd)
	return nil
}

// forkInto starts the wrapper in a control group; without one, or where that
// does not work, it is started all the same.
func forkInto(g cgroup.Group, argv []string, attr *syscall.ProcAttr) (pid, fd int, err error) {
	if g == "" {
		return kernel.Fork("/bin/sh", argv, attr, nil)
	}
	f, err := g.Make()
	if err != nil {
		return kernel.Fork("/bin/sh", argv, attr, nil)
	}
	defer f.Close()
	if pid, fd, err = kernel.Fork("/bin/sh", argv, attr, f); err == nil || errors.Is(err, os.ErrNotExist) {
		return pid, fd, err
	}
	if pid, fd, err = kernel.Fork("/bin/sh", argv, attr, nil); err == nil { // before Linux 5.7
		g.Take(pid)
	}
	return pid, fd, err
}

// devNull is the standard input of every job.
var devNull = sync.OnceValues(func() (*os.File, error) { return os.Open(os.DevNull) })

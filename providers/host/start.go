package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// A start is one job on its way to a process.
type start struct {
	child
	job     *job
	seq     uint64 // of the event that told of it, 0 if an earlier one did
	spec    *providers.Job
	shape   offer.Shape // as scaled for this launch
	restart int
	attempt int
	launch  launch
	folder  wrapper.Folder
	secrets string
	environ []providers.EnvVar
	locks   []*os.File
	base    string          // key of the baseline
	marks   verify.Baseline // nil: to be taken
	script  string

	obs     offer.Observation
	oomKill int64
	again   bool // it may have been begun before
	proc    process
	simple  bool // its folder may be used again
	err     error
	// unwritten says why the spool took no log or folder: not the job's fault.
	unwritten error
}

func (q *queue) newStart(j *job) *start {
	s := &start{child: child{pidfd: -1}, job: j, spec: &j.spec, shape: j.shape(), restart: j.Restart, attempt: j.attempt(), launch: *j.Launch,
		folder: wrapper.Folder(q.folder(j)), environ: q.environs[j.environ], locks: j.locks, base: baseKey(j), script: q.script}
	s.obs = q.observe(j)
	s.oomKill = j.oomKill
	j.start = s
	s.marks = q.bases.get(s.base)
	if j.secret {
		s.secrets = q.secretsPath(j.spec.Token)
	}
	return s
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
func (q *queue) launch(s *start) error {
	j := s.spec
	if err := required(j); err != nil {
		return err
	}
	if j.MoveAside != "" && s.restart == 0 {
		if err := moveAside(j); err != nil {
			return err
		}
	}
	if s.marks == nil {
		s.marks = verify.Take(j.Workdir, j.Outputs)
		if s.marks == nil {
			s.marks = verify.Baseline{}
		}
		q.bases.set(s.base, s.marks)
		if !empty(s.marks) {
			q.put(entry{Base: &baseEntry{Key: s.base, Marks: s.marks}})
		}
	}
	for _, o := range j.Outputs {
		dir := wrapper.OutputPath(j.Workdir, o)
		if o.Kind != "glob" {
			dir = filepath.Dir(dir)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("folder of output %s: %w", o.Name, err)
		}
	}
	if j.Checkpoint.Path != "" {
		if err := os.MkdirAll(filepath.Dir(inWorkdir(j.Workdir, j.Checkpoint.Path)), 0o777); err != nil {
			return fmt.Errorf("folder of the checkpoint: %w", err)
		}
	}
	var err error
	if s.simple, err = q.shelf.Fill(s.folder, j, s.secrets, s.again); err != nil {
		if noSpace(err) {
			s.unwritten = err
		}
		return err
	}
	lists, err := writeLists(j, s.folder)
	if err != nil {
		return err
	}
	s.simple = s.simple && len(lists) == 0
	// The intent, and the baseline, are in the file before the process is there.
	if s.unwritten = q.journal.flush(); s.unwritten != nil {
		return s.unwritten
	}
	return q.exec(s, lists)
}

// exec starts the wrapper in its own session, with its log and the locks of
// its GPUs.
func (q *queue) exec(s *start, lists map[string]string) error {
	j := s.spec
	out, err := q.logs.open(logPath(j.Workdir, j.Token, s.attempt, false))
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	errs, err := q.logs.open(logPath(j.Workdir, j.Token, s.attempt, true))
	if err != nil {
		out.Close()
		return fmt.Errorf("log: %w", err)
	}
	defer out.Close()
	defer errs.Close()
	null, err := devNull()
	if err != nil {
		return err
	}
	env := wrapper.Environ(j, s.environ, wrapper.Start{Folder: s.folder, Restart: s.restart, Plain: s.secrets == "" && wrapper.Plain(j),
		Shape: &s.shape, Launch: s.launch.ID, Lists: lists, GPUs: s.launch.GPUs})
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
	pidfd := -1
	pid, err := syscall.ForkExec("/bin/sh", argv, &syscall.ProcAttr{Dir: j.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}})
	if err != nil {
		if _, gone := os.Stat(j.Dir); gone != nil {
			return &missing{path: j.Dir, what: "the job's current directory is not there"}
		}
		return fmt.Errorf("start /bin/sh: %w", err)
	}
	s.proc.PID = pid // unreaped, the number is its own: no start time needed
	s.begun(pid, pidfd)
	return nil
}

// missing is a file without which a job does not start.
type missing struct{ path, what string }

func (m *missing) Error() string { return m.what + ": " + m.path }

// required checks the files that must be there at launch.
func required(j *providers.Job) error {
	for _, r := range j.Require {
		what := r.Message
		if what == "" {
			what = "a required file is not there"
		}
		fi, err := os.Stat(inWorkdir(j.Workdir, r.Path))
		if errors.Is(err, os.ErrNotExist) {
			return &missing{path: r.Path, what: what}
		}
		if err != nil {
			return fmt.Errorf("required file: %w", err)
		}
		if fi.Size() < r.MinSize {
			return &missing{path: fmt.Sprintf("%s has %d bytes of at least %d", r.Path, fi.Size(), r.MinSize), what: what}
		}
	}
	return nil
}

func inWorkdir(workdir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(workdir, path)
}

// writeLists writes the list files of inputs that are lists.
func writeLists(j *providers.Job, f wrapper.Folder) (map[string]string, error) {
	var lists map[string]string
	for _, in := range j.Inputs {
		path := in.List
		if path == "" && len(in.Paths) < 2 {
			continue
		}
		if path == "" {
			path = filepath.Join(string(f), "list."+in.Name)
		}
		path = inWorkdir(j.Workdir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, fmt.Errorf("list of input %s: %w", in.Name, err)
		}
		text := strings.Join(in.Paths, "\n")
		if text != "" {
			text += "\n"
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return nil, fmt.Errorf("list of input %s: %w", in.Name, err)
		}
		if lists == nil {
			lists = map[string]string{}
		}
		lists[in.Name] = path
	}
	return lists, nil
}

// logPath is where a stream of an attempt lies: findable from the token alone.
func logPath(workdir, token string, attempt int, stderr bool) string {
	kind := ".out"
	if stderr {
		kind = ".err"
	}
	return filepath.Join(workdir, ".muster", "logs", token[:2], token+"."+strconv.Itoa(attempt)+kind)
}

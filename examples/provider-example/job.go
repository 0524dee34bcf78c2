package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// job is a folder:
//
//	job.json      the job as it was submitted; nothing is a job without it
//	cmd, setup    the commands, byte for byte
//	secrets       0600, removed by the job's shell before it runs anything
//	baseline.json the outputs before the start
//	claim/        made by the job's shell first of all: who makes it, runs
//	pid, exit     written by the shell
//	held          muster asked to keep it from starting
//	cleared       its output paths are free; from here on a shell may have it
//	cancel        somebody asked for the end
//	log           the output of the job
type job struct {
	dir  string
	spec providers.Job
	text []byte // of job.json
	seen offer.Observation
	// gone is closed when the shell that this process started has ended; nil: it started none.
	gone chan struct{}
}

// shell is run as: sh -c SHELL sh FOLDER WORD…
const shell = `
mkdir "$1/claim" 2>/dev/null || exit 97
echo $$ >"$1/pid.new" && mv "$1/pid.new" "$1/pid"
EXAMPLE_JOB=$1; shift
trap : HUP INT TERM # meant for the job; this shell lives on to write how it ended
(
	if [ -f "$EXAMPLE_JOB/secrets" ]; then . "$EXAMPLE_JOB/secrets"; rm -f "$EXAMPLE_JOB/secrets"; fi
	if [ -f "$EXAMPLE_JOB/setup" ]; then . "$EXAMPLE_JOB/setup"; fi
	exec "$@"
)
echo $? >"$EXAMPLE_JOB/exit.new" && mv "$EXAMPLE_JOB/exit.new" "$EXAMPLE_JOB/exit"
`

func loadJob(dir string) (*job, error) {
	text, err := os.ReadFile(filepath.Join(dir, "job.json"))
	if err != nil {
		return nil, err
	}
	j := &job{dir: dir, text: text}
	j.seen = offer.Observation{Presence: offer.Found, Status: offer.Queued, Attempt: 1}
	if err := json.Unmarshal(text, &j.spec); err != nil {
		return nil, err
	}
	j.seen.Token, j.seen.Handle = j.spec.Token, j.spec.Token
	return j, nil
}

// keep puts a job on the disk, job.json last: a job is there whole or not at all.
func keep(dir string, spec providers.Job, text []byte) (*job, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	baseline, err := json.Marshal(verify.Take(spec.Workdir, spec.Outputs))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"baseline.json": baseline, "cmd": []byte(spec.Shell)}
	if len(spec.Setup) > 0 {
		files["setup"] = []byte(strings.Join(spec.Setup, "\n") + "\n")
	}
	if len(spec.Secrets) > 0 {
		files["secrets"] = wrapper.Exports(spec.Secrets)
	}
	for name, text := range files {
		if err := replaceFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	if err := replaceFile(filepath.Join(dir, "job.json"), text, 0o600); err != nil {
		return nil, err
	}
	return loadJob(dir)
}

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

func (j *job) has(name string) bool {
	_, err := os.Lstat(j.path(name))
	return err == nil
}

// claimed reports whether a shell has the job, or is on its way to it.
func (j *job) claimed() bool {
	select {
	case <-j.gone:
		return j.has("claim")
	default:
		return j.gone != nil || j.has("claim")
	}
}

// beaten waits for a shell that found its claim taken. One that came to look
// when the folder is being removed would find no claim, and run.
func (j *job) beaten() {
	if j.gone != nil {
		<-j.gone
	}
}

func (j *job) over() bool {
	switch j.seen.Status {
	case offer.Completed, offer.Failed, offer.Cancelled:
		return true
	}
	return false
}

// hold keeps a job from starting, also after a restart, or lets it start.
func (j *job) hold(on bool) error {
	if on {
		return replaceFile(j.path("held"), nil, 0o600)
	}
	err := os.Remove(j.path("held"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clear moves aside the files that the job replaces, and fails where a file of others is in
// the way. It does so once: after that a shell of an earlier process may have the job, and the
// files may be its work.
func (j *job) clear() error {
	if j.has("cleared") {
		return nil
	}
	if err := guard.Clear(guard.Start{Job: &j.spec, First: true}); err != nil {
		return err
	}
	return replaceFile(j.path("cleared"), nil, 0o600)
}

// start runs the job's shell in a session of its own, so that it outlives us.
func (b *backend) start(j *job) error {
	err := j.clear()
	var foreign *guard.Foreign
	if errors.As(err, &foreign) {
		o := j.seen
		o.Status, o.Class, o.Reason, o.Ended, o.NotRun = offer.Failed, failure.NotItsOwn, foreign.Error(), time.Now(), true
		return b.record(j, o)
	}
	if err = errors.Join(err, makeParents(j.spec)); err != nil {
		return err
	}
	out, err := os.OpenFile(j.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	words := j.spec.Argv
	if len(words) == 0 {
		words = []string{"/bin/sh", j.path("cmd")}
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", shell, "sh", j.dir}, words...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = j.spec.Dir, out, out
	if cmd.Dir == "" {
		cmd.Dir = j.spec.Workdir
	}
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "EXAMPLE_GREETING=" + b.greeting,
		"MUSTER_TOKEN=" + j.spec.Token, "MUSTER_ADDRESS=" + j.spec.Address,
	}
	for _, v := range j.spec.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		o := j.seen
		o.Status, o.Class, o.Reason, o.Ended = offer.Failed, "missing_file", err.Error(), time.Now()
		return b.record(j, o)
	}
	gone := make(chan struct{})
	j.gone = gone
	go func() {
		_ = cmd.Wait() // no zombies; its files count, not its exit status here
		close(gone)
	}()
	return nil
}

// makeParents makes the folders that outputs go into, up to the first wildcard.
func makeParents(spec providers.Job) error {
	for _, o := range spec.Outputs {
		dir := wrapper.OutputPath(spec.Workdir, o)
		if o.Kind != "glob" {
			dir = filepath.Dir(dir)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	return nil
}

// look records the changes of a job since the last look.
func (b *backend) look(j *job) (ended bool, err error) {
	o := j.seen
	switch {
	case j.has("exit"):
		return true, b.end(j, o)
	case j.has("cancel") && os.Mkdir(j.path("claim"), 0o700) == nil: // an earlier process came no further
		o.Status, o.Ended = offer.Cancelled, time.Now()
		return true, b.record(j, o)
	case j.has("pid") && !running(j.pid()) && !j.has("exit"):
		o.Status, o.Class, o.Ended = offer.Failed, "node_failure", time.Now()
		o.Reason = "its shell is gone and left no exit code"
		if j.has("cancel") {
			o.Status, o.Class = offer.Cancelled, ""
		}
		return true, b.record(j, o)
	case j.has("claim") && o.Status == offer.Queued:
		o.Status, o.Started = offer.Running, time.Now()
		return false, b.record(j, o)
	}
	return false, nil
}

// end judges a job that has ended: exit 0 and every output fresh and whole.
func (b *backend) end(j *job, o offer.Observation) error {
	text, err := os.ReadFile(j.path("exit"))
	if err != nil {
		return err
	}
	exit, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	o.Exit, o.Ended, o.Tail = &exit, time.Now(), j.tail(5)
	o.Status = offer.Completed
	var before verify.Baseline
	if text, err := os.ReadFile(j.path("baseline.json")); err == nil {
		_ = json.Unmarshal(text, &before)
	}
	for _, declared := range j.spec.Outputs {
		found := verify.Check(background, j.spec.Workdir, declared)
		if fresh, why := before.Fresh(j.spec.Workdir, declared); !fresh {
			found.OK, found.Verdict = false, why
		}
		o.Outputs = append(o.Outputs, found)
		if !found.OK {
			o.Status, o.Class, o.Reason = offer.Failed, "unknown", declared.Name+": "+found.Verdict
		}
	}
	if exit != 0 {
		o.Status, o.Class = offer.Failed, "unknown"
	}
	o.Metrics = j.metrics(o.Outputs)
	if o.Status == offer.Failed {
		guard.Note(&j.spec, &o) // the job's next launch may write over the files of this one
	}
	if exit > 128 {
		o.Signal = strings.TrimPrefix(unix.SignalName(syscall.Signal(exit-128)), "SIG")
	}
	if j.has("cancel") && exit != 0 {
		o.Status, o.Class = offer.Cancelled, ""
	}
	return b.record(j, o)
}

// metrics are read from outputs that passed.
func (j *job) metrics(found []offer.Output) map[string]offer.Metric {
	out := map[string]offer.Metric{}
	for _, m := range j.spec.Metrics {
		for _, f := range found {
			if f.Name == m.Output && f.OK {
				path := f.Path
				if !filepath.IsAbs(path) {
					path = filepath.Join(j.spec.Workdir, path)
				}
				out[m.Name] = verify.ReadMetric(m, f, path)
			}
		}
	}
	return out
}

func (j *job) pid() int {
	text, _ := os.ReadFile(j.path("pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

func running(pid int) bool {
	if pid <= 0 || syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // a zombie has ended
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// tail is the last lines of the log.
func (j *job) tail(n int) []string {
	text, _ := os.ReadFile(j.path("log"))
	text = bytes.TrimRight(text, "\n")
	if len(text) == 0 {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	return lines[max(0, len(lines)-n):]
}

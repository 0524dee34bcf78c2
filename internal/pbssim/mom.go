package pbssim

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// runner is the parent of a job's script: it outlives the server, and writes down the status. A
// signal to the whole session ends the script, not it; one that comes before the script exists
// ends its placeholder.
const runner = `early=
for sig in TERM INT HUP USR1 USR2; do trap "early=$sig" $sig; done
out=$PBSSIM_OUT err=$PBSSIM_ERR rc=$PBSSIM_RC
unset PBSSIM_OUT PBSSIM_ERR PBSSIM_RC
[ -z "$early" ] || set -- /bin/sh -c "kill -s $early \$\$"
if [ "$err" ]; then "$@" >"$out" 2>"$err" </dev/null & else "$@" >"$out" 2>&1 </dev/null & fi
child=$!
trap : TERM INT HUP USR1 USR2
while :; do
  wait $child; status=$?
  kill -0 $child 2>/dev/null || break
done
echo $status >"$rc.new"
mv "$rc.new" "$rc"
`

// An exit is how a script ended.
type exit struct {
	status int // of the shell; 128+N for signal N
	killed bool
}

// A mom is the part of the server that runs jobs on nodes.
type mom struct{ *Server }

func (s *Server) mom() mom { return mom{s} }

func (s mom) folder(j *job, t *task) string { return s.path("jobs", s.full(j.taskID(t))) }

// tmpdir is TMPDIR of a task, which its node makes for it, and removes after its end.
func (s mom) tmpdir(j *job, t *task) string { return s.path("tmp", "pbs."+s.full(j.taskID(t))) }

// jobdir is the folder in which a job begins.
func (j *job) jobdir() string {
	for _, v := range j.Vars {
		if home, ok := strings.CutPrefix(v, "PBS_O_HOME="); ok {
			return home
		}
	}
	return "/"
}

// launch starts the script of a task in a session of its own.
func (s mom) launch(j *job, t *task) error {
	dir := s.folder(j, t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(s.tmpdir(j, t), 0o700); err != nil {
		return err
	}
	rc := filepath.Join(dir, "rc."+t.A["run_count"])
	os.Remove(rc)
	args := j.Exec
	if args == nil {
		script := filepath.Join(dir, "SC")
		if err := os.WriteFile(script, j.Script, 0o700); err != nil {
			return err
		}
		shell := j.Shell
		if shell == "" {
			shell = "/bin/bash"
		}
		args = []string{shell, script}
	}
	nodefile := filepath.Join(dir, "nodefile")
	var hosts strings.Builder
	for _, sh := range s.scheduler().shares(t.A["exec_vnode"]) {
		procs := 1
		chunks, _, _ := s.parseSelect(j.A["Resource_List.select"])
		for _, w := range chunks[0].want {
			if w[0] == "mpiprocs" {
				procs = s.amount(w[0], w[1])
			}
		}
		hosts.WriteString(strings.Repeat(sh.node.name+"\n", procs))
	}
	if err := os.WriteFile(nodefile, []byte(hosts.String()), 0o644); err != nil {
		return err
	}
	out, errs := s.spool(j, t)
	for _, path := range []string{out, errs} {
		if path != "" {
			writable(path) // also of a job that is killed before its first command it is there
		}
	}
	cmd := exec.Command("/bin/sh", append([]string{"-c", runner, "pbs"}, args...)...)
	cmd.Env = append(s.environ(j, t, nodefile), "PBSSIM_OUT="+out, "PBSSIM_ERR="+errs, "PBSSIM_RC="+rc)
	cmd.Dir = j.jobdir()
	if _, err := os.Stat(cmd.Dir); err != nil {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.Pid, t.sent = cmd.Process.Pid, 0
	go cmd.Wait() //nolint:errcheck // so that it is no zombie
	s.watch(j, t)
	return nil
}

// environ is PBS's environment of a script.
func (s mom) environ(j *job, t *task, nodefile string) []string {
	cpus := "1"
	chunks, _, _ := s.parseSelect(j.A["Resource_List.select"])
	for _, w := range chunks[0].want {
		if w[0] == "ncpus" {
			cpus = w[1]
		}
	}
	home := j.jobdir()
	env := []string{
		"PATH=/bin:/usr/bin", "ENVIRONMENT=BATCH", "HOME=" + home, "USER=" + j.owner(), "LOGNAME=" + j.owner(), "SHELL=/bin/bash",
		"PBS_JOBID=" + s.full(j.taskID(t)), "PBS_JOBNAME=" + j.A["Job_Name"], "PBS_QUEUE=" + j.A["queue"], "PBS_ENVIRONMENT=PBS_BATCH",
		"PBS_NODEFILE=" + nodefile, "PBS_JOBDIR=" + home, "PBS_NODENUM=0", "PBS_TASKNUM=1", "PBS_MOMPORT=15003", "PBS_JOBCOOKIE=0",
		"TMPDIR=" + s.tmpdir(j, t), "NCPUS=" + cpus, "OMP_NUM_THREADS=" + cpus, "PBSSIM_USER=" + j.owner(),
	}
	if z := os.Getenv("TZ"); z != "" {
		env = append(env, "TZ="+z)
	}
	for _, v := range j.Vars {
		if strings.HasPrefix(v, "PBS_O_") {
			env = append(env, v)
		}
	}
	if t.Index >= 0 {
		env = append(env, "PBS_ARRAY_INDEX="+strconv.Itoa(t.Index), "PBS_ARRAY_ID="+s.full(j.id()))
	}
	return append(env, j.Env...)
}

// spool are the files that a script writes to. Those that it keeps where they
// are, -k doe, are the last ones already.
func (s mom) spool(j *job, t *task) (out, errs string) {
	id := s.full(j.taskID(t))
	out, errs = s.path("spool", id+".OU"), s.path("spool", id+".ER")
	keep, join := j.A["Keep_Files"], j.A["Join_Path"]
	if strings.Contains(keep, "d") {
		if join != "eo" && strings.Contains(keep, "o") && writable(s.target(j, t, "Output_Path", ".OU")) {
			out = s.target(j, t, "Output_Path", ".OU")
		}
		if join != "oe" && strings.Contains(keep, "e") && writable(s.target(j, t, "Error_Path", ".ER")) {
			errs = s.target(j, t, "Error_Path", ".ER")
		}
	}
	switch join {
	case "oe":
		errs = ""
	case "eo":
		out, errs = errs, ""
	}
	return out, errs
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// target is where a file of output belongs.
func (s mom) target(j *job, t *task, which, ext string) string {
	_, path, _ := strings.Cut(j.A[which], ":")
	if t.Index >= 0 {
		path = strings.ReplaceAll(path, "^array_index^", strconv.Itoa(t.Index))
	}
	if info, err := os.Stat(path); strings.HasSuffix(path, "/") || err == nil && info.IsDir() {
		path = filepath.Join(path, s.full(j.taskID(t))+ext)
	}
	return path
}

// deliver copies the output of a script to its destination.
func (s mom) deliver(j *job, t *task) bool {
	id, ok := s.full(j.taskID(t)), true
	for _, f := range []struct{ which, ext string }{{"Output_Path", ".OU"}, {"Error_Path", ".ER"}} {
		text, err := os.ReadFile(s.path("spool", id+f.ext))
		if err != nil {
			continue
		}
		if os.WriteFile(s.target(j, t, f.which, f.ext), text, 0o644) != nil {
			ok = false
			continue
		}
		os.Remove(s.path("spool", id+f.ext))
	}
	return ok
}

// undelivered puts aside files that could not be copied.
func (s mom) undelivered(j *job, t *task) {
	for _, ext := range []string{".OU", ".ER"} {
		name := s.full(j.taskID(t)) + ext
		os.Rename(s.path("spool", name), s.path("undelivered", name)) //nolint:errcheck // one of two may be absent
	}
}

// adopt watches the jobs that an earlier server started.
func (s mom) adopt() {
	s.scheduler().active(func(j *job, t *task) {
		switch {
		case t.Lost != 0:
			s.scheduler().mourn(j, t, s.now())
		case t.Pid != 0:
			s.watch(j, t)
		}
	})
}

// watch notices the end of a task, its walltime and its memory. A run is known
// by its number. A session counts as too large when two looks in a row find it so: for
// an instant a process that starts another shows its memory twice. Of one that is too large
// and too late a real server says that it is too large.
func (s mom) watch(j *job, t *task) {
	run, began := t.A["run_count"], time.Unix(int64(t.A.num("stime")), 0)
	rc := filepath.Join(s.folder(j, t), "rc."+run)
	limit, limited := seconds(j.A["Resource_List.walltime"])
	memory, capped := size(j.A["Resource_List.mem"])
	seen, large := began, false
	var look func()
	look = func() {
		if t.A["run_count"] != run || t.Lost != 0 || t.over() || t.state() != "R" {
			return
		}
		if e, over := ended(t, rc); over {
			s.ended(j, t, e)
			s.scheduler().schedule()
			return
		}
		limit, limited = seconds(j.A["Resource_List.walltime"])
		now := s.now()
		late := limited && now.Sub(began) > time.Duration(limit)*time.Second
		if capped && !s.lenient && t.Cause == "" && (late || now.Sub(seen) > 200*time.Millisecond) {
			before := large
			seen, large = now, resident(t.Pid) > memory
			if large && before {
				s.end(j, t, "mem")
			}
		}
		if late && !large && !s.lenient && t.Cause == "" {
			s.end(j, t, "walltime")
		}
		s.later(pace(now.Sub(began)), look)
	}
	s.later(5*time.Millisecond, look)
}

// pace is how often a run is looked at: often when it is short.
func pace(age time.Duration) time.Duration {
	return min(max(age/20, 10*time.Millisecond), 250*time.Millisecond)
}

// ended reports whether a run is over. A runner that a signal ended before it could catch it
// leaves no status: that signal would have ended the script.
func ended(t *task, rc string) (exit, bool) {
	alive := syscall.Kill(t.Pid, 0) == nil
	text, err := os.ReadFile(rc)
	switch {
	case err == nil:
		n, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
		return exit{status: n}, true
	case alive:
		return exit{}, false
	case t.sent == syscall.SIGTERM:
		return exit{status: 128 + int(t.sent)}, true
	}
	return exit{status: 137, killed: true}, true
}

// end terminates a run: TERM, then KILL.
func (s mom) end(j *job, t *task, cause string) {
	t.Cause = cause
	run, pid := t.A["run_count"], t.Pid
	t.signal(syscall.SIGTERM)
	s.later(s.cfg.Kill, func() {
		if t.A["run_count"] == run && t.state() == "R" && t.Pid == pid {
			t.signal(syscall.SIGKILL)
		}
	})
	s.scheduler().saveTask(j, t)
}

// signal signals all processes of a run.
func (t *task) signal(sig syscall.Signal) {
	t.sent = sig
	killSession(t.Pid, sig)
}

// killSession signals all processes of a session; only the group where there is
// no /proc.
func killSession(session int, sig syscall.Signal) {
	err := syscall.Kill(-session, sig)
	for _, pid := range members(session) {
		if pid != session || errors.Is(err, syscall.ESRCH) {
			syscall.Kill(pid, sig) //nolint:errcheck // it may be gone
		}
	}
}

// members are the processes of a session.
func members(session int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		f := stat(path)
		if len(f) > 3 && f[3] == strconv.Itoa(session) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat are the fields of /proc/PID/stat behind the name of the program.
func stat(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// resident is the memory of a session, in kB.
func resident(session int) (kb int) {
	for _, pid := range members(session) {
		if f := stat(fmt.Sprintf("/proc/%d/stat", pid)); len(f) > 21 {
			pages, _ := strconv.Atoi(f[21])
			kb += pages * os.Getpagesize() / 1024
		}
	}
	return kb
}

// usage is qstat's figures of a run in progress.
func (s mom) usage(j *job, t *task, a attrs) {
	n := int(s.now().Unix()) - t.A.num("stime")
	a["resources_used.cpupercent"], a["resources_used.cput"] = "0", "00:00:00"
	a["resources_used.mem"], a["resources_used.vmem"] = "0kb", "0kb"
	a["resources_used.ncpus"], a["resources_used.walltime"] = j.A["Resource_List.ncpus"], hms(max(n, 0))
}

// ended is the end of a run, and sets the state of the task.
func (s mom) ended(j *job, t *task, e exit) {
	os.RemoveAll(s.tmpdir(j, t))
	if t.Cause == "rerun" {
		s.scheduler().requeue(j, t)
		return
	}
	s.usage(j, t, t.A)
	status, sub, said := e.status, "93", " and failed"
	switch {
	case t.Cause == "walltime":
		status, said = -29, " and exceeded resource walltime"
	case t.Cause == "mem":
		status, said = -27, " and exceeded resource mem"
	case t.Cause == "delete":
		sub, said = "91", " and terminated by "+t.Deleter
		if t.Deleter == "" {
			said = " and terminated"
		}
		status = 256 + 15
		if e.killed {
			status = 256 + 9
		}
	case status == 0:
		sub, said = "92", " and finished"
	case e.killed:
		status = 256 + 9
	}
	t.A["Exit_status"] = strconv.Itoa(status)
	s.stage(j, t, sub, said, s.now())
}

// stage copies output, for so long in state E, and closes the task.
func (s mom) stage(j *job, t *task, sub, said string, since time.Time) {
	ok := s.deliver(j, t)
	if !ok && s.now().Sub(since) < s.cfg.Copy {
		t.A["job_state"], t.A["substate"] = "E", "51"
		j.refresh()
		s.later(100*time.Millisecond, func() { s.stage(j, t, sub, said, since); s.scheduler().schedule() })
		return
	}
	t.A["Stageout_status"] = "1"
	if !ok {
		t.A["Stageout_status"] = "0"
		s.undelivered(j, t)
	}
	t.A["comment"] += said
	s.closeTask(j, t, sub, t.A["Exit_status"])
}

// closeTask puts a task into the history, and its array when it was the last.
func (s mom) closeTask(j *job, t *task, sub, status string) {
	now := strconv.FormatInt(s.now().Unix(), 10)
	a := t.A
	a["Exit_status"], a["substate"], a["obittime"], a["mtime"], a["history_timestamp"] = status, sub, now, now, now
	a["job_state"] = "F"
	if t.Index < 0 {
		s.keep(j)
		s.release(j)
		return
	}
	a["job_state"] = "X"
	j.A["Exit_status"] = "1" // of an array, whether the element that ended last failed
	if status == "0" {
		j.A["Exit_status"] = "0"
	}
	s.closeArray(j)
	s.scheduler().saveTask(j, t)
}

// closeArray ends an array whose elements have all ended.
func (s mom) closeArray(j *job) {
	if j.A["Exit_status"] != "" {
		j.A["Stageout_status"] = "1"
	}
	j.refresh()
	if j.waitingOrRunning() > 0 {
		return
	}
	now := strconv.FormatInt(s.now().Unix(), 10)
	sub, said, ran := "92", " and finished", false
	for _, t := range j.Tasks {
		if t.A["substate"] != "92" {
			sub, said = "93", " and failed"
		}
		ran = ran || t.A["stime"] != ""
	}
	if j.A["deleter"] != "" || !ran {
		sub, said = "91", " and terminated"
	}
	delete(j.A, "deleter")
	if j.A["comment"] != "" {
		j.A["comment"] += said
	}
	j.A["obittime"] = now
	if !ran {
		delete(j.A, "obittime")
	}
	j.A["mtime"] = now
	s.finish(j, sub)
	if ran {
		j.refresh()
		s.keep(j)
	}
}

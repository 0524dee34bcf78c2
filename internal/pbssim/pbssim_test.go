package pbssim

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// A site is a server with a user's shell.
type site struct {
	*Server
	t    testing.TB
	home string // of the user
	dir  string // where commands run
	real bool   // a real server answers, on whose host this is
}

func start(t testing.TB, c Config) *site {
	t.Helper()
	home := t.TempDir()
	return &site{Server: Start(t, c), t: t, home: home, dir: home}
}

// sh runs a line of shell as the user alice.
func (s *site) sh(line string) (out, errs string, rc int) {
	s.t.Helper()
	return s.as("alice", line)
}

// as runs a line of shell as a user.
func (s *site) as(user, line string) (out, errs string, rc int) {
	s.t.Helper()
	var cmd *exec.Cmd
	if s.real {
		cmd = realShell(user, line)
	} else {
		cmd = exec.Command("/bin/bash", "-c", line)
		cmd.Args[0] = "bash"
		cmd.Env = append(os.Environ(), "PATH="+s.Bin+":"+os.Getenv("PATH"), "HOME="+s.home, "PBSSIM_USER="+user, "TZ=UTC", "LANG=C.UTF-8", "SHELL=/bin/bash", "MAIL=")
	}
	cmd.Dir = s.dir
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		s.t.Fatal(err)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// ok is the output of a line that succeeds.
func (s *site) ok(line string) string {
	s.t.Helper()
	out, errs, rc := s.sh(line)
	if rc != 0 || errs != "" {
		s.t.Fatalf("%s: exit %d, %s", line, rc, errs)
	}
	return strings.TrimSpace(out)
}

// qstat is the server's record of a job or an element.
func (s *site) qstat(id string) map[string]any {
	s.t.Helper()
	args := []string{"-x", "-f", "-F", "json", id}
	var r reply
	if s.real {
		r.Out, _, _ = s.sh("qstat '" + strings.Join(args, "' '") + "'")
	} else {
		r = s.Run("qstat", request{Args: args, Env: []string{"TZ=UTC"}})
	}
	var v struct{ Jobs map[string]map[string]any }
	if err := json.Unmarshal([]byte(r.Out), &v); err != nil {
		s.t.Fatalf("%v in %s", err, r.Out)
	}
	return v.Jobs[id]
}

// wait waits until a job has a state.
func (s *site) wait(id, state string) map[string]any {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if j := s.qstat(id); j["job_state"] == state {
			return j
		}
	}
	s.t.Fatalf("%s is %v, not in state %s", id, s.qstat(id), state)
	return nil
}

func (s *site) script(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func TestJobRuns(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("ok.sh", "#PBS -N fromscript\n#PBS -l select=1:ncpus=2 -l walltime=00:02:00\necho id=$PBS_JOBID x=$X in $PBS_O_WORKDIR; echo wrong >&2; exit 3")
	id := s.ok("qsub -v X=7 -j oe -k doe -o $PWD/log ok.sh")
	j := s.wait(id, "F")
	text, _ := os.ReadFile(filepath.Join(s.home, "log"))
	if want := "id=" + id + " x=7 in " + s.home + "\nwrong\n"; string(text) != want {
		t.Errorf("the log is %q, want %q", text, want)
	}
	if j["Exit_status"] != 3.0 || j["substate"] != 93.0 || j["Job_Name"] != "fromscript" || !strings.HasSuffix(j["comment"].(string), " on (pbs1:ncpus=2) and failed") {
		t.Errorf("the job is %v", j)
	}
}

func TestArrayWithCap(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("e.sh", "echo $PBS_ARRAY_INDEX >>all; [ $PBS_ARRAY_INDEX != 2 ]")
	id := s.ok("cd $HOME; qsub -J 0-4%2 -o $PWD/ -j oe e.sh")
	j := s.wait(id, "F")
	if j["substate"] != 93.0 || j["array_state_count"] != "Queued:0 Running:0 Exiting:0 Expired:0" {
		t.Errorf("the array is %v", j)
	}
	element := strings.Replace(id, "[]", "[2]", 1)
	if e := s.qstat(element); e["job_state"] != "F" || e["Exit_status"] != 1.0 || e["array_index"] != 2.0 {
		t.Errorf("the element is %v", e)
	}
}

// A hold of an array that has begun leaves its running elements alone and starts no other, as
// seen on 23.06.
func TestBegunArrayIsHeld(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("h.sh", "while [ ! -e go ]; do sleep 0.05; done")
	id := s.ok("cd $HOME; qsub -J 0-2%1 -o $PWD/ -j oe h.sh")
	s.wait(strings.Replace(id, "[]", "[0]", 1), "R")
	s.ok("qhold '" + id + "'; touch go")
	s.wait(strings.Replace(id, "[]", "[0]", 1), "X")
	if j := s.qstat(id); j["job_state"] != "H" || j["Hold_Types"] != "u" || j["array_state_count"] != "Queued:2 Running:0 Exiting:0 Expired:1" {
		t.Errorf("the array is %v", j)
	}
	s.ok("qrls '" + id + "'")
	s.wait(id, "F")
}

// A server that dies leaves its jobs running, and the next one sees their ends.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("w.sh", "until [ -e go ]; do sleep 0.02; done; exit 5")
	id := s.ok("qsub w.sh")
	s.wait(id, "R")
	after := s.ok("qsub -W depend=afternotok:" + id + " -- /bin/true")
	s.Close()
	if _, errs, rc := s.sh("qstat " + id); rc != 255 || errs != "Connection refused\nqstat: cannot connect to server pbs1 (errno=15010)\n" {
		t.Errorf("a dead server answers %d, %q", rc, errs)
	}
	if err := os.WriteFile(filepath.Join(s.home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Open(s.Dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	s.Server = again
	if j := s.wait(id, "F"); j["Exit_status"] != 5.0 {
		t.Errorf("the job is %v", j)
	}
	if j := s.wait(after, "F"); j["Exit_status"] != 0.0 {
		t.Errorf("the job after it is %v", j)
	}
}

func TestLostSubmission(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	if err := s.Happen("fault", `{"on": "qsub", "do": "lost"}`); err != nil {
		t.Fatal(err)
	}
	if out, errs, rc := s.sh("qsub -h -N mine -- /bin/true"); out != "" || errs == "" || rc != 183 {
		t.Errorf("a lost submission answers %d, %q, %q", rc, out, errs)
	}
	if id := s.ok("qselect -N mine"); id == "" {
		t.Error("a lost submission is not in the queue")
	}
}

// Of several ids, JSON has the jobs of the first that the server knows; text has
// all. Seen on a real server.
func TestJSONHasTheFirstID(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	a, b := s.ok("qsub -h -- /bin/true"), s.ok("qsub -h -- /bin/true")
	out, errs, rc := s.sh("qstat -f -F json 99 " + a + " " + b)
	if rc != 153 || errs != "qstat: Unknown Job Id 99.pbs1\n" || !strings.Contains(out, `"`+a+`"`) || strings.Contains(out, `"`+b+`"`) {
		t.Errorf("JSON: exit %d, %s%s", rc, errs, out)
	}
	if out := s.ok("qstat -f " + a + " " + b); !strings.Contains(out, a) || !strings.Contains(out, b) {
		t.Errorf("text: %s", out)
	}
}

// An array's Exit_status is 1 if the element that ended last failed. Its queued
// elements show it, too, and those that were deleted before they ran.
func TestQueuedElementsShowAnExitStatus(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("e.sh", "[ $PBS_ARRAY_INDEX = 0 ] && exit 7; until [ -e go ]; do sleep 0.02; done")
	id := s.ok("qsub -J 0-2%1 -o $HOME/ -j oe e.sh")
	element := func(i string) string { return strings.Replace(id, "[]", "["+i+"]", 1) }
	s.wait(element("1"), "R")
	if e := s.qstat(element("2")); e["job_state"] != "Q" || e["Exit_status"] != 1.0 || e["array_index"] != nil {
		t.Errorf("a queued element is %v", e)
	}
	s.ok("qdel '" + element("2") + "'")
	if e := s.qstat(element("2")); e["job_state"] != "X" || e["Exit_status"] != 1.0 || e["substate"] != 70.0 || e["stime"] == nil || e["exec_host"] != nil || e["comment"] != "Subjob finished" {
		t.Errorf("an element that was deleted before it ran is %v", e)
	}
	s.ok("touch go")
	if j := s.wait(id, "F"); j["Exit_status"] != 0.0 || j["substate"] != 93.0 {
		t.Errorf("the array is %v", j)
	}
}

// Of an array that is deleted, elements that had ended look deleted, too; those
// that ran keep their own end. Seen on a real server.
func TestDeletedArrayForgetsItsElements(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("e.sh", "[ $PBS_ARRAY_INDEX = 0 ] || sleep 600")
	id := s.ok("qsub -J 0-2%1 -o $HOME/ -j oe e.sh")
	element := func(i string) string { return strings.Replace(id, "[]", "["+i+"]", 1) }
	s.wait(element("1"), "R")
	s.ok("qdel '" + id + "'")
	s.wait(id, "F")
	for i, want := range map[string]any{"0": 1.0, "1": 271.0, "2": 1.0} {
		e := s.qstat(element(i))
		if e["job_state"] != "F" || e["substate"] != 91.0 || e["Exit_status"] != want || (e["exec_host"] != nil) != (i == "1") {
			t.Errorf("element %s is %v", i, e)
		}
	}
}

// A command line that makes no sense gets an answer, and the server stays.
func TestOddCommandLines(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.ok("qsub -h -q debug -- /bin/true")
	for _, line := range []string{
		"qstat ''", "qstat -f -F json 99999999999999999999", "qstat -F", "qdel", "qdel '1[1-'", "qdel '0[9]'", "qsub -a 9999 -- /bin/true", "qsub -l select= -- /bin/true",
		"qsub -l select=0:ncpus=1 -- /bin/true", "qsub -W depend=afterok: -- /bin/true", "qsub -J 5 -- /bin/true", "qsub -N x/y -- /bin/true", "qsub nosuch.sh", "qsub --",
		"qselect -s", "qmgr -c set", "qmgr -c frobnicate", "PBSSIM_USER=root qmgr -c set", "PBSSIM_USER=root qmgr -c 'frob x y'", "pbsnodes nosuch", "pbssim node-down", "pbssim set",
		`pbssim fault '{"on": "x"}'`, "qalter -W depend=afterok:9 9",
	} {
		if _, errs, rc := s.sh(line); rc == 0 || rc >= 160 && strings.Contains(errs, "cannot connect") {
			t.Errorf("%s: exit %d, %s", line, rc, errs)
		}
	}
	s.ok("PBSSIM_USER=root qmgr -c 'delete queue debug'")
	s.ok("qrls 0")
	if out := s.ok("qstat -f 0"); !strings.Contains(out, "job_state = Q") {
		t.Errorf("a job whose queue was deleted: %s", out)
	}
}

// TestTooLargeAndTooLate: of a job that exceeds its memory and its walltime at one look a real
// server says that it exceeded its memory.
func TestTooLargeAndTooLate(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	lenient := func(on bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lenient = on
	}
	lenient(true)
	s.script("mem.sh", "head -c 60m /dev/zero | tail -c 60m | sleep 600")
	large, late := s.ok("qsub -l select=1:ncpus=1:mem=10mb -l walltime=1 -j oe -k doe -o $PWD/large mem.sh"), s.ok("qsub -l walltime=1 -j oe -k doe -o $PWD/late -- /bin/sleep 600")
	pid := func(id string) int {
		n, ok := parseID(id)
		if !ok {
			t.Fatalf("%q is no id", id)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.bySeq[n.seq].Tasks[0].Pid
	}
	s.wait(large, "R")
	s.wait(late, "R")
	began := time.Now()
	for end := began.Add(time.Minute); resident(pid(large)) < 40<<10 || time.Since(began) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it has %d kB", resident(pid(large)))
		}
	}
	lenient(false)
	for id, want := range map[string]float64{large: -27, late: -29} {
		if j := s.wait(id, "F"); j["Exit_status"] != want {
			t.Errorf("%s is %v", id, j)
		}
	}
}

// TestOutputPathOfLetters: OpenPBS takes no other letters in -o than ASCII's.
func TestOutputPathOfLetters(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.script("out.sh", "true\n")
	if _, errs, rc := s.sh("qsub -j oe -o /tmp/wörk/ out.sh"); rc != 2 || !strings.HasPrefix(errs, "qsub: illegal -o value") {
		t.Errorf("exit %d: %s", rc, errs)
	}
	s.ok("qsub -h -j oe -o '/tmp/w;$&rk/' out.sh")
}

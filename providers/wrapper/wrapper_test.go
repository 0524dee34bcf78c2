package wrapper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/providers"
)

// shells are those of this machine that /bin/sh may be somewhere.
func shells() (found [][]string) {
	for _, s := range [][]string{{"dash"}, {"busybox", "sh"}, {"bash", "--posix"}, {"ksh"}, {"mksh"}, {"yash"}} {
		if _, err := exec.LookPath(s[0]); err == nil {
			found = append(found, s)
		}
	}
	return found
}

// run starts the wrapper of a folder under a shell, in a session of its own.
func run(t testing.TB, shell []string, f Folder, j *providers.Job, launch, claim string, plain bool) *exec.Cmd {
	script, err := Install(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell[0], append(append(shell[1:len(shell):len(shell)], script), j.Argv...)...)
	cmd.Env = Environ(j, []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}, Start{Folder: f, Launch: launch, Plain: plain, Claim: claim})
	cmd.Dir = j.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

func fill(t testing.TB, j *providers.Job) Folder {
	dir := t.TempDir()
	f := Folder(filepath.Join(dir, j.Token+".0"))
	if _, err := (&Shelf{Dir: dir}).Fill(f, j, "", false); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneOfManyStartsRuns(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		for _, shared := range []bool{false, true} {
			t.Run(shell[0]+" shared "+strconv.FormatBool(shared), func(t *testing.T) {
				t.Parallel()
				for range 20 {
					dir := t.TempDir()
					j := &providers.Job{Token: "tokentoken", Shell: "echo x >> runs", Workdir: dir, Dir: dir}
					f := fill(t, j)
					claim := ""
					if shared {
						claim = filepath.Join(dir, "claim")
					}
					var wg sync.WaitGroup
					for i := range 6 {
						cmd := run(t, shell, f, j, "launch"+strconv.Itoa(i), claim, false)
						wg.Go(func() { cmd.Run() })
					}
					wg.Wait()
					if b, _ := os.ReadFile(filepath.Join(dir, "runs")); string(b) != "x\n" {
						t.Fatalf("runs: %q", b)
					}
					rec, err := ReadRecord(f.Record())
					if err != nil || rec.PID == 0 || rec.Exit == nil || *rec.Exit != 0 {
						t.Fatalf("%+v %v", rec, err)
					}
				}
			})
		}
	}
}

func TestNothingRunsWithoutAFolder(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		dir := t.TempDir()
		j := &providers.Job{Token: "tokentoken", Shell: "echo x > ran", Workdir: dir, Dir: dir}
		f := fill(t, j)
		os.RemoveAll(string(f))
		run(t, shell, f, j, "l", "", false).Run()
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%v: ran", shell)
		}
	}
}

func TestRecordsTheEnd(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		for command, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143, "exec false": 1, "no-such-thing": 127, "true": 0,
			"kill -TERM 0; sleep 5": 143} {
			t.Run(shell[0]+" "+command, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				j := &providers.Job{Token: "tokentoken", Shell: command, Workdir: dir, Dir: dir}
				f := fill(t, j)
				run(t, shell, f, j, "l", "", Plain(j)).Run()
				rec, err := ReadRecord(f.Record())
				if err != nil || rec.Exit == nil || *rec.Exit != want {
					t.Errorf("%+v %v, want exit %d", rec, err, want)
				}
			})
		}
	}
}

// TestPlainMeansTheSame: what is sourced to save an exec does what a shell of
// its own does.
func TestPlainMeansTheSame(t *testing.T) {
	t.Parallel()
	pieces := []string{"echo a", "echo $HOME", "x=1", "echo \"$x\"", "false", "true", "exit 3", "( exit 2 )", "&&", "||", ";", "\n", "|", "cat",
		"cd /", "pwd", "echo $(echo b)", "if true", "then", "else", "fi", "echo $$", "echo $0", "echo $#", "set -e", "trap 'echo t' EXIT", "return 4",
		"# note", "'", "\"", "nosuch", "> f", "< f", "f() { echo f; }", "f", "echo $?", "export y=2", "env | grep y=", "umask 77", "echo $-", "unset x", "&"}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 8).Draw(rt, "pieces"), " ")
		j := &providers.Job{Token: "tokentoken", Shell: text}
		if !Plain(j) {
			return
		}
		var said [2]string
		for i, plain := range []bool{true, false} {
			dir := t.TempDir()
			j.Workdir, j.Dir = dir, dir
			f := fill(t, j)
			cmd := run(t, []string{"/bin/sh"}, f, j, "l", "", plain)
			out, _ := cmd.Output()
			rec, err := ReadRecord(f.Record())
			if err != nil || rec.Exit == nil {
				rt.Fatalf("%q: %+v %v", text, rec, err)
			}
			said[i] = strings.ReplaceAll(string(out), dir, "DIR") + "exit " + strconv.Itoa(*rec.Exit)
		}
		if said[0] != said[1] {
			rt.Fatalf("%q: sourced %q, run %q", text, said[0], said[1])
		}
	})
}

func TestOutputPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"a/b.pt": "/w/a/b.pt", "/abs/x": "/abs/x", "a/../b": "/w/b"} {
		if got := OutputPath("/w", providers.Output{Kind: "path", Path: path}); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]string{"a/b/*.pt": "/w/a/b", "a/part-*/x": "/w/a", "*.csv": "/w"} {
		if got := OutputPath("/w", providers.Output{Kind: "glob", Path: path}); got != want {
			t.Errorf("glob %s: %s", path, got)
		}
	}
}

package wrapper

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
)

// eachShell runs a test under every shell that /bin/sh may be somewhere: dash
// is Debian's, busybox that of Alpine and of containers, bash most others',
// mksh Android's. (No Linux has ksh93 or yash there, whose $? after a signal is
// another: 256, or 384, and its number.)
func eachShell(t *testing.T, fn func(t *testing.T, shell []string)) {
	for _, shell := range [][]string{{"dash"}, {"busybox", "sh"}, {"bash", "--posix"}, {"mksh"}} {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			needs.Program(t, shell[0])
			fn(t, shell)
		})
	}
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
	if _, err := (&FolderPool{Dir: dir}).Fill(f, j, "", false); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneOfManyStartsRuns(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		for _, shared := range []bool{false, true} {
			t.Run("shared "+strconv.FormatBool(shared), func(t *testing.T) {
				t.Parallel()
				for range 20 {
					oneOfMany(t, shell, shared)
				}
			})
		}
	})
}

func oneOfMany(t *testing.T, shell []string, shared bool) {
	dir := t.TempDir()
	j := &providers.Job{Token: rand.Text(), Shell: "echo x >> runs", Workdir: dir, Dir: dir}
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

func TestNothingRunsWithoutAFolder(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		dir := t.TempDir()
		j := &providers.Job{Token: rand.Text(), Shell: "echo x > ran", Workdir: dir, Dir: dir}
		f := fill(t, j)
		os.RemoveAll(string(f))
		run(t, shell, f, j, "l", "", false).Run()
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Error("it ran")
		}
	})
}

func TestRecordsTheEnd(t *testing.T) {
	// Requirement: SUB-13
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		for command, want := range map[string]int{"exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143, "exec false": 1, "no-such-thing": 127, "true": 0,
			"kill -TERM 0; sleep 5": 143} {
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				j := &providers.Job{Token: rand.Text(), Shell: command, Workdir: dir, Dir: dir}
				f := fill(t, j)
				run(t, shell, f, j, "l", "", Plain(j)).Run()
				rec, err := ReadRecord(f.Record())
				if err != nil || rec.Exit == nil || *rec.Exit != want {
					t.Errorf("%+v %v, want exit %d", rec, err, want)
				}
			})
		}
	})
}

// TestSourcesSetupAndSecrets: what comes before the command is the job's own
// environment, and a failing setup is the job's end.
func TestSourcesSetupAndSecrets(t *testing.T) {
	// Requirement: ENV-04
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		dir := t.TempDir()
		secret := "it's $HOME `id`\nü"
		secrets := filepath.Join(dir, "secrets")
		if err := os.WriteFile(secrets, Exports([]providers.EnvVar{{Name: "KEY", Value: secret}}), 0o600); err != nil {
			t.Fatal(err)
		}
		for last, want := range map[string]int{"true": 0, "( exit 9 )": 9} {
			j := &providers.Job{Token: rand.Text(), Argv: []string{"/bin/sh", "-c", `printf %s "$KEY$FROM$1" > said`, "sh", "a  b"},
				Setup: []string{"export FROM=setup", last}, Workdir: dir, Dir: dir}
			f := Folder(filepath.Join(t.TempDir(), j.Token+".0"))
			if _, err := (&FolderPool{Dir: filepath.Dir(string(f))}).Fill(f, j, secrets, false); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(dir, "said"))
			run(t, shell, f, j, "l", "", false).Run()
			rec, err := ReadRecord(f.Record())
			if err != nil || rec.Exit == nil || *rec.Exit != want {
				t.Errorf("%s: %+v %v, want exit %d", last, rec, err, want)
			}
			said, _ := os.ReadFile(filepath.Join(dir, "said"))
			if want == 0 && string(said) != secret+"setupa  b" || want != 0 && len(said) > 0 {
				t.Errorf("%s: the job said %q", last, said)
			}
		}
	})
}

// TestPlainMeansTheSame: what is sourced to save an exec does what a shell of
// its own does. bash is left out: what it makes of misused builtins ("exit 3
// echo a") depends on whether it was sourced.
func TestPlainMeansTheSame(t *testing.T) {
	t.Parallel()
	eachShell(t, func(t *testing.T, shell []string) {
		if shell[0] == "bash" {
			t.Skip("bash tells sourced misuse of builtins apart")
		}
		rapid.Check(t, func(rt *rapid.T) { plainMeansTheSame(t, rt, shell) })
	})
}

var plainPieces = []string{"echo a", "echo $HOME", "x=1", "echo \"$x\"", "false", "true", "exit 3", "( exit 2 )", "&&", "||", ";", "\n", "|", "cat",
	"cd /", "pwd", "echo $(echo b)", "if true", "then", "else", "fi", "echo $$", "echo $0", "echo $#", "set -e", "trap 'echo t' EXIT", "return 4",
	"# note", "'", "\"", "nosuch", "> f", "< f", "f() { echo f; }", "f", "echo $?", "export y=2", "env | grep y=", "umask 77", "echo $-", "unset x"}

func plainMeansTheSame(t *testing.T, rt *rapid.T, shell []string) {
	text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(plainPieces), 1, 8).Draw(rt, "pieces"), " ")
	j := &providers.Job{Token: rand.Text(), Shell: text}
	if !Plain(j) {
		return
	}
	var said [2]string
	for i, plain := range []bool{true, false} {
		dir := t.TempDir()
		j := *j
		j.Workdir, j.Dir = dir, dir
		f := fill(t, &j)
		if !plain { // as /bin/sh would run it, were it this shell
			j.Argv = append(slices.Clone(shell), filepath.Join(string(f), "cmd"))
		}
		out, _ := run(t, shell, f, &j, "l", "", plain).Output()
		rec, err := ReadRecord(f.Record())
		if err != nil || rec.Exit == nil {
			rt.Fatalf("%q: %+v %v", text, rec, err)
		}
		said[i] = strings.ReplaceAll(string(out), dir, "DIR") + "exit " + strconv.Itoa(*rec.Exit)
	}
	if said[0] != said[1] {
		rt.Fatalf("%q: sourced %q, run %q", text, said[0], said[1])
	}
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

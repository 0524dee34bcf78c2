package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// openWorld is a campaign that has everything a plan may follow from beside
// the campaign's own files.
const openWorld = `campaign "open" {
  required_providers = { local = ">= 0.0" }
}
variable "word" { default = "a" }
source {
  dir     = "."
  include = ["code/**", "out/**"]
  exclude = ["code/*.log"]
}
phase "p" {
  grid { axes = { i = range(3) } }
  job {
    command = "echo ${cell.i} ${var.word} ${trimspace(file("word.txt"))} ${fileexists("flag") ? 1 : 2} ${join(",", fileset("set", "*.csv"))} > ${output.x}"
    env     = { T = templatefile("t.tmpl", { n = 1 }), H = pathexpand("~/data"), S = filesha256("word.txt"), TRY = try(file("maybe.txt"), "none") }
    secret "TOKEN" { env = "AGAIN_TOKEN" }
    secret "KEY" { file = "key.txt" }
    resources { walltime = "1m" }
    output "x" { path = "out/${cell.i}" }
  }
  precondition {
    condition = fileexists("word.txt")
    message   = "There is no word."
  }
}
`

// TestSettledSeesChanges: whatever changed, a plan from a glance at the state
// says what a plan from the whole state says.
func TestSettledSeesChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("plans a hundred times; make test does")
	}
	t.Parallel()
	needs.Program(t, "sh")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"c.muster.hcl": openWorld, "word.txt": "hello\n", "set/a.csv": "", "t.tmpl": "n is ${n}", "key.txt": "key", "code/main.py": "print()", "code/a.log": "",
	} {
		lay(t, filepath.Join(dir, name), text)
	}
	e := exampleOf(t, dir)
	home := t.TempDir()
	e.env = append(e.env, "AGAIN_TOKEN=one", "HOME="+home, "MUSTER_NOW=2026-10-01T09:00:00Z")
	e.muster(0, "apply", "-auto-approve")
	e.muster(0, "plan", "-detailed-exitcode")

	e.plansAlike("Nothing to do: 3 jobs are done and verified.", []change{
		{what: "nothing"},
		{what: "a secret's value", env: "AGAIN_TOKEN=two"},
		{what: "a secret that is not there", env: "AGAIN_TOKEN="},
		{what: "a secret's file", file: "key.txt", text: "other"},
		{what: "a file that no pattern takes", file: "notes.txt", text: "x"},
		{what: "a file that a pattern leaves out", file: "code/a.log", text: "x"},
		{what: "a file that is read", file: "word.txt", text: "HELLO\n", code: 2},
		{what: "a file that is looked for", file: "flag", text: "", code: 2},
		{what: "a file that is tried", file: "maybe.txt", text: "x", code: 2},
		{what: "a file that a glob takes", file: "set/b.csv", text: "", code: 2},
		{what: "a file that no glob takes", file: "set/b.txt", text: ""},
		{what: "a template", file: "t.tmpl", text: "n = ${n}", code: 2},
		{what: "where home is", env: "HOME=" + t.TempDir(), code: 2},
		{what: "a file of the source", file: "code/main.py", text: "pass", code: 2},
		{what: "a file more in the source", file: "code/lib/new.py", text: "", code: 2},
		{what: "a file beside the outputs", file: "out/3", text: "", code: 2},
		{what: "an output", file: "out/1", text: "x"},
		{what: "a variable in the environment", env: "MUSTER_VAR_word=b", code: 2},
		{what: "a variable", args: []string{"-var=word=b"}, code: 2},
		{what: "a variable's file", file: "c.auto.mustervars.hcl", text: `word = "b"`, code: 2},
		{what: "a comment", file: "more.muster.hcl", text: "# nothing\n"},
		{what: "a job imported long ago", file: "more.muster.hcl", text: "import {\n  to = phase.p[\"i=1\"]\n  backend = backend.local.local\n  id = \"1\"\n}\n"},
		{what: "a phase more", file: "more.muster.hcl", text: "phase \"more\" {\n  job {\n    command = \"true\"\n  }\n}\n", code: 2},
		{what: "the next day", env: "MUSTER_NOW=2026-10-02T09:00:00Z"},
		{what: "who reads it", env: "LC_ALL=C"},
		{what: "how it is asked for", args: []string{"-refresh=false"}},
	})
}

// A change is the difference between two plans.
type change struct {
	what string
	file string // that gets the text; "": none
	text string
	env  string
	args []string
	code int
}

// plansAlike plans after each change, which it undoes, of a campaign whose plan
// says a text: from a glance at the state and from the whole state.
func (e *sample) plansAlike(says string, changes []change) {
	t := e.t
	t.Helper()
	for _, c := range changes {
		with := *e
		if c.env != "" {
			with.env = append(with.env[:len(with.env):len(with.env)], c.env)
		}
		plan := append([]string{"plan", "-detailed-exitcode"}, c.args...)
		if text := e.muster(0, "plan"); !strings.Contains(text, says) {
			t.Fatalf("before %s:\n%s", c.what, text)
		}
		undo := func() {}
		if c.file != "" {
			undo = replaced(t, filepath.Join(e.dir, c.file), c.text)
		}
		glance := with.stdout(c.code, plan...)
		whole := with.withoutGlance(func() string { return with.stdout(c.code, plan...) })
		if whole != glance {
			t.Errorf("%s: from a glance:\n%s\nfrom the whole state:\n%s", c.what, glance, whole)
		}
		undo()
		if strings.HasPrefix(c.file, "out/") {
			e.muster(0, "apply", "-refresh-only") // the same bytes, changed at another time
		}
	}
}

// withoutGlance is the output of show without a glance at the state.
func (e *sample) withoutGlance(show func() string) string {
	e.t.Helper()
	seen := filepath.Join(e.dir, "muster.state.glance")
	if err := os.Rename(seen, seen+".away"); err != nil {
		e.t.Fatal(err)
	}
	text := show()
	if err := os.Rename(seen+".away", seen); err != nil {
		e.t.Fatal(err)
	}
	return text
}

// stoppedWorld is a campaign of which half the jobs fail, each in its own way.
const stoppedWorld = `campaign "stopped" {}
variable "attempts" {
  type    = number
  default = 1
}
phase "p" {
  grid { axes = { who = ["ann", "bob", "cid", "dan", "eve", "fay"] } }
  retry {
    max_attempts = var.attempts
    on           = ["unknown"]
  }
  job {
    command = "echo this is ${cell.who}; case ${cell.who} in ann|bob|cid) exit 5;; esac; echo ${cell.who} > ${output.x}"
    resources { walltime = "1m" }
    output "x" { path = "out/${cell.who}" }
  }
  precondition {
    condition = !fileexists("stop")
    message   = "It is to stop."
  }
}
budget "b" {
  limits   = { cpu_hours = 100 }
  deadline = "2036-10-01T12:00:00Z"
}
`

// TestSettledWithStoppedJobs: the same for jobs that failed, are held or were
// cancelled.
func TestSettledWithStoppedJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("plans a hundred times; make test does")
	}
	t.Parallel()
	needs.Program(t, "sh")
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "c.muster.hcl"), stoppedWorld)
	e := exampleOf(t, dir)
	e.env = append(e.env, "MUSTER_NOW=2036-10-01T09:00:00Z")
	e.muster(3, "apply", "-auto-approve")
	failed := `"status":"failed","class":"unknown"`
	text := e.stdout(0, "state", "pull")
	if strings.Count(text, failed) != 3 {
		t.Fatalf("not three jobs failed:\n%s", text)
	}
	for _, status := range []string{"held", "cancelled"} {
		text = strings.Replace(text, failed, `"status":"`+status+`","class":"unknown","reason":"it looked odd","by":"ada"`, 1)
	}
	lay(t, filepath.Join(e.dir, "pushed.json"), text)
	e.muster(0, "state", "push", "pushed.json")
	said := e.stdout(0, "plan")
	for _, want := range []string{"unknown, exit 5", "cancelled by ada: it looked odd", "unknown, it looked odd, by ada"} {
		if !strings.Contains(said, want) {
			t.Errorf("the plan does not say %q:\n%s", want, said)
		}
	}

	tally := "0 to run, 0 to re-run, 0 to cancel, 3 unchanged, 3 held."
	e.plansAlike(tally, []change{
		{what: "nothing"},
		{what: "the hour, past a deadline", env: "MUSTER_NOW=2036-10-01T18:00:00Z"},
		{what: "the next day", env: "MUSTER_NOW=2036-10-02T09:00:00Z"},
		{what: "a file that a stopped job would make", file: "out/bob", text: "x"},
		{what: "a file that a done job made", file: "out/eve", text: "x"},
		{what: "a precondition", file: "stop", text: ""},
		{what: "how often a job is tried", env: "MUSTER_VAR_attempts=2", code: 2},
		{what: "what a failure means", file: "more.muster.hcl", text: "failure \"odd\" {\n  exit_codes = [5]\n  action = \"retry\"\n}\n"},
		{what: "what a job asks for", file: "c.muster.hcl", text: strings.ReplaceAll(stoppedWorld, `"1m"`, `"2m"`), code: 2},
		{what: "what a job does", file: "c.muster.hcl", text: strings.ReplaceAll(stoppedWorld, "exit 5", "exit 6"), code: 2},
		{what: "a stopped job less", file: "c.muster.hcl", text: strings.ReplaceAll(stoppedWorld, `"ann", `, ``), code: 2},
		{what: "a job more", file: "c.muster.hcl", text: strings.ReplaceAll(stoppedWorld, `"fay"`, `"fay", "guy"`), code: 2},
		{what: "a job that needs a stopped one", file: "more.muster.hcl", text: "phase \"all\" {\n  depends_on = [phase.p]\n  job { command = \"true\" }\n}\n"},
		{what: "a comment", file: "more.muster.hcl", text: "# nothing\n"},
		{what: "how it is asked for", args: []string{"-refresh=false"}},
	})

	for _, c := range []struct {
		do    []string
		code  int
		tally string
	}{
		{[]string{"resume", `phase.p["who=cid"]`}, 2, "1 to run, 0 to re-run, 0 to cancel, 3 unchanged, 2 held."},
		{[]string{"hold", "-reason=the data is bad", "phase.p"}, 0, tally},
		{[]string{"resume", "phase.p"}, 2, "3 to run, 0 to re-run, 0 to cancel, 3 unchanged."},
	} {
		e.muster(0, c.do...)
		after := e.stdout(c.code, "plan", "-detailed-exitcode")
		if !strings.Contains(after, c.tally) {
			t.Errorf("after %v:\n%s", c.do, after)
		}
	}
}

// TestSettledInEveryForm: a plan of unchanged work is the same bytes in every
// form, made from the whole state or from a glance at it, also after a commit.
func TestSettledInEveryForm(t *testing.T) {
	if testing.Short() {
		t.Skip("plans a hundred times; make test does")
	}
	t.Parallel()
	needs.Program(t, "sh")
	needs.Program(t, "git")
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "c.muster.hcl"), `campaign "forms" {}
source { include = ["code/**"] }
phase "p" {
  grid { axes = { i = range(3) } }
  retry {
    max_attempts = 2
    on           = ["unknown"]
  }
  job {
    command = "echo ${cell.i} > ${output.x}; test ${cell.i} != 1 || test -e again || { touch again; exit 1; }"
    resources { walltime = "1m" }
    output "x" { path = "out/${cell.i}" }
  }
}
`)
	lay(t, filepath.Join(dir, "code", "main.py"), "print()")
	e := exampleOf(t, dir)
	e.env = append(e.env, "MUSTER_NOW=2026-10-01T09:00:00Z", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = e.dir, append(os.Environ(), e.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "code")
	git("commit", "-q", "-m", "one")
	e.muster(0, "apply", "-auto-approve")

	for _, form := range [][]string{nil, {"-markdown"}, {"-json"}, {"-out=x.mplan"}, {"-json-into=x.json"}, {"-json", "-out=x.mplan"}} {
		show := func() string {
			t.Helper()
			text := e.stdout(0, append([]string{"plan"}, form...)...)
			for _, name := range []string{"x.mplan", "x.json"} {
				saved, err := os.ReadFile(filepath.Join(e.dir, name))
				if err == nil {
					text += string(saved)
					err = os.Remove(filepath.Join(e.dir, name))
				}
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			return text
		}
		for range 2 {
			glance := show()
			if whole := e.withoutGlance(show); whole != glance {
				t.Errorf("%v from the whole state: %s", form, firstDifference([]byte(whole), []byte(glance)))
			}
			git("commit", "-q", "--allow-empty", "-m", "more")
		}
	}
}

// stdout is muster without what it says on stderr while it waits.
func (e *sample) stdout(code int, args ...string) string {
	e.t.Helper()
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = e.dir, append(os.Environ(), e.env...)
	out, err := cmd.Output()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		e.t.Fatalf("muster %s: %v, want exit %d\n%s%s", strings.Join(args, " "), err, code, out, stderrOf(err))
	}
	return string(out)
}

// stderrOf is the stderr of a failed program.
func stderrOf(err error) []byte {
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.Stderr
	}
	return nil
}

func lay(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replaced puts another file in the place of one, or of none, and gives what
// puts the old one back, as it was to its inode.
func replaced(t *testing.T, path, text string) (undo func()) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept")
	moved := os.Rename(path, kept)
	lay(t, path, text)
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if moved == nil {
			if err := os.Rename(kept, path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The sessions of the documentation are run as they stand: files are written
// from their blocks, commands are given to the shell, and what is printed
// must hold every line the page shows, in order, up to times, digests and
// drawn bars. A block of the language "console" is a session:
//
//	```console                    run where the page's files are
//	```console in=examples/x      run in a copy of that directory
//	```console varies             what is shown depends on the moment: only
//	                              the last words (Plan:, Done:, …) are held
//
// and ```hcl NAME or ```sh NAME is the file NAME. UPDATE_DOCS=1 writes what
// was printed into the page, to be read before it is committed.
func TestDocs(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole campaigns; make test does")
	}
	t.Parallel()
	for _, page := range []string{"README.md", "docs/tutorial.md", "docs/guide/approve.md", "docs/guide/failures.md", "docs/guide/files.md", "docs/guide/rehearsal.md"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			runPage(t, page)
		})
	}
}

// repository is the top of the repository, as seen from this package's tests.
const repository = "../.."

func runPage(t *testing.T, page string) {
	path := filepath.Join(repository, page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := session{t: t, page: page, dir: sessionDir(t), copies: map[string]string{}}
	var out strings.Builder
	for block := range blocks(string(text)) {
		out.WriteString(s.block(block))
	}
	if s.commands == 0 {
		t.Fatalf("%s has no session to run", page)
	}
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A block is a fenced block, or the prose between two.
type block struct {
	fenced     bool
	info, text string
}

// blocks splits a page.
func blocks(page string) func(yield func(block) bool) {
	return func(yield func(block) bool) {
		rest := page
		for {
			at := strings.Index(rest, "\n```")
			if at < 0 {
				yield(block{text: rest})
				return
			}
			info, body, _ := strings.Cut(rest[at+4:], "\n")
			end := strings.Index("\n"+body, "\n```\n")
			if end < 0 || !yield(block{text: rest[:at+1]}) || !yield(block{true, info, body[:end]}) {
				return
			}
			rest = body[end+3:]
		}
	}
}

type session struct {
	t        *testing.T
	page     string
	dir      string
	copies   map[string]string // directory of the repository → its copy
	commands int
}

// block does what a block says and returns it as it should stand.
func (s *session) block(b block) string {
	if !b.fenced {
		return b.text
	}
	text := b.text
	words := strings.Fields(b.info)
	switch {
	case len(words) > 1 && (words[0] == "hcl" || words[0] == "sh"):
		s.write(words[1], text)
	case len(words) > 0 && words[0] == "console":
		text = s.console(words[1:], text)
	}
	return "```" + b.info + "\n" + text + "```"
}

func (s *session) write(name, text string) {
	if strings.HasPrefix(name, "in=") { // an excerpt of a file that exists
		s.excerpt(strings.TrimPrefix(name, "in="), text)
		return
	}
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// excerpt compares the lines of a block with the file they are from; "…" stands for omitted
// lines.
func (s *session) excerpt(name, text string) {
	file, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		s.t.Fatal(err)
	}
	holds(s.t, s.page+": "+name, text, string(file))
}

// announced are waits of more than 400 ms, which a slow machine has and a fast
// one has not.
var announced = regexp.MustCompile(`(?m)^Waiting for .*\n`)

func (s *session) console(flags []string, text string) string {
	dir, varies := s.dir, slices.Contains(flags, "varies")
	for _, f := range flags {
		if from, ok := strings.CutPrefix(f, "in="); ok {
			dir = s.copyOf(from)
		}
	}
	var out strings.Builder
	for _, step := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(strings.TrimSuffix(step, "\n"), "\n")
		printed, code := s.run(dir, command)
		if !s.expected(command, code, varies) {
			s.t.Fatalf("%s: %s\nexit %d:\n%s", s.page, command, code, printed)
		}
		printed = announced.ReplaceAllString(printed, "")
		if varies {
			shown = lastWords(shown)
		}
		if os.Getenv("UPDATE_DOCS") == "" {
			holds(s.t, s.page+": "+command, shown, printed)
		}
		fmt.Fprintf(&out, "$ %s\n%s\n\n", command, strings.Trim(printed, "\n"))
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		return text
	}
	return regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.TrimRight(out.String(), "\n")+"\n", "\n\n")
}

// killer begins a command that is to be killed before it ends; on a machine
// that is faster than thought it may end first, if the page says that it varies.
const killer = "timeout -s KILL "

func (s *session) expected(command string, code int, varies bool) bool {
	if strings.HasPrefix(command, killer) {
		return code == 128+int(syscall.SIGKILL) || varies && code == 0
	}
	return code == 0
}

// run gives a command to the shell; what it prints comes as one text.
func (s *session) run(dir, command string) (string, int) {
	s.commands++
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), sessionEnv(s.dir)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return out.String(), exit.ExitCode()
	case err != nil:
		s.t.Fatalf("%s: %v", command, err)
	}
	return out.String(), 0
}

func (s *session) copyOf(from string) string {
	if dir, ok := s.copies[from]; ok {
		return dir
	}
	dir := filepath.Join(s.dir, filepath.Base(from))
	copyCampaign(s.t, filepath.Join(repository, from), dir)
	s.copies[from] = dir
	return dir
}

// sessionEnv is that of a person at a terminal without colour, with a queue
// of the test's own.
func sessionEnv(dir string) []string {
	return []string{
		"MUSTER_SPOOL=" + filepath.Join(dir, ".spool"), "XDG_STATE_HOME=" + filepath.Join(dir, ".state"), "MUSTER_QUEUE_IDLE=200ms", "MUSTER_WHO=ada", "LANG=C.UTF-8", "LC_ALL=",
		"NO_COLOR=1", "CI=", "MUSTER_CLI_ARGS=", "MUSTER_NOW=", "GOFLAGS=",
	}
}

// sessionDir is a directory that goes when the test's queue has let go of it.
func sessionDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "muster")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		queueGone(filepath.Join(dir, ".spool"))
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove what the session left: %v", err)
		}
	})
	return dir
}

// queueGone waits until the queue of a spool has nothing left to do and ends.
func queueGone(spool string) {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		f, err := os.Open(filepath.Join(spool, "lock"))
		if err != nil {
			return // there never was one
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		f.Close()
		if err == nil {
			return
		}
	}
}

// copyCampaign copies what belongs to a campaign, and nothing that a run left.
func copyCampaign(t *testing.T, from, to string) {
	left := []string{"out", ".muster", "results"}
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(from, path)
		switch {
		case d.IsDir() && slices.Contains(left, rel):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case strings.HasPrefix(d.Name(), "muster.state."):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks that every line of want is in got, in order.
func holds(t *testing.T, what, want, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	at := 0
	for _, line := range strings.Split(want, "\n") {
		if w := normal(line); w != "" && w != "…" && w != "# …" {
			for at < len(lines) && normal(lines[at]) != w {
				at++
			}
			if at == len(lines) {
				t.Errorf("%s\nshows   %q\nas      %q\nbut this was printed:\n%s", what, line, w, got)
				return
			}
			at++
		}
	}
}

var (
	drawn    = regexp.MustCompile(`▕.*`)
	moments  = regexp.MustCompile(`\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?`)
	digests  = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)
	spans    = regexp.MustCompile(`<?\b\d+(\.\d+)?(ms|s|m|h)( \d+s| \d+m)?\b`)
	sizes    = regexp.MustCompile(`\b(\d+\.\d+MiB|\d{1,4}KiB|\d\d?MiB)\b`) // as small jobs have them
	decimals = regexp.MustCompile(`<?\b\d+\.\d+|–`)
	measured = regexp.MustCompile(`#MiB|too short to measure|not measured`) // what a job used; a busy machine takes long enough, or too long, to measure it
	farthest = regexp.MustCompile(`phase\.\S+ #×`)                          // the job whose time was farthest from the expected one
	rules    = regexp.MustCompile(`-{3,}`)
	slots    = regexp.MustCompile(`\d+ of \d+ slots free`) // as many as the machine has cores
	blanks   = regexp.MustCompile(`\s+`)
	bases    = regexp.MustCompile(`: (mean of|fitted as .* from) (\d+ runs).*`) // of runs that differ by little, either
)

// normal is a line without what differs from run to run.
func normal(line string) string {
	line = drawn.ReplaceAllString(line, "BAR")
	line = bases.ReplaceAllString(line, ": from $2")
	line = moments.ReplaceAllString(line, "TIME")
	line = digests.ReplaceAllString(line, "DIGEST")
	line = spans.ReplaceAllString(line, "#")
	line = sizes.ReplaceAllString(line, "#MiB")
	line = measured.ReplaceAllString(line, "#")
	line = decimals.ReplaceAllString(line, "#")
	line = farthest.ReplaceAllString(line, "JOB #×")
	line = rules.ReplaceAllString(line, "---")
	line = slots.ReplaceAllString(line, "# slots free")
	return strings.TrimSpace(blanks.ReplaceAllString(line, " "))
}

// lastWords are the lines that stand whatever the moment.
func lastWords(text string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		for _, word := range []string{"Done:", "Nothing to do:"} {
			if strings.HasPrefix(line, word) {
				out = append(out, line)
			}
		}
	}
	return strings.Join(out, "\n")
}

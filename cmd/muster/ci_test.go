package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

// The pipelines of examples/ci, step by step, in a repository: with git, bash,
// curl and muster as they are, and a server that takes the comments.

// A runner is a machine of a project's own, on which a forge runs jobs.
type runner struct {
	t        *testing.T
	jobs     []ciJob
	repo     string
	home     string // what every job finds again
	api      *httptest.Server
	drops    bool // the forge drops what waits in a group when another job comes
	mu       sync.Mutex
	comments []string // as they stand; a comment's id is its place, from 1
	was      []string // every text that a comment had
	env      []string
}

// A ciJob is a job of a pipeline, in one of the two languages.
type ciJob struct {
	name  string
	when  string // condition
	alone string // group in which one job runs at a time, "" for none
	kills bool   // a newer one in the group ends this
	keeps []string
	steps []ciStep
}

// A ciStep is a script with what it sees.
type ciStep struct {
	when string
	run  string
	env  map[string]string
}

// newRunner makes a repository whose main branch holds the campaign.
func newRunner(t *testing.T, read func(*testing.T, []byte) []ciJob, file string) *runner {
	for _, tool := range []string{"git", "bash", "curl", "jq"} {
		needs.Program(t, tool)
	}
	root := sessionDir(t)
	r := &runner{t: t, repo: filepath.Join(root, "checkout"), home: filepath.Join(root, "home")}
	text, err := os.ReadFile(filepath.Join(repository, "examples", "ci", file))
	if err != nil {
		t.Fatal(err)
	}
	r.jobs = read(t, text)
	r.api = httptest.NewServer(http.HandlerFunc(r.comment))
	t.Cleanup(r.api.Close)
	r.env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }), sessionEnv(root)...)
	r.env = append(r.env, "HOME="+root, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	copyCampaign(t, filepath.Join(repository, "examples", "ci"), r.repo)
	if err := os.MkdirAll(r.home, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q", "-b", "main")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "a campaign")
	return r
}

// stranger's comment is on the request already, and begins as the pipeline's do: nobody may
// change it. The comments fill more than one page.
const (
	stranger  = "<!-- muster plan -->\nnot by the pipeline"
	strangers = 200
)

// comment is the forge's end of comments: in JSON as GitHub takes them, as a
// form as GitLab does.
func (r *runner) comment(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]bool{"/repos/lab/paper/issues/7/comments": true, "/projects/12/merge_requests/7/notes": true}
	one := strings.NewReplacer("/repos/lab/paper/issues/comments/", "", "/projects/12/merge_requests/7/notes/", "").Replace(q.URL.Path)
	id, _ := strconv.Atoi(one)
	authorized := q.Header.Get("Authorization") == "Bearer secret-token" || q.Header.Get("PRIVATE-TOKEN") == "secret-token"
	switch {
	case !authorized:
	case q.Method == http.MethodGet && q.URL.Path == "/user":
		fmt.Fprint(w, `{"id": 5}`)
		return
	case q.Method == http.MethodGet && all[q.URL.Path]:
		var list []map[string]any
		for i := range strangers {
			list = append(list, map[string]any{"id": 1000 + i, "body": stranger, "user": map[string]any{"login": "mallory"}, "author": map[string]any{"id": 66}})
		}
		for i, body := range r.comments {
			list = append(list, map[string]any{"id": i + 1, "body": body, "user": map[string]any{"login": "github-actions[bot]"}, "author": map[string]any{"id": 5}})
		}
		per, _ := strconv.Atoi(q.FormValue("per_page"))
		page, _ := strconv.Atoi(q.FormValue("page"))
		per = min(max(per, 1), 100) // as both forges have it
		from := min((max(page, 1)-1)*per, len(list))
		json.NewEncoder(w).Encode(append([]map[string]any{}, list[from:min(from+per, len(list))]...))
		return
	case q.Method == http.MethodPost && all[q.URL.Path]:
		r.comments = append(r.comments, "")
		id = len(r.comments)
		fallthrough
	case (q.Method == http.MethodPatch || q.Method == http.MethodPut || q.Method == http.MethodPost) && id > 0 && id <= len(r.comments):
		body := q.FormValue("body")
		if strings.HasPrefix(q.Header.Get("Content-Type"), "application/json") {
			var doc struct{ Body string }
			raw, _ := io.ReadAll(q.Body)
			json.Unmarshal(raw, &doc)
			body = doc.Body
		}
		if body != "" {
			r.comments[id-1] = body
			r.was = append(r.was, body)
			fmt.Fprint(w, "{}")
			return
		}
	}
	http.Error(w, "no", http.StatusForbidden)
}

func (r *runner) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.repo, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// edit changes the campaign on a new branch.
func (r *runner) edit(branch, old, new string) {
	r.t.Helper()
	r.git("checkout", "-q", "-b", branch)
	path := filepath.Join(r.repo, "campaign.muster.hcl")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		r.t.Fatalf("%v: no %q", err, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		r.t.Fatal(err)
	}
	r.git("commit", "-q", "-am", branch)
}

// on runs the jobs of an event on a clean checkout, and returns what they said
// and whether all went well.
func (r *runner) on(event string) (string, bool) {
	r.t.Helper()
	r.git("clean", "-ffdxq")
	seen := r.sees(event)
	var said strings.Builder
	ran, ok := 0, true
	for _, j := range r.jobs {
		if !condition(r.t, j.when, seen) {
			continue
		}
		ran++
		good := true
		for _, s := range j.steps {
			if s.run == "" || !good && !strings.Contains(s.when, "always()") || !condition(r.t, s.when, seen) {
				continue
			}
			out, err := r.step(s, seen)
			said.WriteString(out)
			if err != nil {
				fmt.Fprintf(&said, "%v\n", err)
				good = false
			}
		}
		for _, file := range j.keeps {
			if _, err := os.Stat(filepath.Join(r.repo, file)); good && err != nil {
				r.t.Errorf("on %s, job %s keeps %s, which it does not make: %v\n%s", event, j.name, file, err, said.String())
			}
		}
		ok = ok && good
	}
	if ran != 1 {
		r.t.Errorf("%d jobs ran on %s, not 1", ran, event)
	}
	return said.String(), ok
}

func (r *runner) step(s ciStep, seen map[string]string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.run)
	cmd.Dir, cmd.Env = r.repo, slices.Clone(r.env)
	for name, v := range seen {
		if strings.ToUpper(name) == name { // what the forge sets by itself
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for name, v := range s.env {
		cmd.Env = append(cmd.Env, name+"="+fill(r.t, v, seen))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sees returns an event in the words of both forges.
func (r *runner) sees(event string) map[string]string {
	seen := map[string]string{
		"github.event_name": event, "github.repository": "lab/paper", "github.event.pull_request.head.repo.full_name": "lab/paper", "github.ref": "refs/heads/main",
		"github.token": "secret-token", "github.event.pull_request.number": "7", "github.event.pull_request.head.sha": strings.TrimSpace(r.git("rev-parse", "HEAD")), "vars.MUSTER_HOME": r.home,
		"GITHUB_API_URL": r.api.URL, "GITHUB_REPOSITORY": "lab/paper", "GITHUB_STEP_SUMMARY": filepath.Join(r.home, "summary.md"),
		"MUSTER_HOME": r.home, "MUSTER_COMMENT_TOKEN": "secret-token", "CI_API_V4_URL": r.api.URL, "CI_PROJECT_ID": "12", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "12",
		"CI_DEFAULT_BRANCH": "main", "CI_COMMIT_BRANCH": "main", "CI_MERGE_REQUEST_IID": "",
		"CI_COMMIT_SHA":      strings.TrimSpace(r.git("rev-parse", "HEAD")),
		"CI_PIPELINE_SOURCE": map[string]string{"pull_request": "merge_request_event", "fork": "merge_request_event", "push": "push", "schedule": "schedule", "workflow_dispatch": "web"}[event],
	}
	switch event {
	case "fork":
		seen["github.event_name"], seen["github.event.pull_request.head.repo.full_name"], seen["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] = "pull_request", "mallory/paper", "66"
	case "pull_request":
		seen["CI_MERGE_REQUEST_IID"], seen["CI_COMMIT_BRANCH"] = "7", ""
	}
	return seen
}

// condition evaluates one of ==, && and ||, as both forges write them.
func condition(t *testing.T, text string, seen map[string]string) bool {
	t.Helper()
	if text == "" {
		return true
	}
	operand := func(s string) string {
		s = strings.TrimSpace(s)
		if q := strings.Trim(s, `'"`); q != s {
			return q
		}
		v, ok := seen[strings.TrimPrefix(s, "$")]
		if !ok {
			t.Fatalf("%q is not known, in %q", s, text)
		}
		return v
	}
	for _, either := range strings.Split(text, "||") {
		all := true
		for _, both := range strings.Split(either, "&&") {
			a, b, compared := strings.Cut(both, "==")
			all = all && (!compared && strings.TrimSpace(both) == "always()" || compared && operand(a) == operand(b))
		}
		if all {
			return true
		}
	}
	return false
}

// fill puts values in the place of ${{ github }} and $GITLAB references.
func fill(t *testing.T, text string, seen map[string]string) string {
	t.Helper()
	for {
		head, rest, ok := strings.Cut(text, "${{")
		if !ok {
			break
		}
		name, tail, _ := strings.Cut(rest, "}}")
		v, known := seen[strings.TrimSpace(name)]
		if !known {
			t.Fatalf("%q is not known", name)
		}
		text = head + v + tail
	}
	return os.Expand(text, func(name string) string { return seen[name] })
}

func TestPipelines(t *testing.T) {
	// Requirement: NOT-06
	if testing.Short() {
		t.Skip("runs whole pipelines; make test does")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		file  string
		read  func(*testing.T, []byte) []ciJob
		drops bool
	}{
		"GitHub Actions": {"github/muster.yml", githubJobs, true},
		"GitLab CI":      {"gitlab/.gitlab-ci.yml", gitlabJobs, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, c.read, c.file)
			r.drops = c.drops
			r.guarded()
			r.story()
		})
	}
}

// TestHugeReport: GitHub shows no summary of more than 1 MiB, and none at all of one
// that is larger.
func TestHugeReport(t *testing.T) {
	t.Parallel()
	r := newRunner(t, githubJobs, "github/muster.yml")
	bin := t.TempDir()
	program.Write(t, filepath.Join(bin, "muster"), "#!/bin/sh\ntest \"$1\" = report || exit 0\nyes 'ä line of a report' | head -n \"$LINES_OF_REPORT\"\n")
	r.env = append(r.env, "PATH="+bin+":"+os.Getenv("PATH"))
	for lines, cut := range map[string]bool{"3": false, "80000": true} {
		summary := filepath.Join(r.home, "summary.md")
		os.Remove(summary)
		env := r.env
		r.env = append(slices.Clone(env), "LINES_OF_REPORT="+lines)
		said, ok := r.on("schedule")
		r.env = env
		text, err := os.ReadFile(summary)
		if err != nil || !ok {
			t.Fatalf("%v, %s", err, said)
		}
		if len(text) > 1<<20 || !utf8.Valid(text) || strings.Contains(string(text), "Cut here") != cut || !strings.HasPrefix(string(text), strings.Repeat("ä line of a report\n", 3)) {
			t.Errorf("%s lines: %d bytes end with %q", lines, len(text), text[max(len(text)-100, 0):])
		}
	}
}

// guarded holds the pipeline's shape: what writes the state runs alone and is
// never cut off, nor dropped for a pass while it waits, and a fork's code runs
// nowhere.
func (r *runner) guarded() {
	r.t.Helper()
	fork, groups := r.sees("fork"), map[string]bool{}
	for _, j := range r.jobs {
		if condition(r.t, j.when, fork) {
			r.t.Errorf("job %s runs what a fork sends", j.name)
		}
		for _, s := range j.steps {
			if strings.Contains(s.run, "${{") {
				r.t.Errorf("job %s: what people write stands in a script; give it as a variable:\n%s", j.name, s.run)
			}
			if !strings.Contains(s.run, "muster apply") {
				continue
			}
			if j.alone == "" || j.kills || r.drops && groups[j.alone] {
				r.t.Errorf("job %s applies and does not run alone to its end: group %q", j.name, j.alone)
			}
			groups[j.alone] = true
		}
	}
}

// story is a campaign's way through a forge.
func (r *runner) story() {
	t := r.t
	t.Helper()
	must := func(event, want string) string {
		t.Helper()
		out, ok := r.on(event)
		if !ok || !strings.Contains(out, want) {
			t.Fatalf("on %s: want %q\n%s", event, want, out)
		}
		return out
	}
	refused := func(event, want string) {
		t.Helper()
		if out, ok := r.on(event); ok || !strings.Contains(out, want) {
			t.Fatalf("on %s: went well: %v; want it refused with %q\n%s", event, ok, want, out)
		}
	}
	merge := func(branch string) {
		r.git("checkout", "-q", "main")
		r.git("merge", "-q", "--no-ff", "-m", "merge "+branch, branch)
	}

	// What was never reviewed is not applied.
	refused("push", "never planned")

	// A merge request shows its plan; what is merged is applied, on its own.
	r.edit("first", `"5m"`, `"6m"`)
	must("pull_request", "")
	commented := func(words ...string) {
		t.Helper()
		if len(r.comments) != 1 {
			t.Fatalf("not one comment: %q", r.comments)
		}
		for _, want := range append(words, "Planned for commit "+strings.TrimSpace(r.git("rev-parse", "HEAD"))+".") {
			if !strings.Contains(r.comments[0], want) {
				t.Fatalf("the comment lacks %q:\n%s", want, r.comments[0])
			}
		}
	}
	commented("4 to run", "CPU-hours")
	merge("first")
	must("push", "")
	r.done(4)

	// Two requests planned side by side: the second merge makes a tree that
	// nobody planned.
	r.edit("fifth", "[1, 2, 3, 4]", "[1, 2, 3, 4, 5]")
	must("pull_request", "")
	r.git("checkout", "-q", "main")
	r.edit("loss", "cpu_hours = 50", "cpu_hours = 60")
	must("pull_request", "")
	merge("fifth")
	must("push", "")
	r.done(5)
	merge("loss")
	refused("push", "never planned")
	must("workflow_dispatch", "")
	must("push", "")

	// A plan from before the state moved on is refused by name, and planned again.
	r.edit("other", "0.${cell.seed}", "1.${cell.seed}")
	must("pull_request", "")
	r.git("checkout", "-q", "main")
	if out, err := r.muster("apply", "-auto-approve", "-allow-rerun", "-rerun=seed=1"); err == nil || !strings.Contains(out, "approve_above") {
		t.Fatalf("more than approve_above was applied on a flag: %v\n%s", err, out)
	}
	r.edit("by-hand", "0.${cell.seed}", "2.${cell.seed}") // and never merged
	for _, args := range [][]string{{"plan", "-out=by-hand.mplan", "-target=seed=1"}, {"apply", "by-hand.mplan"}} {
		if out, err := r.muster(args...); err != nil {
			t.Fatalf("muster %v: %v\n%s", args, err, out)
		}
	}
	merge("other")
	refused("push", `The state changed since the plan was made`)
	must("workflow_dispatch", "")
	must("push", "")
	r.done(5)

	// What cannot be planned takes the plan of an older commit out of sight.
	r.edit("broken", "cpus     = 1", "cpuss    = 1")
	refused("pull_request", "cpuss")
	commented("No plan:")
	r.git("checkout", "-q", "main")

	// A budget that does not hold is told, and fails the check.
	r.edit("dear", "cpu_hours = 60", "cpu_hours = 0.0000001")
	r.edit("dearer", "[1, 2, 3, 4, 5]", "range(1, 200)")
	refused("pull_request", "A budget or its deadline does not hold")
	commented("budget")
	for _, c := range r.was {
		if strings.Contains(c, "secret-token") || len(c) > 65536 {
			t.Errorf("a comment of %d bytes: %s", len(c), c)
		}
	}
}

// muster runs a command that somebody types beside the pipeline.
func (r *runner) muster(args ...string) (string, error) {
	cmd := exec.Command("muster", args...)
	cmd.Dir, cmd.Env = r.repo, append(slices.Clone(r.env), "CI=true", "MUSTER_VAR_home="+r.home, "MUSTER_FILE_ROOTS="+r.home)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// done runs passes until so many jobs are.
func (r *runner) done(jobs int) {
	r.t.Helper()
	var out string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		var ok bool
		if out, ok = r.on("schedule"); !ok {
			break
		}
		report, _ := os.ReadFile(filepath.Join(r.repo, "report.md"))
		for line := range strings.Lines(string(report)) {
			if f := strings.Fields(line); len(f) > 5 && f[1] == "train" && f[5] == fmt.Sprint(jobs) {
				return
			}
		}
	}
	r.t.Fatalf("%d jobs were not done\n%s", jobs, out)
}

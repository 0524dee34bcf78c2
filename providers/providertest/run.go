package providertest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// awkward is text that shells, templates and file formats love to spoil.
var awkward = []string{
	"plain", "two words", `"double"`, `it's`, "$(touch spoiled)", "`touch spoiled`", "${HOME}", "a\nb\n", "tab\there", `back\slash\n`,
	"*", "ü 模型 🚀", "-n", "; touch spoiled", "%s%d", "", " lead and trail ", "#not a comment", "!history", "~",
}

var runTests = []test{
	{name: "exit codes are told as they are", run: func(s *site) {
		codes := []int{0, 1, 3, 42, 127}
		var jobs []providers.Job
		for _, code := range codes {
			jobs = append(jobs, s.shell(fmt.Sprintf("echo last words; exit %d", code)))
		}
		s.submit(jobs...)
		for i, o := range s.end(jobs...) {
			want := offer.Failed
			if codes[i] == 0 {
				want = offer.Completed
			}
			s.wantStatus(o, want)
			s.wantExit(o, codes[i])
			if want == offer.Failed && (o.Class == "" || !strings.Contains(strings.Join(o.Tail, "\n"), "last words")) {
				s.Errorf("exit %d has class %q and tail %q", codes[i], o.Class, o.Tail)
			}
		}
	}},
	{name: "a job killed by a signal has failed", run: func(s *site) {
		o := s.run(s.shell("kill -KILL $$"))
		s.wantStatus(o, offer.Failed)
		if o.Signal == "" && (o.Exit == nil || *o.Exit == 0) {
			s.Errorf("signal is %q, exit %v", o.Signal, exitOf(o))
		}
	}},
	{name: "a shell command runs exactly as written", run: func(s *site) {
		j := s.shell("cat > here <<'END'\n$HOME `id` \\n \"q\" it's\n\tindented\nEND\nprintf '%s' \"a  b\" > spaces # done")
		s.wantStatus(s.run(j), offer.Completed)
		if got, want := s.read("here"), "$HOME `id` \\n \"q\" it's\n\tindented\n"; got != want {
			s.Errorf("here-document is %q, want %q", got, want)
		}
		if got := s.read("spaces"); got != "a  b" {
			s.Errorf("spaces are %q", got)
		}
	}},
	{name: "arguments arrive exactly", run: func(s *site) {
		j := s.shell("")
		s.must(program.File(s.file("tell"), []byte("#!/bin/sh\nfor a in \"$@\"; do printf '<%s>\\0' \"$a\"; done > argv\n")))
		j.Argv = append([]string{s.file("tell")}, awkward...)
		s.wantStatus(s.run(j), offer.Completed)
		var want strings.Builder
		for _, a := range awkward {
			fmt.Fprintf(&want, "<%s>\x00", a)
		}
		if got := s.read("argv"); got != want.String() {
			s.Errorf("arguments are %q\nwant %q", got, want.String())
		}
		s.wantUnspoiled()
	}},
	{name: "the environment arrives exactly", run: func(s *site) {
		j := s.shell("")
		j.Argv = []string{"/bin/sh", "-c", "env -0 > environment"}
		for i, v := range awkward {
			j.Env = append(j.Env, providers.EnvVar{Name: fmt.Sprintf("AWKWARD_%d", i), Value: v})
		}
		s.wantStatus(s.run(j), offer.Completed)
		got := map[string]string{}
		for _, v := range strings.Split(s.read("environment"), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			got[name] = value
		}
		for i, want := range awkward {
			if value, ok := got[fmt.Sprintf("AWKWARD_%d", i)]; !ok || value != want {
				s.Errorf("AWKWARD_%d is %q, want %q", i, value, want)
			}
		}
		if got["MUSTER_PROVIDER"] != "" || got["MUSTER_TOKEN"] != j.Token {
			s.Errorf("MUSTER_TOKEN is %q; the provider's own variables reach the job: %v", got["MUSTER_TOKEN"], got["MUSTER_PROVIDER"] != "")
		}
		s.wantUnspoiled()
	}},
	{name: "a job runs in its directory after its setup", run: func(s *site) {
		s.must(os.Mkdir(s.file("sub dir"), 0o755))
		j := s.shell("pwd -P > where; echo \"$FROM_SETUP\" > setup")
		j.Dir, j.Setup = s.file("sub dir"), []string{"FROM_SETUP=one", "export FROM_SETUP=\"$FROM_SETUP two\""}
		s.wantStatus(s.run(j), offer.Completed)
		want, err := filepath.EvalSymlinks(j.Dir)
		s.must(err)
		if got := strings.TrimSpace(s.read("sub dir/where")); got != want {
			s.Errorf("it ran in %s, want %s", got, want)
		}
		if got := strings.TrimSpace(s.read("sub dir/setup")); got != "one two" {
			s.Errorf("setup left %q", got)
		}
	}},
	{name: "secrets reach the job and no file that others may read", run: func(s *site) {
		secret := "hush-" + token()
		j := s.gated()
		j.Shell = `[ "$KEY" = "` + secret[:5] + `$REST" ] && echo right > right; ` + j.Shell
		j.Secrets = []providers.EnvVar{{Name: "KEY", Value: secret}, {Name: "REST", Value: secret[5:]}}
		s.submit(j)
		s.running(j)
		s.wantNoSecret(secret[5:], true)
		s.open()
		s.wantStatus(s.end(j)[0], offer.Completed)
		s.wantNoSecret(secret[5:], false)
		if got := s.read("right"); got != "right\n" {
			s.Error("the job did not get its secret")
		}
	}},
	{name: "the folders of outputs are there before the job", run: func(s *site) {
		j := s.shell("echo x > a/b/file && echo x > c/part-1")
		j.Outputs = []providers.Output{path("a/b/file"), {Name: "parts", Kind: "glob", Path: "c/part-*"}}
		s.wantStatus(s.run(j), offer.Completed)
	}},
	{name: "an output that was not written fails the job", run: func(s *site) {
		j := s.shell("true")
		j.Outputs = []providers.Output{path("never")}
		o := s.run(j)
		s.wantStatus(o, offer.Failed)
		s.wantExit(o, 0)
	}},
	{name: "an output of yesterday fails the job", run: func(s *site) {
		s.write("old.txt", "yesterday")
		j := s.shell("true")
		j.Outputs = []providers.Output{path("old.txt")}
		s.wantStatus(s.run(j), offer.Failed)
	}},
	{name: "a truncated output fails the job", run: func(s *site) {
		j := s.shell(`printf '{"loss": 0.' > m.json`)
		out := path("m.json")
		out.Verify = []providers.VerifyCheck{{Kind: "json"}}
		j.Outputs = []providers.Output{out}
		o := s.run(j)
		s.wantStatus(o, offer.Failed)
		if len(o.Outputs) != 1 || o.Outputs[0].OK || o.Outputs[0].Verdict == "" {
			s.Errorf("outputs are %+v", o.Outputs)
		}
	}},
	{name: "metrics are read from verified outputs", run: func(s *site) {
		j := s.shell(`echo '{"eval": {"loss": 0.25}}' > m.json`)
		j.Outputs = []providers.Output{path("m.json")}
		j.Metrics = []providers.Metric{{Name: "loss", Output: "m_json", JSON: "/eval/loss"}}
		o := s.run(j)
		s.wantStatus(o, offer.Completed)
		if got := o.Metrics["loss"]; got.Text != "0.25" || got.Error != "" {
			s.Errorf("metric is %+v", got)
		}
	}},
	{name: "a job starts after those it waits for", needs: needs("dependencies", func(c offer.Capabilities) bool { return c.Dependencies }), run: func(s *site) {
		first, second := s.gated(), s.shell("cat first > second")
		first.Shell += "; echo one > first"
		first.Outputs = []providers.Output{path("first")}
		second.After = []string{first.Token}
		s.submit(first, second)
		s.running(first)
		if o := s.find(second.Token)[0]; o.Status == offer.Running || over(o) {
			s.Errorf("the second job did not wait: %+v", o)
		}
		s.open()
		for _, o := range s.end(first, second) {
			s.wantStatus(o, offer.Completed)
		}
	}},
	{name: "a job is retried in the classes that are asked for", needs: needs("retries", func(c offer.Capabilities) bool { return c.Retries }), run: func(s *site) {
		j := s.shell(`echo "$MUSTER_TOKEN" >> ran; if [ -e marker ]; then exit 0; fi; touch marker; exit 75`)
		j.Rules = []failure.Rule{{Name: "flaky", Exit: []int{75}, Class: "flaky"}}
		j.Retry = providers.Retry{On: []string{"flaky"}, Max: 3, Delay: 10 * time.Millisecond}
		s.submit(j)
		s.watch("the retry", func() bool { return s.last[j.Token].Status == offer.Completed })
		if o := s.last[j.Token]; o.Attempt != 2 || s.ran(j) != 2 {
			s.Errorf("attempt %d completed after %d runs", o.Attempt, s.ran(j))
		}
	}},
}

func needs(what string, can func(offer.Capabilities) bool) func(*site) string {
	return func(s *site) string {
		schema, err := s.p.Schema(s.ctx)
		s.must(err)
		if !can(schema.Can) {
			return "the provider has no " + what
		}
		return ""
	}
}

func (s *site) wantUnspoiled() {
	s.Helper()
	if _, err := os.Stat(s.file("spoiled")); err == nil {
		s.Error("something in a value was executed")
	}
}

// wantNoSecret looks for a secret in everything the provider keeps. While the
// job has not ended, a file of mode 0600 may hold it.
func (s *site) wantNoSecret(secret string, mayHold bool) {
	s.Helper()
	dirs := []string{s.b.Workdir, s.b.Dir}
	if s.opts.Spool != nil {
		dirs = append(dirs, s.opts.Spool(s.T, s.b)...)
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // gone meanwhile
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			text, _ := os.ReadFile(path)
			// The command of this test has the first letters only.
			if strings.Contains(string(text), secret) && !(mayHold && info.Mode().Perm() == 0o600) {
				s.Errorf("%s (%s) holds the secret", path, info.Mode())
			}
			return nil
		})
		s.must(err)
	}
}

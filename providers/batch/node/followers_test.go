package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// follows writes a batch of jobs that come after others, as it is once Slurm has it; id "" =
// Slurm does not have it.
func (w *world) follows(name, id, head string, after ...[]string) {
	w.Helper()
	k := Batch(w.spool.path("batches", name))
	if err := os.Mkdir(string(k), 0o700); err != nil {
		w.Fatal(err)
	}
	var list []Element
	for i, tokens := range after {
		list = append(list, Element{Index: 2 * i, Job: providers.Job{Token: name + "-" + string(rune('a'+i)), After: tokens}})
	}
	if err := k.Write(list); err != nil {
		w.Fatal(err)
	}
	for file, text := range map[string]string{"id": id, "batch.json": head} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(string(k), file), []byte(text+"\n"), 0o600); err != nil {
			w.Fatal(err)
		}
	}
}

// cancels stands for Slurm, which has arrays of a name twice, and notes what it
// is to end. A scancel that chooses among elements ends the whole array.
func cancels(t *testing.T, bin, said string) {
	t.Helper()
	program.Write(t, filepath.Join(bin, "squeue"), `#!/bin/sh
case "$*" in
*"-r -t PENDING -n students "*) echo 9_0; echo 11_0; echo 11_2; echo 11_4;;
esac
`)
	program.Write(t, filepath.Join(bin, "scancel"), `#!/bin/sh
case "$*" in
*--state*_*|*--name*_*) echo all of it >> `+said+`;;
*) echo "$@" >> `+said+`;;
esac
`)
}

// TestFollowers: a job that might have come back under a new id, and does not,
// takes with it what waits for it, and nothing else.
func TestFollowers(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	cancels(t, bin, said)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	const all = "--state=PENDING --name=evals -- 12\n-- 11_[0,4]\n"
	for name, tt := range map[string]struct {
		command string
		max     int
		scale   map[string]providers.Scale
		heir    bool
		want    string
	}{
		"for good":                     {"exit 3", 3, map[string]providers.Scale{failure.OOM: {CPUs: 2}}, false, all},
		"for good, as an heir":         {"exit 3", 3, map[string]providers.Scale{failure.OOM: {CPUs: 2}}, true, all},
		"comes back under a new id":    {"echo 'CUDA out of memory' >&2; exit 1", 3, map[string]providers.Scale{failure.OOM: {CPUs: 2}}, false, ""},
		"it was the last time":         {"echo 'CUDA out of memory' >&2; exit 1", 1, map[string]providers.Scale{failure.OOM: {CPUs: 2}}, false, ""},
		"Slurm cancels them by itself": {"exit 3", 3, nil, false, ""},
		"it did well":                  {"true", 3, map[string]providers.Scale{failure.OOM: {CPUs: 2}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(said)
			w := newWorld(t)
			j := w.job(tt.command)
			j.Retry = providers.Retry{Max: tt.max, On: []string{failure.OOM}, Scale: tt.scale}
			token := j.Token
			if tt.heir {
				token = "before"
				if err := os.WriteFile(w.spool.path("heirs", token), []byte(j.Token+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.follows("students", "11", `{"array": true}`, []string{token}, []string{"another"}, []string{"another", token})
			w.follows("evals", "12", `{"array": false}`, []string{"students-c"})
			w.follows("later", "", `{"array": false}`, []string{token})
			w.follows("others", "13", `{"array": true}`, []string{"another"}, nil)
			w.follows("gone", "14", `{"array": true}`, []string{token}) // none of it waits any more
			if code, e := w.run(j, allocation{job: "5"}); (code == 0) != (e.Seen.Status == offer.Completed) {
				t.Errorf("status %d, %+v", code, e)
			}
			text, _ := os.ReadFile(said)
			if got := string(text); got != tt.want {
				t.Errorf("scancel was called with\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// TestFollowersRefused: one that is not let start, as what it comes after has
// failed, takes with it what comes after it, too.
func TestFollowersRefused(t *testing.T) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	cancels(t, bin, said)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := newWorld(t)
	j := w.job("true")
	j.After = []string{"before"}
	j.Retry = providers.Retry{Max: 2, On: []string{failure.OOM}, Scale: map[string]providers.Scale{failure.OOM: {CPUs: 2}}}
	w.follows("students", "11", `{"array": true}`, []string{j.Token})
	if code, _ := w.run(j, allocation{job: "5"}); code != ExitRefused {
		t.Errorf("status %d", code)
	}
	if text, _ := os.ReadFile(said); strings.TrimSpace(string(text)) != "-- 11_[0]" {
		t.Errorf("scancel was called with %q", text)
	}
}

package file

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/glance"
)

// ended is the life of a job that leaves a file.
func ended(i int) []state.Event {
	address, token := fmt.Sprintf(`phase.a["i=%d"]`, i), fmt.Sprint("token", i)
	return []state.Event{
		state.Intended{Job: state.Job{Address: address, Phase: "a", Result: fmt.Sprint(i)}, Attempt: state.Attempt{N: 1, Token: token}},
		state.Observed{Address: address, Token: token, Status: state.Completed, Attempt: state.Attempt{N: 1},
			Outputs: []state.Output{{Name: "x", Backend: "local.local", Workdir: "/w", Path: fmt.Sprint(i), Size: 3}}},
	}
}

// seen is a glance as text.
func seen(t *testing.T, g *glance.Glance) (text string) {
	t.Helper()
	if err := g.Fill(); err != nil {
		t.Fatal(err)
	}
	st := g.State
	for key, j := range st.All() {
		text += fmt.Sprintf("%s %s %s %v\n", key, j.Status, j.Result, j.Outputs)
	}
	return fmt.Sprint(text, st.Seq, st.Serial, st.Lineage)
}

func settle(t *testing.T, dir string, parts ...[]state.Event) *Store {
	t.Helper()
	s := open(t, dir)
	for _, events := range parts {
		n, err := s.Acquire(ctx, "apply", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Append(events...); err != nil {
			t.Fatal(err)
		}
		if err := n.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var began = []state.Event{state.Began{Lineage: "5e1f", Campaign: "c"}}

// TestGlanceOfHarmedFiles: whatever byte of whatever file is cut off or
// changed, a glance shows what it showed before, or nothing.
func TestGlanceOfHarmedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := settle(t, dir, append(began, ended(0)...), ended(1))
	g, ok := s.Glance(ctx)
	if !ok {
		t.Fatal("no glance of an unharmed state")
	}
	want := seen(t, g)
	y := &story{}
	y.keep(t, dir)
	if y.files["muster.state.glance"] == nil || y.files["muster.state.json"] == nil {
		t.Fatalf("files: %v", slices.Sorted(maps.Keys(y.files)))
	}
	glance := func(files map[string][]byte) (string, bool) {
		s, err := Open("/campaign", Options{fs: memory{files}, patience: -1})
		if err != nil {
			t.Fatal(err)
		}
		g, ok := s.Glance(ctx)
		if !ok {
			return "", false
		}
		return seen(t, g), true
	}
	mustFail := map[string]bool{"muster.state.json": true, "muster.state.glance": true}
	for name, data := range y.files {
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 0x21
			for _, files := range []map[string][]byte{y.with(name, data[:i]), y.with(name, bad)} {
				got, ok := glance(files)
				if ok && (got != want || mustFail[name]) {
					t.Errorf("%s harmed at byte %d of %d: a glance shows\n%s", name, i, len(data), got)
				}
			}
		}
		files := maps.Clone(y.files)
		delete(files, name)
		if got, ok := glance(files); ok && (got != want || mustFail[name]) {
			t.Errorf("%s gone: a glance shows\n%s", name, got)
		}
	}
}

// TestGlanceOnlyOfTheLatest: what was recorded since, pushed, or set back ends
// what a glance may say.
func TestGlanceOnlyOfTheLatest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := settle(t, dir, append(began, ended(0)...), ended(1))
	is := func(want bool, when string) {
		t.Helper()
		if _, ok := s.Glance(ctx); ok != want {
			t.Errorf("%s: a glance: %t, want %t", when, ok, want)
		}
	}
	is(true, "at rest")
	n, err := s.Acquire(ctx, "apply", 0)
	if err != nil {
		t.Fatal(err)
	}
	is(true, "while held, and nothing recorded")
	if err := n.Append(ended(2)[0]); err != nil {
		t.Fatal(err)
	}
	if err := n.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	is(false, "a job was started")
	if err := n.Close(ctx); err != nil {
		t.Fatal(err)
	}
	is(false, "a job runs")
	if s.there(s.glance()) {
		t.Error("the glance of the state before is left behind")
	}
	settle(t, dir, ended(2)[1:])
	is(true, "it ended")

	backup, err := os.ReadFile(s.backup())
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Pull(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Location(), backup, 0o600); err != nil {
		t.Fatal(err)
	}
	is(false, "the backup was put back")
	if err := s.Push(ctx, now, true); err != nil {
		t.Fatal(err)
	}
	is(true, "it was pushed")
}

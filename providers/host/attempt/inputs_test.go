package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// recordOf is a producer's record of its output.
func recordOf(t *testing.T, dir string, o providers.Output) providers.Recorded {
	t.Helper()
	got := verify.Check(t.Context(), dir, o)
	if !got.OK {
		t.Fatal(got.Verdict)
	}
	return providers.Recorded{Kind: o.Kind, Digest: got.Digest, Stamp: got.Stamp()}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What may happen to a recorded file before a job starts that reads it.
func TestInputs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meddle func(t *testing.T, dir, file string)
		wrong  string // what was found; "" = it starts
	}{
		"nothing": {func(*testing.T, string, string) {}, ""},
		"touched": {func(t *testing.T, _, file string) {
			if err := os.Chmod(file, 0o644); err != nil {
				t.Fatal(err)
			}
		}, ""},
		"copied over itself": {func(t *testing.T, _, file string) { os.Remove(file); put(t, file, "one\n") }, ""},
		"a link to the same": {func(t *testing.T, dir, file string) {
			put(t, dir+"/b", "one\n")
			os.Remove(file)
			os.Symlink("b", file)
		}, ""},
		"overwritten": {func(t *testing.T, _, file string) { put(t, file, "two\n") }, "sha256:27dd8ed44a83"},
		"emptied":     {func(t *testing.T, _, file string) { put(t, file, "") }, "sha256:e3b0c44298fc"},
		"a folder":    {func(t *testing.T, _, file string) { os.Remove(file); os.Mkdir(file, 0o777) }, "a folder is there, not a file; declare it with dir"},
		"a link to another": {func(t *testing.T, dir, file string) {
			put(t, dir+"/b", "two\n")
			os.Remove(file)
			os.Symlink("b", file)
		}, "sha256:27dd8ed44a83"},
		"a link into nothing": {func(t *testing.T, dir, file string) { os.Remove(file); os.Symlink("c", file) }, "a link is there whose target is missing: c"},
		"another with the same size and time": {func(t *testing.T, dir, file string) {
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, file, "two\n")
			if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, "sha256:27dd8ed44a83"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "a")
			put(t, file, "one\n")
			j := &providers.Job{Workdir: dir, Inputs: []providers.Input{{Name: "in", Paths: []string{file},
				Recorded: []providers.Recorded{recordOf(t, dir, providers.Output{Path: "a"})}}}}
			c.meddle(t, dir, file)
			err := Inputs(t.Context(), j, nil)
			if c.wrong == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			changed, ok := err.(*changedInput)
			if !ok || shortDigest(changed.Found) != c.wrong {
				t.Errorf("%v, and not %q", err, c.wrong)
			}
		})
	}
}

// Of a folder and of a pattern every file counts, and that there is no other.
func TestInputsOfSets(t *testing.T) {
	t.Parallel()
	for _, o := range []providers.Output{{Kind: "dir", Path: "set"}, {Kind: "glob", Path: "set/*"}} {
		dir := t.TempDir()
		put(t, dir+"/set/1", "one")
		put(t, dir+"/set/2", "two")
		r := recordOf(t, dir, o)
		r.Workdir, r.Path = dir, o.Path
		j := &providers.Job{Workdir: "/elsewhere", Inputs: []providers.Input{{Name: "in", Recorded: []providers.Recorded{r}}}}
		if err := Inputs(t.Context(), j, nil); err != nil {
			t.Errorf("%s: %v", o.Kind, err)
		}
		put(t, dir+"/set/3", "three")
		if err := Inputs(t.Context(), j, nil); !isChangedInput(err) {
			t.Errorf("%s with one more file: %v", o.Kind, err)
		}
		os.Remove(dir + "/set/3")
		if err := Inputs(t.Context(), j, nil); err != nil {
			t.Errorf("%s as it was: %v", o.Kind, err)
		}
		os.Remove(dir + "/set/1")
		if err := Inputs(t.Context(), j, nil); !isChangedInput(err) {
			t.Errorf("%s with one file less: %v", o.Kind, err)
		}
	}
}

// A partial input has a list however few files it has, and beside it the keys of the
// missing producers, in an empty file where none is.
// Requirement: DEP-03
func TestListsOfPartialInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := &providers.Job{Workdir: dir, Inputs: []providers.Input{
		{Name: "one", Paths: []string{"/a"}},
		{Name: "some", Paths: []string{"/a"}, Partial: true, Missing: []string{"n=2", `name="c d"`}},
		{Name: "none", List: "lists/none.list", Partial: true},
	}}
	lists, err := WriteLists(j, wrapper.Folder(dir))
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(wrapper.Environ(j, nil, wrapper.Start{Lists: lists}), "\n") + "\n"
	for name, want := range map[string]string{"ONE": "/a", "SOME": dir + "/list.some", "SOME_MISSING": dir + "/list.some.missing", "NONE": dir + "/lists/none.list", "NONE_MISSING": dir + "/lists/none.list.missing"} {
		if !strings.Contains(env, "MUSTER_INPUT_"+name+"="+want+"\n") {
			t.Errorf("%s is not %s in %s", name, want, env)
		}
	}
	for file, want := range map[string]string{"list.some": "/a\n", "list.some.missing": "n=2\nname=\"c d\"\n", "lists/none.list": "", "lists/none.list.missing": ""} {
		if got, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

// An input whose producer ended after the job was submitted is compared with
// what that end has; where it has nothing, nothing is compared.
func TestSettle(t *testing.T) {
	t.Parallel()
	j := &providers.Job{Inputs: []providers.Input{
		{Name: "known", Recorded: []providers.Recorded{{Digest: "sha256:1"}}},
		{Name: "late", Recorded: []providers.Recorded{{Token: "t", Output: "x"}, {Digest: "sha256:2"}}},
		{Name: "never", Recorded: []providers.Recorded{{Token: "u", Output: "x"}}},
	}}
	late := Settle(j, func(token string) []offer.Output {
		if token == "t" {
			return []offer.Output{{Name: "y", Digest: "sha256:4", OK: true}, {Name: "x", Digest: "sha256:3", OK: true, CTime: 1}}
		}
		return nil
	})
	if len(late) != 2 || late[0].Recorded[0].Digest != "sha256:3" || late[0].Recorded[0].Stamp == 0 || j.Inputs[1].Recorded[0].Digest != "" {
		t.Errorf("%+v of %+v", late, j.Inputs)
	}
	got := Digests(late)
	if len(got) != 1 || got["late"] != offer.InputBytes([]string{"sha256:3", "sha256:2"}) {
		t.Errorf("%v", got)
	}
}

package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func read(dir, name string) string {
	b, _ := os.ReadFile(filepath.Join(dir, name))
	return string(b)
}

// What is at an output path stays, is moved aside or keeps the job from
// starting, by what is recorded of it.
func TestClear(t *testing.T) {
	t.Parallel()
	file := providers.Output{Name: "o", Kind: "path", Path: "out/n.txt"}
	folder := providers.Output{Name: "o", Kind: "dir", Path: "out"}
	glob := providers.Output{Name: "o", Kind: "glob", Path: "out/*.txt"}
	shared := providers.Output{Name: "o", Kind: "path", Path: "out/n.txt", Shared: true}
	result := func(o offer.Output) offer.Output { o.Digest = "sha256:1"; return o }
	for name, c := range map[string]struct {
		out   providers.Output
		guard func(there offer.Output) *offer.Guard
		again bool
		left  func(there offer.Output) []offer.Output
		stays bool // at its path
		bad   bool
	}{
		"of nobody":             {out: file, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, stays: true, bad: true},
		"a folder of nobody":    {out: folder, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, stays: true, bad: true},
		"a pattern of nobody":   {out: glob, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, stays: true, bad: true},
		"agreed to":             {out: file, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Replace: []offer.Output{o}} }},
		"a folder agreed to":    {out: folder, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Replace: []offer.Output{o}} }},
		"a pattern agreed to":   {out: glob, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Replace: []offer.Output{o}} }},
		"agreed to, changed":    {out: file, guard: func(o offer.Output) *offer.Guard { o.Size++; return &offer.Guard{Replace: []offer.Output{o}} }, stays: true, bad: true},
		"left before":           {out: file, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Own: []offer.Output{o}} }, stays: true},
		"left before, changed":  {out: file, guard: func(o offer.Output) *offer.Guard { o.MTime++; return &offer.Guard{Own: []offer.Output{o}} }, stays: true, bad: true},
		"left, nobody saw what": {out: file, guard: func(offer.Output) *offer.Guard { return &offer.Guard{Unseen: true} }, stays: true},
		"a result":              {out: file, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Own: []offer.Output{result(o)}} }},
		"a result, edited, that runs again": {out: file, guard: func(o offer.Output) *offer.Guard {
			o.Size++
			return &offer.Guard{Results: []offer.Output{result(o)}}
		}},
		"another's, shared":         {out: shared, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, stays: true},
		"shared, agreed to":         {out: shared, guard: func(o offer.Output) *offer.Guard { return &offer.Guard{Replace: []offer.Output{o}} }},
		"of the launch before":      {out: file, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, again: true, left: func(o offer.Output) []offer.Output { return []offer.Output{o} }, stays: true},
		"not of the launch before":  {out: file, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, again: true, left: func(o offer.Output) []offer.Output { o.Inode++; return []offer.Output{o} }, stays: true, bad: true},
		"after one that nobody saw": {out: file, guard: func(offer.Output) *offer.Guard { return &offer.Guard{} }, again: true, left: func(offer.Output) []offer.Output { return nil }, stays: true},
		"of an older muster":        {out: file, guard: func(offer.Output) *offer.Guard { return nil }, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "out/n.txt", "mine")
			there := verify.Stat(dir, c.out)
			l := Start{Job: &providers.Job{Token: "tok", Workdir: dir, Outputs: []providers.Output{c.out}, Guard: c.guard(there)}, First: !c.again}
			if c.left != nil {
				l.Left = c.left(there)
			}
			err := Clear(l)
			var foreign *Foreign
			if errors.As(err, &foreign) != c.bad || err != nil && !c.bad {
				t.Fatal(err)
			}
			at := "out/n.txt"
			if !c.stays {
				at = ".muster/replaced/tok/out/n.txt"
			}
			if got := read(dir, at); got != "mine" {
				t.Errorf("%s holds %q", at, got)
			}
		})
	}
}

// What a link at an output path points to is never written to, and files that are in nothing's
// way are not asked about.
func TestClearLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "far/precious", "mine")
	os.Symlink(filepath.Join(dir, "far/precious"), filepath.Join(dir, "out"))
	os.Symlink(filepath.Join(dir, "far/none"), filepath.Join(dir, "broken"))
	os.Mkdir(filepath.Join(dir, "empty"), 0o755)
	for name, kind := range map[string]string{"out": "path", "broken": "path", "empty": "dir"} {
		o := providers.Output{Name: "o", Kind: kind, Path: name}
		j := &providers.Job{Token: "tok", Workdir: dir, Outputs: []providers.Output{o}, Guard: &offer.Guard{}}
		if err := Clear(Start{Job: j, First: true}); (err != nil) != (name != "empty") {
			t.Errorf("%s: %v", name, err)
		}
		j.Guard.Replace = []offer.Output{verify.Stat(dir, o)}
		if err := Clear(Start{Job: j, First: true}); err != nil {
			t.Errorf("%s, agreed to: %v", name, err)
		}
	}
	if read(dir, "far/precious") != "mine" {
		t.Error("the file behind the link is not as it was")
	}
	if _, err := os.Readlink(filepath.Join(dir, ".muster/replaced/tok/broken")); err != nil {
		t.Error(err)
	}
}

// A rename makes folders, never goes over another file, and leaves out what is not there.
func TestRename(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "aside/a", "one")
	write(t, dir, "out/b", "two")
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(Rename(at("aside/a"), at("new/a")), Rename(at("none"), at("out/b"))); err != nil {
		t.Fatal(err)
	}
	if err := Rename(at("new/a"), at("out/b")); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another file: %v", err)
	}
	if read(dir, "new/a") != "one" || read(dir, "out/b") != "two" {
		t.Error("the files are not where they belong")
	}
}

// A second file of one path, moved to one folder, is put beside the first.
func TestMoveNeverOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, text := range []string{"one", "two", "three"} {
		write(t, dir, "out", text)
		if err := Move(dir, filepath.Join(dir, "aside"), filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"out": "one", "out.1": "two", "out.2": "three"} {
		if got := read(dir, "aside/"+name); got != want {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

// A smoke's output that was a file, and is to be a folder now, or the other way, moves aside: else
// no smoke of the phase could ever pass. Other files of earlier smokes stay, as do those of a launch
// of its own.
func TestClearSmoke(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there, kind string
		again       bool
		stays       bool
	}{
		"a file, as before":      {there: "o", kind: "path", stays: true},
		"a folder, as before":    {there: "o/r", kind: "dir", stays: true},
		"a file, now a folder":   {there: "o", kind: "dir"},
		"a folder, now a file":   {there: "o/r", kind: "path"},
		"of a launch of its own": {there: "o", kind: "dir", again: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, folder := t.TempDir(), ".muster/smoke/p/k/"
			write(t, dir, folder+c.there, "it")
			j := &providers.Job{Token: "0123456789", Workdir: dir, Smoke: true, Outputs: []providers.Output{{Name: "o", Kind: c.kind, Path: folder + "o"}}}
			if err := Clear(Start{Job: j, First: !c.again}); err != nil {
				t.Fatal(err)
			}
			at := folder + c.there
			if !c.stays {
				at = ".muster/replaced/0123456789/" + at
			}
			if read(dir, at) != "it" {
				t.Errorf("it is not at %s", at)
			}
		})
	}
}

package ssh

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

// Every profile that is shipped can be read, and says where files survive.
func TestShipped(t *testing.T) {
	t.Parallel()
	for _, name := range profiles.Names() {
		p, err := profiles.Load(name, "ssh.box")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Site == "" || p.Verified == "" || p.Home == "" || len(p.Kept()) == 0 || p.Folder("/anywhere") == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if got := profiles.Names(); !slices.Equal(got, []string{"autodl", "featurize", "gpushare", "lanrui", "matpool"}) {
		t.Errorf("%q", got)
	}
	src, err := files.ReadFile("profiles/TEMPLATE.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseProfile("TEMPLATE.hcl", "ssh.box", src); err != nil {
		t.Error(err)
	}
}

// The deepest folder counts, and ~ is the home of the platform's user.
func TestFolders(t *testing.T) {
	t.Parallel()
	p, err := profiles.Named(providers.Backend{Name: "ssh.box", Profile: "autodl"})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"~/work": "/", "/root/autodl-tmp": "/root/autodl-tmp", "~/autodl-tmp/work": "/root/autodl-tmp", "/root/autodl-tmpx": "/", "/root/autodl-fs/a/b": "/root/autodl-fs", "~": "/",
	} {
		if f := p.Folder(at); f == nil || f.Path != want {
			t.Errorf("%s is in %v, not %s", at, f, want)
		}
	}
	if f := p.Folder("~/work").String(); f != "/, which survives a stop and no release (system disk of 30 GB)" {
		t.Error(f)
	}
	if len(p.Clocks) != 1 || p.Clocks[0].After != 15*24*time.Hour {
		t.Errorf("%+v", p.Clocks)
	}
	if p, err := profiles.Named(providers.Backend{Name: "ssh.box"}); p != nil || err != nil {
		t.Errorf("%v %v", p, err)
	}
}

// Mistakes are told with their line.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`site = "a"`:                                                                        "verified",
		"site = \"a\"\nverified = \"May\"\n":                                                `own.hcl:2: verified is "May", not a month`,
		"site = \"a\"\nverified = \"2026-05\"\nbogus = 1\n":                                 "own.hcl:3: Unsupported argument",
		"site = \"a\"\nverified = \"2026-05\"\nfolder \"data\" {}\n":                        `own.hcl:3: folder "data" is not a plain absolute path`,
		"site = \"a\"\nverified = \"2026-05\"\nfolder \"/d\" {}\nfolder \"/d\" {}\n":        `own.hcl:4: folder "/d" appears twice`,
		"site = \"a\"\nverified = \"2026-05\"\nfolder \"/d\" { survives_release = true }\n": `own.hcl:3: folder "/d" survives a release and no stop`,
		"site = \"a\"\nverified = \"2026-05\"\nclock \"x\" {}\n":                            `own.hcl:3: clock "x" has one of the two`,
	} {
		if _, err := profiles.Named(providers.Backend{Name: "ssh.box", Profile: "own.hcl", ProfileSource: src}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, not %s", src, err, want)
		}
	}
	if _, err := profiles.Named(providers.Backend{Name: "ssh.box", Profile: "autodll"}); err == nil || !strings.Contains(err.Error(), `did you mean "autodl"`) {
		t.Errorf("%v", err)
	}
}

package lang

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang/disk"
)

// TestDigestDecides: a digest and what files told decide what a campaign says:
// the digest is that of the campaign, another value of a variable gives another,
// and where a function would be told something else, that is seen.
func TestDigestDecides(t *testing.T) {
	t.Parallel()
	const job = `phase "p" {
  job {
    command = "echo ${local.x}"
    resources { walltime = "1m" }
  }
}
`
	for _, c := range []struct {
		x       string
		asks    int
		changes func(dir string) error // what a function is told
	}{
		{x: `"file(x)"`},
		{x: `var.n`},
		{x: `basename("a/b")`},
		{x: `file("x.txt")`, asks: 1, changes: other},
		{x: `filebase64("x.txt")`, asks: 1, changes: other},
		{x: `filesha256("x.txt")`, asks: 1, changes: other},
		{x: `"${upper(file("x.txt"))}${file("x.txt")}"`, asks: 1, changes: gone},
		{x: `join(" ", [for f in fileset(".", "*") : f])`, asks: 1, changes: more},
		{x: `length(fileset("none", "*"))`, asks: 1, changes: folder},
		{x: `fileexists("y.txt") ? 1 : 2`, asks: 1, changes: more},
		{x: `try(file("y.txt"), "none")`, asks: 1, changes: more},
		{x: `templatefile("x.txt", {})`, asks: 1, changes: other},
		{x: `templatefile("t.txt", {})`, asks: 2, changes: other},
		{x: `abspath("x.txt")`, asks: 1},
		{x: `pathexpand("~/x")`, asks: 1},
	} {
		t.Run(c.x, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{
				"c.muster.hcl": "campaign \"c\" {}\nvariable \"n\" { default = 1 }\nlocals { x = " + c.x + " }\n" + job,
				"x.txt":        "text", "t.txt": `${file("x.txt")}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			campaign, diags := Load(LoadOptions{Dir: dir})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			digest, decides := Digest(LoadOptions{Dir: dir})
			if !decides || digest != campaign.Digest {
				t.Errorf("digest %s, decides: %t; the campaign's is %s", digest, decides, campaign.Digest)
			}
			if other, _ := Digest(LoadOptions{Dir: dir, Environ: []string{"MUSTER_VAR_n=2"}}); other == digest || other == "" {
				t.Error("another value of a variable, and the same digest")
			}
			questions, told, err := campaign.Reads.Told()
			if err != nil || len(questions) != c.asks {
				t.Fatalf("asked %v, want %d questions: %v", questions, c.asks, err)
			}
			if again, err := disk.AskAgain(disk.Disk{Base: dir}, questions); err != nil || again != told {
				t.Errorf("asked again, and told something else: %v", err)
			}
			if c.changes == nil {
				return
			}
			if err := c.changes(dir); err != nil {
				t.Fatal(err)
			}
			if again, err := disk.AskAgain(disk.Disk{Base: dir}, questions); err != nil || again == told {
				t.Errorf("changed, and told the same: %v", err)
			}
		})
	}
}

func other(dir string) error { return os.WriteFile(filepath.Join(dir, "x.txt"), []byte("TEXT"), 0o600) }
func more(dir string) error  { return os.WriteFile(filepath.Join(dir, "y.txt"), []byte("text"), 0o600) }
func folder(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "none", "x"), nil, 0o600)
}
func gone(dir string) error { return os.Remove(filepath.Join(dir, "x.txt")) }

// TestDigestOfOpenVariables: without a value for each variable nothing is decided.
func TestDigestOfOpenVariables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "c.muster.hcl"), []byte("campaign \"c\" {}\nvariable \"none\" {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if digest, decides := Digest(LoadOptions{Dir: dir}); decides {
		t.Errorf("decides: %s", digest)
	}
}

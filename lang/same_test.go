package lang

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDigestDecides: where a digest decides what a campaign says it is that of
// the campaign, and where files, or nobody, decide, too, it says so.
func TestDigestDecides(t *testing.T) {
	t.Parallel()
	const job = `phase "p" {
  job {
    command = "echo ${local.x}"
    resources { walltime = "1m" }
  }
}
`
	for x, decides := range map[string]bool{
		`"file(x)"`:                        true,
		`var.n`:                            true,
		`basename("a/b")`:                  true,
		`file("x.txt")`:                    false,
		`"${upper(file("x.txt"))}"`:        false,
		`[for f in fileset(".", "*") : f]`: false,
		`can(fileexists("x")) ? 1 : 2`:     false,
		`templatefile("x.txt", {})`:        false,
		`pathexpand("~/x")`:                false,
		`var.none`:                         false,
	} {
		t.Run(x, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			src := "campaign \"c\" {}\nvariable \"n\" { default = 1 }\nvariable \"none\" {}\nlocals { x = " + x + " }\n" + job
			if x != "var.none" {
				src = "campaign \"c\" {}\nvariable \"n\" { default = 1 }\nlocals { x = " + x + " }\n" + job
			}
			for name, text := range map[string]string{"c.muster.hcl": src, "x.txt": "text"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			digest, got := Digest(LoadOptions{Dir: dir})
			if got != decides {
				t.Fatalf("decides: %t, want %t", got, decides)
			}
			if c, diags := Load(LoadOptions{Dir: dir}); decides && (diags.HasErrors() || c.Digest != digest) {
				t.Errorf("digest %s, want that of the campaign: %v", digest, diags)
			}
			other, _ := Digest(LoadOptions{Dir: dir, Environ: []string{"MUSTER_VAR_n=2"}})
			if decides && (other == digest || other == "") {
				t.Error("another value of a variable, and the same digest")
			}
		})
	}
}

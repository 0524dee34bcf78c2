package image

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

func TestRef(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	for in, want := range map[string]string{
		"/img/a.sif": "/img/a.sif", "img/a.sif": "/w/img/a.sif", "./sandbox": "/w/sandbox", "../a.simg": "/a.simg", "~/a.sif": "/home/me/a.sif",
		"docker://a/b:1": "", "library://x": "", "pytorch/pytorch:2.4": "docker://pytorch/pytorch:2.4", "ubuntu": "docker://ubuntu",
	} {
		ref, file := Ref("/w", in)
		if want == "" {
			want = in
		}
		if ref != want || file == strings.Contains(want, "://") {
			t.Errorf("%s: %s, %v, want %s", in, ref, file, want)
		}
	}
}

func TestSeen(t *testing.T) {
	j := &providers.Job{Process: offer.Process{Image: "a.sif"}, Workdir: "/w", Dir: "/w/.muster/source/x", Inputs: []providers.Input{{Paths: []string{"/w/in", "/data/set/1", "/data/set/2"}}},
		Outputs: []providers.Output{{Path: "rel"}, {Path: "/scratch/o/x*.bin", Kind: "glob"}, {Path: "/scratch/m"}}, Checkpoint: providers.Checkpoint{Path: "ckpt"}}
	if got := strings.Join(seen(j), " "); got != "/w /data/set /scratch" {
		t.Errorf("a container sees %s", got)
	}
	if why := Wrong(j); why != "" {
		t.Error(why)
	}
	j.Workdir, j.Dir = "/w:ro", "/w:ro"
	if why := Wrong(j); !strings.Contains(why, "/w:ro") {
		t.Errorf("a runtime reads /w:ro as /w, read-only: %q", why)
	}
	j.Workdir, j.Dir, j.Image = "/w", "/w", "-x"
	if Wrong(j) == "" {
		t.Error("-x is an image")
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0af", 22)[:64]
	for ref, want := range map[string]string{
		"docker://a/b@" + digest: digest, "docker://a/b:1": "", "docker://a/b@sha256:0af": "", "docker://user@host/b:1": "",
		"docker://a/b@" + strings.ToUpper(digest): "", "docker://a/b@" + digest + "0": "",
	} {
		if got := Pin(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}

// TestRemote: an image of a registry is a warning, and one that is not pinned by its digest
// says so.
func TestRemote(t *testing.T) {
	t.Parallel()
	// Requirement: FP-07
	for image, pinned := range map[string]bool{
		"docker://pytorch/pytorch:latest":                            false,
		"docker://pytorch/pytorch":                                   false,
		"docker://pytorch/pytorch@sha256:" + strings.Repeat("0", 64): true,
	} {
		what, why := Remote("/w", image)
		if what == "" || strings.Contains(why, "pin it") == pinned {
			t.Errorf("%s: %s: %s", image, what, why)
		}
	}
	if what, _ := Remote("/w", "/images/x.sif"); what != "" {
		t.Errorf("a file: %s", what)
	}
}

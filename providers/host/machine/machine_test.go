package machine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(h[:])
}

func TestPush(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, part, text, digest string
		ok                       bool
	}{
		{"fresh", "", "hello", sum("hello"), true},
		{"goes on after a part", "hel", "hello", sum("hello"), true},
		{"part of another file", "xyz", "hello", sum("hello"), false},
		{"part longer than the file", "hello world", "hello", sum("hello"), true},
		{"wrong digest", "", "hello", sum("other"), false},
		{"digest unknown", "", "hello", "", true},
		{"empty", "", "", sum(""), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a", "b")
			if c.part != "" {
				os.MkdirAll(filepath.Dir(path), 0o755)
				os.WriteFile(path+".muster-part", []byte(c.part), 0o644)
			}
			err := Push(path, int64(len(c.text)), c.digest, strings.NewReader(c.text))
			if !c.ok && err != nil { // once more: what misled is gone
				if _, e := os.Stat(path); e == nil {
					t.Error("a wrong file is in place")
				}
				return
			}
			b, _ := os.ReadFile(path)
			if (err == nil) != c.ok || string(b) != c.text {
				t.Errorf("%q, %v", b, err)
			}
		})
	}
	if err := Push(filepath.Join(t.TempDir(), "x"), 10, "", strings.NewReader("short")); err == nil {
		t.Error("a push that ends early is whole")
	}
}

func TestPullAndList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755)
	for _, f := range []string{"a.txt", "b.txt", "d/c.txt", "d/e/f"} {
		os.WriteFile(filepath.Join(dir, f), []byte(f), 0o644)
	}
	var got bytes.Buffer
	if err := Pull(filepath.Join(dir, "a.txt"), 2, &got); err != nil || got.String() != "txt" {
		t.Errorf("%q %v", got.String(), err)
	}
	var e *providers.Error
	if err := Pull(filepath.Join(dir, "nope"), 0, &got); !errors.As(err, &e) || e.Class != providers.NotFound {
		t.Errorf("pull of what is not there: %v", err)
	}
	list, err := List([]string{filepath.Join(dir, "*.txt"), filepath.Join(dir, "d"), filepath.Join(dir, "a.txt"), filepath.Join(dir, "nope")})
	var names []string
	for _, f := range list {
		rel, _ := filepath.Rel(dir, f.Path)
		names = append(names, rel)
	}
	if want := "a.txt b.txt d/c.txt d/e/f"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%v %v", names, err)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ro := filepath.Join(dir, "file")
	os.WriteFile(ro, nil, 0o644)
	os.WriteFile(filepath.Join(dir, "there.sif"), nil, 0o644)
	const runtime = "apptainer() { :; }" // what a module load leaves
	site := Site{Tenant: Tenant{Workdir: dir}, Environ: []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}, Devices: []gpu.Device{
		{Index: 0, Name: "NVIDIA A100", Model: "A100", Memory: 40 << 30, Healthy: true}, {Index: 1, Model: "A100", Reason: "fallen off the bus"}}}
	for _, c := range []struct {
		name  string
		check providers.Check
		want  string
	}{
		{"good", providers.Check{Setup: []string{"true"}}, ""},
		{"workdir to be made", providers.Check{Workdir: filepath.Join(dir, "a", "b")}, ""},
		{"workdir under a file", providers.Check{Workdir: filepath.Join(ro, "x")}, "Workdir cannot be used"},
		{"workdir is a file", providers.Check{Workdir: ro}, "Workdir cannot be used"},
		{"setup", providers.Check{Setup: []string{"echo no such module >&2; exit 4"}}, "Setup does not work"},
		{"setup without a conda environment", providers.Check{Setup: []string{"echo 'EnvironmentNameNotFound: Could not find conda environment: nerf' >&2; exit 1"}}, "A conda environment is not there"},
		{"setup without conda", providers.Check{Setup: []string{"PATH=/nowhere; conda activate nerf"}}, "Conda is not there"},
		{"setup without a virtual environment", providers.Check{Setup: []string{". ./venv/bin/activate"}}, "A virtual environment is not there"},
		{"setup without modules", providers.Check{Setup: []string{"module load cuda/12.1"}}, "Modules are not there"},
		{"setup without a module", providers.Check{Setup: []string{`module() { echo "ERROR: Unable to locate a modulefile for 'cuda/99'" >&2; return 1; }`, "module load cuda/99"}}, "A module is not there"},
		{"setup without an image", providers.Check{Setup: []string{"ls ./train.sif"}}, "A container image is not there"},
		{"setup with an image", providers.Check{Setup: []string{"true # ls ./train.sif"}}, ""},
		{"image", providers.Check{Image: "there.sif", Setup: []string{runtime}}, ""},
		{"folder as an image", providers.Check{Image: "./", Setup: []string{runtime}}, ""},
		{"image that is not there", providers.Check{Image: "train.sif", Setup: []string{runtime}}, "A container image is not there"},
		{"image of a registry", providers.Check{Image: "pytorch/pytorch:2.4", Setup: []string{runtime}}, "An image comes from a registry"},
		{"image and nothing that runs it", providers.Check{Image: "there.sif"}, "A container runtime is not there"},
		{"file missing", providers.Check{Require: []providers.Require{{Path: "data"}}}, "A required file is not there"},
		{"disk", providers.Check{Disk: 1 << 60}, "There is no room for results"},
		{"disk if all of it is kept", providers.Check{Keep: 1 << 60}, "There may be no room for everything"},
		{"disk that is there", providers.Check{Disk: 1, Keep: 1}, ""},
		{"one GPU", providers.Check{Shape: offer.Shape{GPUs: 1}}, "A GPU is not healthy"},
		{"two GPUs", providers.Check{Shape: offer.Shape{GPUs: 2}}, "There are not enough healthy GPUs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(context.Background(), time.Minute)
			defer stop()
			got := ""
			for _, f := range Preflight(ctx, site, []providers.Check{c.check}) {
				got = f.Summary
			}
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
	site.Tenant.Backend, site.Spool = "ssh.lab", filepath.Join(ro, "x")
	if found := Preflight(t.Context(), site, []providers.Check{{}}); len(found) != 1 || found[0].Summary != "The queue's spool cannot be used" ||
		!strings.Contains(found[0].Detail, "name a directory on a local disk as spool in the block of backend.ssh.lab") {
		t.Errorf("a spool under a file: %+v", found)
	}
	shared, link := filepath.Join(dir, "shared"), filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	os.Mkdir(shared, 0o755)
	os.Chmod(shared, 0o755) // whatever the umask
	for spool, want := range map[string]string{filepath.Join(dir, "to", "be", "made"): "", ro: "is not a directory", shared: "chmod 0700 " + shared, link: "is a link"} {
		if got := unusable(spool); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("spool %s: %q, want %q", spool, got, want)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "a")); entries != nil {
		t.Error("preflight made a folder")
	}
}

// TestNoDefaultSpool: what is wrong with the default spool is found before jobs are
// submitted.
func TestNoDefaultSpool(t *testing.T) {
	t.Setenv("MUSTER_SPOOL", "/\xff")
	found := Preflight(t.Context(), Site{Tenant: Tenant{Backend: "local.local", Workdir: t.TempDir()}}, []providers.Check{{}})
	if len(found) != 1 || found[0].Summary != "The queue's spool cannot be used" || !strings.Contains(found[0].Detail, "is not UTF-8") ||
		!strings.Contains(found[0].Detail, "export MUSTER_SPOOL=$HOME/.muster-queue") {
		t.Errorf("%+v", found)
	}
}

// TestSetupIsTriedOnce of all the checks that have it, and each of them is told.
func TestSetupIsTriedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := Site{Tenant: Tenant{Workdir: dir}, Environ: []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}}}
	var checks []providers.Check
	for i := range 300 {
		checks = append(checks, providers.Check{Setup: []string{"echo $KIND >> tries; [ \"$KIND\" = a ]"}, Env: []providers.EnvVar{
			{Name: "KIND", Value: string(rune('a' + i%2))}, {Name: "SEED", Value: strconv.Itoa(i)}}})
	}
	bad := map[int]bool{}
	for _, f := range Preflight(t.Context(), site, checks) {
		if f.Summary == "Setup does not work" {
			bad[f.Check] = true
		}
	}
	tries, _ := os.ReadFile(filepath.Join(dir, "tries"))
	if n := len(strings.Fields(string(tries))); n != 2 || len(bad) != 150 || bad[0] || !bad[1] {
		t.Errorf("%d trials, and %d checks are told", n, len(bad))
	}
}

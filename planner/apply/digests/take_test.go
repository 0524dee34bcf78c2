package digests

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// What becomes of a file while it is read.
func TestHere(t *testing.T) {
	t.Parallel()
	const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	old := time.Now().Add(-time.Hour)
	replace := func(path, text string) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	}
	for _, tc := range []struct {
		name   string
		during func(path string, read int) error // read is how often it was begun
		want   string                            // of the error, "" for none
	}{
		{"nothing", func(string, int) error { return nil }, ""},
		{"edited once, to the same length", func(path string, read int) error {
			if read > 1 {
				return nil
			}
			return replace(path, "abc")
		}, ""},
		{"edited again and again", func(path string, read int) error { return replace(path, strings.Repeat("x", read)) }, "changes while it is read"},
		{"touched again and again", func(path string, read int) error { return os.Chtimes(path, old, old.Add(time.Duration(read))) }, "changes while it is read"},
		{"removed", func(path string, _ int) error { return os.Remove(path) }, "no such file"},
		{"a pipe in its place", func(path string, read int) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		}, "a named pipe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			path := filepath.Join(root, "f")
			if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
				t.Fatal(err)
			}
			begun := 0
			taken, err := Here(t.Context(), root, path, func(n int64) {
				if n == 0 {
					return
				}
				begun++
				if err := tc.during(path, begun); err != nil {
					t.Error(err)
				}
			})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("%+v, %v, want %q", taken, err, tc.want)
				}
			} else if err != nil || taken.Digest != abc || taken.Stamp != 0 {
				t.Errorf("%+v, %v; the stamp of a file this young is no stamp", taken, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Here(ctx, filepath.Dir(path), path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
}

type verifier func(providers.VerifyRequest) []offer.Output

func (v verifier) Verify(_ context.Context, r providers.VerifyRequest) ([]offer.Output, error) {
	return v(r), nil
}

// A backend is asked for many files in few requests, and is believed only what is a
// digest.
func TestThere(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	asked := 0
	paths := make([]string, mostAsked+2)
	for i := range paths {
		paths[i] = "/d/" + strings.Repeat("x", i%7)
	}
	taken, errs, err := There(t.Context(), verifier(func(r providers.VerifyRequest) (out []offer.Output) {
		asked++
		for i := range r.Outputs {
			o := offer.Output{OK: true, Digest: digest, Size: 3}
			if asked == 2 {
				o = []offer.Output{{Verdict: "is a folder\x1b[2J"}, {OK: true, Digest: "md5:x"}}[i]
			}
			out = append(out, o)
		}
		return out
	}), site.Filesystem{Backend: "ssh.lab"}, paths)
	n := mostAsked
	if err != nil || asked != 2 || taken[0].Digest != digest || errs[0] != nil || !strings.Contains(errs[n].Error(), "is a folder") || strings.Contains(errs[n].Error(), "\x1b") || !errors.Is(errs[n+1], errNoDigest) {
		t.Errorf("%d requests, %v, %v, %v, %v", asked, err, errs[0], errs[n], errs[n+1])
	}
	if _, _, err := There(t.Context(), verifier(func(providers.VerifyRequest) []offer.Output { return nil }), site.Filesystem{}, paths[:1]); !errors.Is(err, errNoDigest) {
		t.Errorf("a backend that answers for no file: %v", err)
	}
}

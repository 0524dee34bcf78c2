package digests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

const (
	// young is how new the last change of a file may be for its digest not to be
	// kept: within a clock's step it can change again unseen.
	young = 2 * time.Second
	// thereTimeout is for a backend to read one file.
	thereTimeout = 12 * time.Hour
	// mostAsked is how many files a backend is asked for in one request.
	mostAsked = 1000
)

var (
	errOutside  = errors.New("leads outside the campaign's folder")
	errSystem   = errors.New("leads to a folder of the system, from which nothing is read")
	errMoves    = errors.New("changes while it is read. Wait until it is written")
	errNoDigest = errors.New("has no digest: its backend gave none")
	isDigest    = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

// Taken is a digest, and the file's size and stamp when it was taken. The stamp is
// 0 where the file is too young for its digest to be kept.
type Taken struct {
	Digest string
	Size   int64
	Stamp  uint64
}

// Locate is the folder in which a path of a campaign may be read, and the path
// below it: the campaign's, or another that reads allows; nil allows none. What says
// what for.
func Locate(dir, path, what string, reads func(dir, what string) error) (root, rel string, err error) {
	root, rel, err = disk.Locate(path, []string{dir})
	outside := (*disk.OutsideError)(nil)
	if !errors.As(err, &outside) {
		return root, rel, err
	}
	if reads == nil {
		return "", "", errOutside
	}
	real, lost := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(lost, fs.ErrNotExist):
		return "", "", fs.ErrNotExist
	case lost != nil:
		return "", "", fmt.Errorf("cannot be followed, since its links lead to one another or a folder cannot be searched: %w", lost)
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		real = filepath.Dir(real)
	}
	if err := reads(real, what); err != nil {
		return "", "", fmt.Errorf("leads outside the campaign's folder: %w", err)
	}
	if root, rel, err = disk.Locate(path, []string{real}); errors.As(err, &outside) {
		err = errSystem
	}
	return root, rel, err
}

// Look is the stat of a file below a root on muster's machine.
func Look(root, abs string) offer.Output {
	return verify.Stat(root, providers.Output{Name: "input", Path: abs})
}

// Here reads a file of muster's machine below a root. Told, which may be nil, hears
// how many bytes each read brought.
func Here(ctx context.Context, root, abs string, told func(int64)) (Taken, error) {
	const tries = 2
	for range tries {
		before := Look(root, abs)
		if !before.OK {
			return Taken{}, errors.New(before.Verdict)
		}
		digest, err := sum(root, abs, &reader{ctx: ctx, told: told})
		if err != nil {
			return Taken{}, err
		}
		if now := Look(root, abs); now.Stamp() != before.Stamp() || !now.OK {
			continue
		}
		t := Taken{Digest: digest, Size: before.Size}
		if time.Since(time.Unix(0, before.CTime)) > young {
			t.Stamp = before.Stamp()
		}
		return t, nil
	}
	return Taken{}, errMoves
}

func sum(root, abs string, r *reader) (string, error) {
	file, err := disk.Open(abs, []string{root})
	if err != nil {
		return "", Unread(err)
	}
	defer file.Close()
	r.Reader = file
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", Unread(err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// A reader stops when its context ends, and reports its progress.
type reader struct {
	ctx context.Context
	io.Reader
	told func(int64)
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	if r.told != nil {
		r.told(int64(n))
	}
	return n, err
}

// A Verifier opens files where they are: a provider.
type Verifier interface {
	Verify(context.Context, providers.VerifyRequest) ([]offer.Output, error)
}

// There has a backend read files that it has, in order. An error in place of a file
// is about that file alone.
func There(ctx context.Context, v Verifier, at site.Filesystem, paths []string) ([]Taken, []error, error) {
	ctx, cancel := context.WithTimeout(ctx, thereTimeout)
	defer cancel()
	got, err := ask(ctx, v, at, paths, true)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot be read: %w", err)
	}
	taken, errs := make([]Taken, len(paths)), make([]error, len(paths))
	for i := range got {
		switch o := &got[i]; {
		case !o.OK:
			errs[i] = errors.New(term.CleanLine(o.Verdict))
		case !isDigest.MatchString(o.Digest):
			errs[i] = errNoDigest
		default:
			taken[i] = Taken{o.Digest, o.Size, o.Stamp()}
		}
	}
	return taken, errs, nil
}

// LookThere is the stat of files on a backend, in order.
func LookThere(ctx context.Context, v Verifier, at site.Filesystem, paths []string) ([]offer.Output, error) {
	return ask(ctx, v, at, paths, false)
}

func ask(ctx context.Context, v Verifier, at site.Filesystem, paths []string, open bool) ([]offer.Output, error) {
	var out []offer.Output
	for part := range slices.Chunk(paths, mostAsked) {
		r := providers.VerifyRequest{Backend: at.Name(), Workdir: at.Workdir, Open: open}
		for _, path := range part {
			r.Outputs = append(r.Outputs, providers.Output{Name: "input", Path: path})
		}
		got, err := v.Verify(ctx, r)
		if err != nil {
			return nil, err
		}
		if len(got) != len(part) {
			return nil, errNoDigest
		}
		out = append(out, got...)
	}
	return out, nil
}

// Unread is why a file cannot be read, without its path, which is shown beside it.
func Unread(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("cannot be read: %w", path.Err)
	}
	return fmt.Errorf("cannot be read: %w", err)
}

package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/verify"
	"github.com/muster-run/muster/state"
)

// A Fetched is one file that was copied to this machine.
type Fetched struct {
	Path   string // below the workdir it comes from
	File   string // here
	Size   int64
	Digest string // that it was compared with; "" where the output as a whole was
	Kept   bool   // it was here already
}

// Absolute paths of outputs are below this folder here.
const absoluteHere = "absolute"

// Fetch copies the files of an output below a folder of this machine and compares them with
// their record. It goes on where a broken transfer stopped, and does not copy correct files
// again.
func Fetch(ctx context.Context, from Side, o state.Output, to string, far *Progress) ([]Fetched, error) {
	kind := jobspec.KindOf(&o)
	found, err := listed(ctx, from, Load{Output: o, From: o.Path, Kind: kind})
	if err != nil {
		return nil, err
	}
	here := o
	if path.IsAbs(o.Path) {
		here.Path = path.Join(absoluteHere, o.Path)
		for i := range found {
			found[i].rel = path.Join(absoluteHere, found[i].from)
		}
	}
	kept := digestHere(ctx, to, here, kind) == o.Digest && o.Digest != ""
	var out []Fetched
	for _, p := range found {
		f := Fetched{Path: p.rel, File: filepath.Join(to, p.rel), Size: p.size, Digest: p.digest, Kept: kept}
		if !kept {
			if err := fetchFile(ctx, from, p, to, far); err != nil {
				return out, err
			}
		}
		far.arrived(p.from, p.size)
		out = append(out, f)
	}
	if got := digestHere(ctx, to, here, kind); !kept && o.Digest != "" && got != o.Digest {
		return out, fmt.Errorf("%s has digest %s here, recorded was %s: it changed after its job ended, or other files are beside it here", o.Path, short(got), short(o.Digest))
	}
	return out, nil
}

// digestHere is the digest of an output's copy on this machine, "" if there
// is none.
func digestHere(ctx context.Context, to string, o state.Output, kind lang.OutputKind) string {
	got := verify.Check(ctx, to, providers.Output{Name: o.Name, Kind: string(kind), Path: o.Path, MinCount: providers.NoneNeeded})
	if !got.OK {
		return ""
	}
	return got.Digest
}

// staging is the folder below the one that is pulled to where files arrive.
const staging = ".muster-pull"

// fetchFile copies one file by way of the staging folder. Nothing outside the
// folder that is pulled to is written, through whatever links.
func fetchFile(ctx context.Context, from Side, p parcel, dir string, far *Progress) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("pull to %s: %w", dir, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("pull to %s: %w", dir, err)
	}
	defer root.Close()
	part := filepath.Join(staging, p.rel+".part")
	if err = errors.Join(root.MkdirAll(filepath.Dir(part), 0o755), root.MkdirAll(filepath.Dir(p.rel), 0o755)); err != nil {
		return fmt.Errorf("pull to %s: %w", filepath.Join(dir, p.rel), err)
	}
	f, err := root.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("pull to %s: %w", filepath.Join(dir, p.rel), err)
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err == nil && at > p.size {
		at, err = 0, f.Truncate(0)
	}
	if err == nil {
		err = from.Files.Pull(ctx, from.Backend, p.from, at, &offsetWriter{f, at, p.size, p.from, far})
	}
	digest := ""
	if err == nil && p.digest != "" {
		digest, err = digestOf(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("pull %s: %w", p.from, err)
	}
	if digest != p.digest {
		_ = root.Remove(part) // the old part was not the beginning of this file
		return fmt.Errorf("%s has digest %s, recorded was %s: it changed after its job ended", p.from, short(digest), short(p.digest))
	}
	if err := outOfTheWay(root, p.rel); err != nil {
		return fmt.Errorf("pull to %s: %w", filepath.Join(dir, p.rel), err)
	}
	if err := root.Rename(part, p.rel); err != nil {
		return fmt.Errorf("pull to %s: %w", filepath.Join(dir, p.rel), err)
	}
	for at := filepath.Dir(part); at != "."; at = filepath.Dir(at) {
		if root.Remove(at) != nil { // another file is on its way
			break
		}
	}
	return nil
}

// replaced is the folder below the one that is pulled to where other files go
// that are at the path of one that is pulled.
const replaced = ".muster-replaced"

// outOfTheWay moves the file at a path aside, and never over another file.
func outOfTheWay(root *os.Root, name string) error {
	if _, err := root.Lstat(name); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	aside := filepath.Join(replaced, name)
	if err := root.MkdirAll(filepath.Dir(aside), 0o755); err != nil {
		return err
	}
	to := aside
	for n := 1; ; n++ {
		if _, err := root.Lstat(to); errors.Is(err, os.ErrNotExist) {
			return root.Rename(name, to)
		}
		to = aside + "." + strconv.Itoa(n)
	}
}

// offsetWriter writes where the file ends, and no more than its size.
type offsetWriter struct {
	f        *os.File
	at, size int64
	from     string
	far      *Progress
}

func (w *offsetWriter) Write(b []byte) (int, error) {
	if w.at+int64(len(b)) > w.size {
		return 0, errLonger
	}
	n, err := w.f.WriteAt(b, w.at)
	w.far.count(w.from, w.at, n, w.size)
	w.at += int64(n)
	return n, err
}

func digestOf(f *os.File) (string, error) {
	h := sha256.New()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func short(digest string) string {
	const n = len("sha256:") + 12
	if len(digest) > n {
		return digest[:n]
	}
	if digest == "" {
		return "none"
	}
	return digest
}

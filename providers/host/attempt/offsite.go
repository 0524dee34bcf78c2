package attempt

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/offsite"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// copiesKept is how many copies of a job's checkpoint stay where copy_to puts them: the last one
// may turn out to be torn.
const copiesKept = 2

// sumName is the last entry of a copy: the digest of all before it. A copy without it is not
// whole.
const sumName = ".muster-sha256"

// OffsiteFolder names the folder of a job's copies: that of its campaign, and in it one for the
// job as it is defined. A job that was changed never resumes from the copy of another.
func OffsiteFolder(lineage string, j *providers.Job) string {
	sum := sha256.Sum256([]byte(j.Address + "\x00" + j.ResultHash))
	return path.Join("muster-"+lineage, j.Phase+"-"+hex.EncodeToString(sum[:8]))
}

// copyName names the copy of a checkpoint by the time of its newest file, so that names sort by age.
func copyName(mtime int64) string { return fmt.Sprintf("%020d.tar", mtime) }

// copyTime is the time in a copy's name; false for a file that is none.
func copyTime(name string) (time.Time, bool) {
	digits, ok := strings.CutSuffix(name, ".tar")
	n, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(0, n), ok && err == nil && len(digits) == 20
}

// offsiteCopies are the names of a place's copies, the newest first.
func offsiteCopies(ctx context.Context, p offsite.Place) (names []string, err error) {
	all, err := p.List(ctx)
	for _, name := range all {
		if _, ok := copyTime(name); ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	return names, err
}

// ErrChanged says that a checkpoint changed while it was copied: the next look tries again.
var ErrChanged = errors.New("the checkpoint changed while it was copied")

// newestCheckpoint is the one that a launch would resume from; ok is false without one.
func newestCheckpoint(j *providers.Job) (c checkpoint, ok bool, err error) {
	all, err := checkpoints(j)
	if err != nil || len(all) == 0 {
		return c, false, err
	}
	return all[0], true, nil
}

// CopyOut copies the newest checkpoint of a job to a place, unless it is there. It fails, and
// leaves no copy, if the checkpoint changes meanwhile.
func CopyOut(ctx context.Context, p offsite.Place, j *providers.Job) error {
	c, ok, err := newestCheckpoint(j)
	if err != nil || !ok {
		return err
	}
	there, err := offsiteCopies(ctx, p)
	name := copyName(c.seen.MTime)
	if err != nil || slices.Contains(there, name) {
		return err
	}
	mark := CheckpointMark(j)
	err = p.Write(ctx, name, func(w io.Writer) error {
		if err := pack(ctx, w, c.path, fromWorkdir(j, c.path)); err != nil {
			return err
		}
		if CheckpointMark(j) != mark {
			return ErrChanged
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, old := range there[min(copiesKept-1, len(there)):] {
		err = errors.Join(err, p.Remove(ctx, old))
	}
	return err
}

// packed is the name, in a copy, of the checkpoint itself.
const packed = "checkpoint"

// pack writes a file, or the files below a folder, and at the end the digest of all and the
// checkpoint's path.
func pack(ctx context.Context, w io.Writer, root, called string) error {
	t, sum := tar.NewWriter(w), sha256.New()
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		return packFile(t, sum, at, path.Join(packed, filepath.ToSlash(name)))
	})
	if err != nil {
		return err
	}
	text := hex.EncodeToString(sum.Sum(nil)) + "\n" + called
	if err := t.WriteHeader(&tar.Header{Name: sumName, Mode: 0o600, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := io.WriteString(t, text); err != nil {
		return err
	}
	return t.Close()
}

// packFile writes one file; what a link leads to is copied in its place.
func packFile(t *tar.Writer, sum hash.Hash, at, name string) error {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return cmp.Or(err, fmt.Errorf("%s is not a file", at))
	}
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: int64(fi.Mode().Perm()), Size: fi.Size(), ModTime: fi.ModTime(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	fmt.Fprintf(sum, "%q %d\n", name, fi.Size())
	n, err := io.Copy(io.MultiWriter(t, sum), io.LimitReader(f, fi.Size()))
	if err == nil && n < fi.Size() {
		err = fmt.Errorf("%s became shorter while it was copied", at)
	}
	return err
}

// CopyIn brings the newest whole copy of a job's checkpoint back before a launch, if it is newer
// than the checkpoint that is there. A copy that is damaged, or that fails the checkpoint's
// checks, is passed over for the one before it. The record and the log of the launch say so.
func CopyIn(ctx context.Context, p offsite.Place, j *providers.Job, shape offer.Shape, launch int) error {
	names, err := offsiteCopies(ctx, p)
	if err != nil {
		return err
	}
	here, ok, err := newestCheckpoint(j)
	if err != nil {
		return err
	}
	var notes []string
	for _, name := range names {
		at, _ := copyTime(name)
		if ok && at.UnixNano() <= here.seen.MTime {
			break
		}
		bad, err := copyBack(ctx, p, j, name, shape)
		if err != nil {
			return err
		}
		if bad == nil {
			notes = append(notes, "its checkpoint of "+units.FormatTime(at.UTC())+" was copied back from "+j.Checkpoint.CopyTo)
			break
		}
		notes = append(notes, fmt.Sprintf("the copy of its checkpoint of %s at %s is not whole (%s)", units.FormatTime(at.UTC()), j.Checkpoint.CopyTo, bad))
	}
	if len(notes) == 0 {
		return nil
	}
	r := prologueOf(j, launch)
	r.Notes, r.Mark = append(r.Notes, notes...), CheckpointMark(j)
	if err := r.write(j, launch); err != nil {
		return err
	}
	return log(j, launch, notes)
}

// copyBack puts one copy in place. bad says why it is not whole, err why that is unknown.
func copyBack(ctx context.Context, p offsite.Place, j *providers.Job, name string, shape offer.Shape) (bad, err error) {
	r, err := p.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	near := filepath.Join(j.Workdir, ".muster")
	if !j.Checkpoint.Glob {
		near = filepath.Dir(InWorkdir(j.Workdir, j.Checkpoint.Path))
	}
	dir := filepath.Join(near, ".muster-incoming-"+j.Token)
	if err := errors.Join(os.RemoveAll(dir), MakeFolder(j, dir)); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	called, bad, err := unpack(ctx, r, dir)
	if bad != nil || err != nil {
		return bad, err
	}
	if !j.Checkpoint.Glob {
		called = j.Checkpoint.Path
	} else if !filepath.IsLocal(called) || guard.Muster(j.Workdir, filepath.Join(j.Workdir, called)) {
		return fmt.Errorf("its path is %q, outside the workdir", called), nil
	}
	to, from := InWorkdir(j.Workdir, called), filepath.Join(dir, packed)
	if j.Checkpoint.Checked() {
		c := checkpoint{path: from}
		if fi, err := os.Stat(from); err == nil && fi.IsDir() {
			c.kind = "dir"
		}
		if found := opened(ctx, j, c, shape); !found.OK {
			return errors.New(found.Verdict), nil
		}
	}
	if err := MakeFolder(j, filepath.Dir(to)); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(to); err == nil { // an older one
		if err := guard.Aside(j, to); err != nil {
			return nil, err
		}
	}
	return nil, os.Rename(from, to)
}

// A source remembers why it could not be read.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// unpack writes the files of a copy below a folder, and returns the path of its checkpoint.
func unpack(ctx context.Context, r io.Reader, dir string) (called string, bad, err error) {
	from, sum := &source{Reader: r}, sha256.New()
	t := tar.NewReader(from)
	for ctx.Err() == nil {
		h, err := t.Next()
		switch {
		case from.err != nil:
			return "", nil, from.err
		case err != nil:
			return "", errors.New("it was cut short"), nil
		case h.Name == sumName:
			text, err := io.ReadAll(io.LimitReader(t, 1<<16))
			digest, called, _ := strings.Cut(string(text), "\n")
			switch {
			case from.err != nil:
				return "", nil, from.err
			case err != nil || digest != hex.EncodeToString(sum.Sum(nil)):
				return "", errors.New("its digest is another"), nil
			}
			return called, nil, nil
		case h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name):
			return "", fmt.Errorf("it has %q in it", h.Name), nil
		}
		if err := unpackFile(t, sum, filepath.Join(dir, h.Name), h); err != nil {
			if from.err == nil && errors.Is(err, io.ErrUnexpectedEOF) {
				return "", errors.New("it was cut short"), nil
			}
			return "", nil, cmp.Or(from.err, err)
		}
	}
	return "", nil, ctx.Err()
}

func unpackFile(t *tar.Reader, sum hash.Hash, at string, h *tar.Header) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode).Perm()|0o600)
	if err != nil {
		return err
	}
	fmt.Fprintf(sum, "%q %d\n", h.Name, h.Size)
	_, err = io.Copy(io.MultiWriter(f, sum), t)
	return errors.Join(err, f.Sync(), f.Close(), os.Chtimes(at, time.Time{}, h.ModTime))
}

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
	"github.com/muster-run/muster/providers/wrapper/verify"
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

// outdated ends the name of a file beside a copy from which nothing resumes any more. began ends
// the name of one that says when the job last began from the start, in the form of a copy's:
// the run before may have copied its last checkpoint since.
const (
	outdated = ".replaced"
	began    = ".start"
)

// offsiteCopies are the names of a place's copies, the newest first, and those of files that
// go when the job has a copy again: copies from which nothing resumes, and what says so.
func offsiteCopies(ctx context.Context, p offsite.Folder) (names, old []string, err error) {
	all, err := p.List(ctx)
	slices.Sort(all)
	start := ""
	for _, name := range all {
		if digits, ok := strings.CutSuffix(name, began); ok {
			if start != "" {
				old = append(old, start+began)
			}
			start = digits
		}
	}
	for _, name := range all {
		if _, ok := copyTime(name); !ok {
			continue
		}
		marked := slices.Contains(all, name+outdated)
		if marked {
			old = append(old, name+outdated)
		}
		if marked || strings.TrimSuffix(name, ".tar") < start {
			old = append(old, name)
		} else {
			names = append(names, name)
		}
	}
	slices.Reverse(names)
	return names, old, err
}

// Outdate has no launch resume from the copies that are there, or that the run before makes
// yet: the job begins from the start. They stay until it has a copy of its own.
func Outdate(ctx context.Context, p offsite.Folder) error {
	names, _, err := offsiteCopies(ctx, p)
	if err != nil {
		return err
	}
	note := func(w io.Writer) error {
		_, err := io.WriteString(w, "The job began from the start.\n")
		return err
	}
	err = p.Write(ctx, fmt.Sprintf("%020d%s", time.Now().UnixNano(), began), note)
	for _, name := range names {
		err = errors.Join(err, p.Write(ctx, name+outdated, note))
	}
	return err
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
// leaves no copy, if that checkpoint is written meanwhile. A file that another one replaces
// (rename) stays whole.
func CopyOut(ctx context.Context, p offsite.Folder, j *providers.Job) error {
	there, replaced, err := offsiteCopies(ctx, p)
	if err != nil {
		return err
	}
	c, ok, err := newestCheckpoint(j)
	if err != nil || !ok {
		return err
	}
	var file *source // a checkpoint that is one file, before another replaces it
	if c.kind != "dir" {
		if file, err = openSource(c.path); err != nil {
			return err
		}
		defer file.Close()
		c.seen.MTime = file.was.ModTime().UnixNano()
	}
	name := copyName(c.seen.MTime)
	if slices.Contains(there, name) {
		return nil
	}
	if err := p.Write(ctx, name, func(w io.Writer) error { return pack(ctx, w, j, c, file) }); err != nil {
		return err
	}
	for _, old := range there[min(copiesKept-1, len(there)):] {
		err = errors.Join(err, p.Remove(ctx, old))
	}
	for _, old := range replaced {
		if old != name {
			err = errors.Join(err, p.Remove(ctx, old))
		}
	}
	return err
}

// packed is the name, in a copy, of the checkpoint itself.
const packed = "checkpoint"

// pack writes a file, or the files below a folder, and at the end the digest of all and the
// checkpoint's path.
func pack(ctx context.Context, w io.Writer, j *providers.Job, c checkpoint, file *source) error {
	t, sum := tar.NewWriter(w), sha256.New()
	var err error
	if file != nil {
		err = packFile(t, sum, file, packed)
	} else {
		err = packFolder(ctx, t, sum, j, c)
	}
	if err != nil {
		return err
	}
	text := hex.EncodeToString(sum.Sum(nil)) + "\n" + fromWorkdir(j, c.path)
	if err := t.WriteHeader(&tar.Header{Name: sumName, Mode: 0o600, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := io.WriteString(t, text); err != nil {
		return err
	}
	return t.Close()
}

func packFolder(ctx context.Context, t *tar.Writer, sum hash.Hash, j *providers.Job, c checkpoint) error {
	err := filepath.WalkDir(c.path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := filepath.Rel(c.path, at)
		if err != nil {
			return err
		}
		f, err := openSource(at)
		if err != nil {
			return err
		}
		defer f.Close()
		return packFile(t, sum, f, path.Join(packed, filepath.ToSlash(name)))
	})
	now := verify.Stat(j.Workdir, providers.Output{Kind: c.kind, Path: c.path})
	if errors.Is(err, fs.ErrNotExist) || err == nil && (now.MTime != c.seen.MTime || now.Size != c.seen.Size || now.Files != c.seen.Files) {
		return ErrChanged
	}
	return err
}

// A source is a file to copy, and its size and time when it was opened.
type source struct {
	*os.File
	was fs.FileInfo
}

func openSource(at string) (*source, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	was, err := f.Stat()
	if err != nil || !was.Mode().IsRegular() {
		return nil, errors.Join(cmp.Or(err, fmt.Errorf("%s is not a file", at)), f.Close())
	}
	return &source{f, was}, nil
}

// packFile writes one file; in place of a link it copies the target.
func packFile(t *tar.Writer, sum hash.Hash, f *source, name string) error {
	size := f.was.Size()
	if err := t.WriteHeader(&tar.Header{Name: name, Mode: int64(f.was.Mode().Perm()), Size: size, ModTime: f.was.ModTime(), Format: tar.FormatPAX}); err != nil {
		return err
	}
	fmt.Fprintf(sum, "%q %d\n", name, size)
	n, err := io.Copy(io.MultiWriter(t, sum), io.LimitReader(f, size))
	if err != nil {
		return err
	}
	now, err := f.Stat()
	if err == nil && (n < size || now.Size() != size || !now.ModTime().Equal(f.was.ModTime())) {
		err = ErrChanged
	}
	return err
}

// CopyIn brings the newest whole copy of a job's checkpoint back before a launch, if it is newer
// than the checkpoint that is there. A copy that is damaged, or that fails the checkpoint's
// checks, is passed over for the one before it. The record and the log of the launch say so.
func CopyIn(ctx context.Context, p offsite.Folder, j *providers.Job, shape offer.Shape, launch int) error {
	names, _, err := offsiteCopies(ctx, p)
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
func copyBack(ctx context.Context, p offsite.Folder, j *providers.Job, name string, shape offer.Shape) (bad, err error) {
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

// A reader remembers why it could not be read.
type reader struct {
	io.Reader
	err error
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// unpack writes the files of a copy below a folder, and returns the path of its checkpoint.
func unpack(ctx context.Context, r io.Reader, dir string) (called string, bad, err error) {
	from, sum := &reader{Reader: r}, sha256.New()
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

package attempt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/guard"
)

// plainPath is a path that a command may have in any kind of quotes.
var plainPath = lazyregexp.New(`^/[A-Za-z0-9_.:=+,@/-]*$`)

// ScratchFolder is the path of the folder of a launch, by its name, below dir on its node's disk;
// "" for a job without a scratch block. dir may name variables of the node; "" is its folder for
// temporary files. Where such a folder has a name that a command cannot have without quotes, as
// that of an array's element on PBS, /var/tmp/pbs.7[1].server, it is the folder above. It makes
// nothing.
func ScratchFolder(j *providers.Job, dir, launch string) (string, error) {
	if j.Scratch == nil {
		return "", nil
	}
	unset := ""
	stated := dir
	dir = os.Expand(dir, func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			unset = name
		}
		return value
	})
	switch {
	case unset != "":
		return "", &Missing{Path: stated, What: "the folder for scratch names $" + unset + ", which is not set here"}
	case dir == "":
		dir = os.TempDir()
	}
	for dir != stated && filepath.IsAbs(dir) && !plainPath.MatchString(dir) {
		dir = filepath.Dir(dir)
	}
	if !plainPath.MatchString(dir) {
		return "", fmt.Errorf("the folder for scratch is %q: write an absolute path of letters, digits and _ . : = + , @ / -", dir)
	}
	return filepath.Join(dir, "muster-"+j.Token+"."+launch), nil
}

// InScratch is a job as its command sees it: with the paths of the files in its folder on the
// node's disk. Without such a folder it is the job itself.
func InScratch(j *providers.Job, folder string) *providers.Job {
	if j.Scratch == nil || folder == "" {
		return j
	}
	run := wrapper.Replaced(j, strings.NewReplacer(offer.ScratchMark, folder))
	run.Inputs = slices.Clone(j.Inputs)
	for i := range run.Inputs {
		in := &run.Inputs[i]
		if slices.Contains(j.Scratch.In, in.Name) {
			in.Paths = copies(folder, in)
		}
	}
	run.Outputs = slices.Clone(j.Outputs)
	for i := range run.Outputs {
		if o := &run.Outputs[i]; slices.Contains(j.Scratch.Out, o.Name) {
			o.Path = offer.ScratchOutput(folder, o.Name, o.Path)
		}
	}
	run.Scratch = &offer.Scratch{Folder: folder}
	return run
}

// copies are the paths of an input's files on the node's disk.
func copies(folder string, in *providers.Input) []string {
	out := make([]string, len(in.Paths))
	for i, p := range in.Paths {
		out[i] = offer.ScratchInput(folder, in.Name, i, len(in.Paths), p)
	}
	return out
}

// StageIn makes a launch's folder on the node's disk and copies inputs into it. A folder that
// is there is complete, and this launch's, where again says that it may have been begun before.
func StageIn(ctx context.Context, j *providers.Job, folder string, again bool) error {
	if folder == "" {
		return nil
	}
	if _, err := os.Lstat(folder); err == nil {
		if again {
			return nil
		}
		return fmt.Errorf("scratch: %s is there, and this launch did not make it. Move it away", folder)
	}
	if _, err := os.Stat(filepath.Dir(folder)); err != nil {
		return &Missing{Path: filepath.Dir(folder), What: "the folder for scratch is not on this node: correct scratch of the backend"}
	}
	part := folder + ".part"
	if again {
		RemoveScratch(part)
	}
	if err := os.Mkdir(part, 0o700); err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	for i := range j.Inputs {
		in := &j.Inputs[i]
		if !slices.Contains(j.Scratch.In, in.Name) {
			continue
		}
		for k, to := range copies(part, in) {
			if err := copyTree(ctx, in.Paths[k], to); err != nil {
				RemoveScratch(part)
				return fmt.Errorf("stage in input %s: %w", in.Name, err)
			}
		}
	}
	return os.Rename(part, folder)
}

// RemoveScratch removes a launch's folder from the node's disk.
func RemoveScratch(folder string) {
	if folder == "" || os.RemoveAll(folder) == nil {
		return
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() { // a folder that the job made read-only
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}

// A copied file is one of an output, on the node's disk and at its path.
type copied struct{ from, to string }

// stageOut copies the outputs that the command wrote on the node's disk to their paths, over
// no file that is not the job's own. Copies made before its end stay.
func (e Ended) stageOut(ctx context.Context) error {
	j := e.Job
	if e.Scratch == "" || j.Scratch == nil {
		return nil
	}
	var left []providers.Output
	files := map[string][]copied{}
	for _, o := range j.Outputs {
		if !slices.Contains(j.Scratch.Out, o.Name) {
			continue
		}
		list, err := staged(j.Workdir, e.Scratch, o)
		if err != nil {
			return fmt.Errorf("output %s: %w", o.Name, err)
		}
		// A launch that writes the bytes of an earlier one has written its output, too.
		if fresh, _ := e.Marks.Fresh(j.Workdir, o); fresh {
			list = slices.DeleteFunc(list, func(c copied) bool { return same(ctx, c.from, c.to) })
		}
		if len(list) > 0 {
			left, files[o.Name] = append(left, o), list
		}
	}
	if j.Guard != nil && !j.Smoke {
		own := *j
		own.Outputs, own.Checkpoint = left, providers.Checkpoint{}
		launch := e.Start
		launch.Job = &own
		if err := guard.Clear(launch); err != nil {
			return err
		}
	}
	for _, o := range left {
		for _, c := range files[o.Name] {
			if err := e.copyOut(ctx, c); err != nil {
				return fmt.Errorf("output %s was not copied from the node's disk: %w", o.Name, err)
			}
		}
	}
	return nil
}

// staged are the files of an output on the node's disk. None are those of one that the command
// did not write there.
func staged(workdir, folder string, o providers.Output) (list []copied, err error) {
	root := offer.ScratchOutput(folder, o.Name, "")
	rel := strings.TrimPrefix(filepath.Clean(o.Path), "/")
	names := []string{rel}
	if o.Kind == "glob" {
		if names, err = doublestar.Glob(os.DirFS(root), filepath.ToSlash(rel)); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			to := strings.TrimPrefix(path, root+"/")
			if filepath.IsAbs(o.Path) {
				to = "/" + to
			}
			list = append(list, copied{path, InWorkdir(workdir, to)})
			return nil
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return list, nil
}

// copyOut puts a file at its path as a whole, and reads it there again.
func (e Ended) copyOut(ctx context.Context, c copied) error {
	if err := MakeFolder(e.Job, filepath.Dir(c.to)); err != nil {
		return err
	}
	aside := filepath.Join(filepath.Dir(c.to), ".muster-"+e.Job.Token+"-"+filepath.Base(c.to))
	if len(filepath.Base(aside)) > 255 { // NAME_MAX
		aside = filepath.Join(filepath.Dir(c.to), ".muster-"+e.Job.Token)
	}
	os.Remove(aside) // of a copy that was ended
	err := copyFile(ctx, c.from, aside)
	if err == nil && !same(ctx, c.from, aside) {
		err = cmpErr(ctx, fmt.Errorf("%s: its copy has other bytes", c.to))
	}
	if err == nil {
		err = os.Rename(aside, c.to)
	}
	if err != nil {
		os.Remove(aside)
	}
	return err
}

// cmpErr is why ctx ended, or else err.
func cmpErr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// same reports whether two files have the same bytes.
func same(ctx context.Context, a, b string) bool {
	fa, errA := os.Stat(a)
	fb, errB := os.Stat(b)
	if errA != nil || errB != nil || fa.Size() != fb.Size() || !fb.Mode().IsRegular() {
		return false
	}
	sumA, errA := digest(ctx, a)
	sumB, errB := digest(ctx, b)
	return errA == nil && errB == nil && sumA == sumB
}

func digest(ctx context.Context, path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, until{ctx, f})
	return [sha256.Size]byte(h.Sum(nil)), err
}

// copyTree copies a file, or a folder and all below it. Links become copies of their targets.
func copyTree(ctx context.Context, from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return copyFile(ctx, from, to)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(from)
	for _, n := range names {
		if err == nil {
			err = copyTree(ctx, filepath.Join(from, n.Name()), filepath.Join(to, n.Name()))
		}
	}
	return err
}

// copyFile copies a regular file to a path where none is, with its permissions.
func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", from)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, until{ctx, in})
	return errors.Join(err, out.Chmod(info.Mode().Perm()|0o200), out.Sync(), out.Close())
}

// until is a reader that ends with its context.
type until struct {
	context.Context
	io.Reader
}

func (u until) Read(b []byte) (int, error) {
	if u.Err() != nil {
		return 0, context.Cause(u.Context)
	}
	return u.Reader.Read(b)
}

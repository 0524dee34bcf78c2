package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

func pullCommand() *command {
	return &command{
		name: "pull", args: "[ADDR…]", short: "copy outputs here and verify their digests", maxArgs: -1,
		long: `Copies the outputs of completed jobs into -to, resuming what a broken transfer left, and compares every digest with what
was recorded when the job ended. What is there already and right is not copied again.`,
		examples: []example{{"muster pull -to=results", "everything"}, {"muster pull -to=results phase.figure", "only the figure"}},
		setup: func(fs *flag.FlagSet) runFunc {
			var v varFlags
			v.register(fs)
			to := fs.String("to", "outputs", "`DIR` to copy into; the paths below the workdir are kept")
			return func(ctx context.Context, a *app, args []string) error { return a.pull(ctx, v, a.path(*to), args) }
		},
		complete: jobAddresses,
	}
}

func (a *app) pull(ctx context.Context, v varFlags, to string, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	s, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	w := &work{launcher: a.launcher()}
	defer w.close()
	connect, err := a.connect(ctx, w, c, st)
	if err != nil {
		return err
	}
	var files int
	var bytes int64
	var failed []error
	for _, address := range s.list(c) {
		j := st.Job(address)
		if j == nil || j.Status != state.Completed {
			continue
		}
		for _, o := range j.Outputs {
			n, size, err := pullOutput(ctx, connect, o, to)
			files, bytes = files+n, bytes+size
			if err != nil {
				failed = append(failed, fmt.Errorf("%s, output %q: %w", address, o.Name, err))
			}
		}
	}
	a.printf("%s, %s, in %s: every digest is as recorded.\n", plural(files, "file"), units.FormatSize(bytes), to)
	return errors.Join(failed...)
}

// pullOutput copies the files of one output.
func pullOutput(ctx context.Context, connect connector, o state.Output, to string) (files int, bytes int64, err error) {
	p, err := connect(o.Backend)
	if err != nil {
		return 0, 0, err
	}
	found, err := p.List(ctx, o.Backend, []string{filepath.Join(o.Workdir, o.Path)})
	if err != nil {
		return 0, 0, err
	}
	for _, f := range found {
		if f.Dir {
			continue
		}
		rel, err := filepath.Rel(o.Workdir, f.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			rel = filepath.Join("absolute", f.Path)
		}
		digest := ""
		if o.Files <= 1 && len(found) == 1 {
			digest = o.Digest
		}
		if err := pullFile(ctx, p, o.Backend, f, filepath.Join(to, rel), digest); err != nil {
			return files, bytes, err
		}
		files, bytes = files+1, bytes+f.Size
	}
	if len(found) == 0 {
		return 0, 0, fmt.Errorf("%s is not on backend.%s any more", term.CleanLine(o.Path), o.Backend)
	}
	return files, bytes, nil
}

// pullFile copies one file by way of FILE.part, from where an earlier attempt
// stopped.
func pullFile(ctx context.Context, p providers.Provider, backend string, f providers.FileInfo, to, digest string) error {
	if digest != "" && digestOf(to) == digest {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("pull to %s: %w", to, err)
	}
	part := to + ".part"
	out, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("pull to %s: %w", to, err)
	}
	offset, err := out.Seek(0, io.SeekEnd)
	if err == nil && offset > f.Size {
		offset, err = 0, out.Truncate(0)
	}
	if err == nil {
		err = p.Pull(ctx, backend, f.Path, offset, out)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("pull %s: %w", f.Path, err)
	}
	if got := digestOf(part); digest != "" && got != digest {
		os.Remove(part)
		return fmt.Errorf("%s has digest %s, recorded was %s: it changed after its job ended", term.CleanLine(f.Path), shortDigest(got), shortDigest(digest))
	}
	return os.Rename(part, to)
}

func digestOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Package verify opens a job's outputs in place and decides whether each is
// complete. A file that was cut short, is still being written or existed before
// the job began never passes.
//
// Some cuts leave a shorter file that is valid: a CSV or a jsonl cut at the end
// of a line, a gzip cut between two members. Where that matters, declare
// min_size, a sha256 manifest or a loader.
package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// passed is the verdict of an output that is as declared.
const passed = "ok"

// A checker is one kind of check over one open file. Its error is the
// verdict, without the kind's name.
type checker func(ctx context.Context, f *file, c providers.VerifyCheck) error

// checkers are the kinds that open a file. exists, nonempty and min_size need only its size,
// and sizes judges them.
var checkers = map[string]checker{
	"json":        checkJSON,
	"jsonl":       checkJSONL,
	"csv":         checkCSV,
	"zip":         checkZip,
	"gzip":        checkGzip,
	"safetensors": checkSafetensors,
	"sha256":      checkManifest,
	"command":     checkCommand,
}

// Check opens an output and runs its checks over every byte. Its digest is
// the sha256 of the bytes, for a glob or a dir that of the sorted list of
// (path, digest). Of a shared output, which others may be writing, it only
// says whether it is there. It takes as long as it takes; see Task.
func Check(ctx context.Context, workdir string, o providers.Output) offer.Output {
	if o.Shared {
		return Stat(workdir, o)
	}
	if isSet(o) {
		return checkSet(ctx, workdir, o)
	}
	out := offer.Output{Name: o.Name, Path: o.Path}
	f, err := open(join(workdir, o.Path))
	if err != nil {
		out.Present = isOtherKind(err)
		return refuse(out, err)
	}
	defer f.close()
	f.workdir = workdir
	f.mark.fill(&out)
	out.Digest, err = f.check(ctx, o.Verify)
	if short := sizes(o, f.mark.Size); short != nil {
		err = short
	}
	if err != nil {
		return refuse(out, err)
	}
	out.OK, out.Verdict = true, passed
	return out
}

// check runs the checks, takes the digest, and makes sure that nobody wrote the file
// meanwhile.
func (f *file) check(ctx context.Context, checks []providers.VerifyCheck) (digest string, err error) {
	if digest, err = f.digest(ctx); err != nil {
		return "", err
	}
	for _, c := range checks {
		if err := run(ctx, f, c); err != nil {
			return digest, err
		}
	}
	return digest, f.unchanged()
}

// fill copies the filesystem's facts about an existing file.
func (m Mark) fill(out *offer.Output) {
	out.Present, out.Size, out.MTime, out.Inode, out.CTime = m.Exists, m.Size, m.MTime, m.Inode, m.CTime
}

func run(ctx context.Context, f *file, c providers.VerifyCheck) error {
	switch c.Kind {
	case "", "exists", "min_size":
		return nil
	case "nonempty":
		if f.mark.Size == 0 {
			return errors.New("nonempty: the file is empty")
		}
		return nil
	}
	check, ok := checkers[c.Kind]
	if !ok {
		return fmt.Errorf("there is no check named %q", c.Kind)
	}
	if err := check(ctx, f, c); err != nil {
		return fmt.Errorf("%s: %w", c.Kind, err)
	}
	return nil
}

// sizes judges min_size.
func sizes(o providers.Output, size int64) error {
	if size < o.MinSize {
		return fmt.Errorf("min_size: %d bytes, at least %d are asked", size, o.MinSize)
	}
	return nil
}

// refuse gives an output its verdict, fit for a screen.
func refuse(out offer.Output, err error) offer.Output {
	out.OK, out.Unverified = false, isUnfinished(err)
	out.Verdict = term.CleanLine(err.Error())
	return out
}

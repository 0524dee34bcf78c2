package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// changedInput is an input that differs from its record: its job must not start.
type changedInput struct {
	Input    string
	Path     string
	Recorded string // digest
	Found    string // digest, or the problem with the file
}

func (e *changedInput) Error() string {
	if e.Input == imageName {
		return fmt.Sprintf("The image %s has other bytes than when this was planned (%s, planned %s), so the job was not started. Put that image back, or run `muster apply`, which plans with the new one",
			term.CleanLine(e.Path), shortDigest(e.Found), shortDigest(e.Recorded))
	}
	return fmt.Sprintf("input %s: %s has other bytes than were recorded (%s, recorded %s). Put the recorded file back, or see `muster plan` for -rerun and -accept",
		e.Input, term.CleanLine(e.Path), shortDigest(e.Found), shortDigest(e.Recorded))
}

// shortDigest keeps enough digits to distinguish two digests.
func shortDigest(s string) string {
	const prefix, digits = len("sha256:"), 12
	if len(s) == prefix+64 {
		return s[:prefix+digits]
	}
	return s
}

// Late reports whether the digest of an input is known only from the end of a
// job that this one comes after.
func Late(in providers.Input) bool {
	return slices.ContainsFunc(in.Recorded, func(r providers.Recorded) bool { return r.Digest == "" && r.Token != "" })
}

// Settle fills in the inputs of a job that are Late; ended gives the outputs of a token's job.
// An input without a recorded output stays as it is, and is not compared.
func Settle(j *providers.Job, ended func(token string) []offer.Output) (late []providers.Input) {
	for _, in := range j.Inputs {
		if !Late(in) {
			continue
		}
		in.Recorded = slices.Clone(in.Recorded)
		for i := range in.Recorded {
			r := &in.Recorded[i]
			if r.Digest != "" || r.Token == "" {
				continue
			}
			for _, o := range ended(r.Token) {
				if o.Name == r.Output && o.OK {
					r.Digest, r.Stamp = o.Digest, o.Stamp()
				}
			}
		}
		late = append(late, in)
	}
	return late
}

// Digests are those of whole inputs, by name, as far as they are known.
func Digests(inputs []providers.Input) map[string]string {
	var out map[string]string
	for _, in := range inputs {
		all := make([]string, len(in.Recorded))
		for i, r := range in.Recorded {
			all[i] = r.Digest
		}
		if text := offer.InputBytes(all); text != "" && len(all) > 0 {
			if out == nil {
				out = map[string]string{}
			}
			out[in.Name] = text
		}
	}
	return out
}

// Inputs compares a job's inputs with their records; late replaces the job's inputs of the
// same name. It does not open files that have not changed since their digest was taken. The
// error is a changedInput where the content differs.
func Inputs(ctx context.Context, j *providers.Job, late []providers.Input) error {
	if err := sameImage(ctx, j); err != nil {
		return err
	}
	for _, in := range j.Inputs {
		if i := slices.IndexFunc(late, func(l providers.Input) bool { return l.Name == in.Name }); i >= 0 {
			in = late[i]
		}
		for i, r := range in.Recorded {
			if r.Digest == "" {
				continue
			}
			o := providers.Output{Name: in.Name, Kind: r.Kind, Path: r.Path, MinCount: providers.NoneNeeded}
			if r.Path == "" && i < len(in.Paths) {
				o.Path = in.Paths[i]
			}
			if err := sameBytes(ctx, j.Workdir, o, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// imageName is the name of the image in the error about a changed one; no input has it.
const imageName = "job.image"

// sameImage compares the image file of a job with the one in its result hash.
func sameImage(ctx context.Context, j *providers.Job) error {
	ref, file := image.Ref(j.Workdir, j.Image)
	if j.Image == "" || !file || j.ImageBytes.Digest == "" {
		return nil
	}
	o := providers.Output{Name: imageName, Path: ref}
	if info, err := os.Stat(ref); err == nil && info.IsDir() {
		o.Kind = "dir" // a sandbox
	}
	return sameBytes(ctx, j.Workdir, o, j.ImageBytes)
}

// A file that another machine has just written may not be seen for a moment: an
// NFS client remembers that a name was not there. nfs(5), lookupcache.
const (
	lookAgain  = 3
	lookPeriod = time.Second
)

// sameBytes compares one output of another job with its record.
func sameBytes(ctx context.Context, workdir string, o providers.Output, r providers.Recorded) error {
	if r.Workdir != "" {
		workdir = r.Workdir
	}
	var found offer.Output
	for try := 1; ; try++ {
		if found = verify.Stat(workdir, o); found.OK || found.Present || try == lookAgain {
			break
		}
		_, _ = os.ReadDir(filepath.Dir(InWorkdir(workdir, o.Path))) // makes an NFS client look again
		select {
		case <-time.After(lookPeriod):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if found.OK && r.Stamp != 0 && found.Stamp() == r.Stamp {
		return nil
	}
	if found.OK {
		found = verify.Check(ctx, workdir, o)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if found.OK && found.Digest == r.Digest {
		return nil
	}
	path := o.Path
	if rel, ok := strings.CutPrefix(path, workdir+"/"); ok {
		path = rel
	}
	e := &changedInput{Input: o.Name, Path: path, Recorded: r.Digest, Found: found.Digest}
	if !found.OK {
		e.Found = found.Verdict
	}
	return e
}

// isChangedInput reports whether an error says that an input changed.
func isChangedInput(err error) bool { return errors.As(err, new(*changedInput)) }

package staging

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// A Side is a place that files come from or go to. Backend is as
// providers.At names it.
type Side struct {
	Files   providers.Files
	Backend string
	Workdir string
}

// A Load is one recorded output to be moved.
type Load struct {
	Output state.Output
	From   string // where it is: relative to the workdir it comes from, or absolute
	To     string // where it goes, relative to the workdir there; "" is where it is here
	Kind   lang.OutputKind
	Fence  uint64
	Holder string
	// Aside is where other files that are in the way are moved to; "" moves
	// nothing aside.
	Aside string
	// Progress counts the bytes that move; nil: nobody looks.
	Progress *Progress
}

// outside is the folder for files from outside a workdir.
const outside = ".muster/moved"

// A Copied is the result of a load.
type Copied struct {
	Path  string // relative to the workdir it went to
	Sent  bool   // it was not there already
	Stamp uint64 // of its files there; see offer.Stamp
}

// Move copies a load and checks the copy. It does not send correct files again, and moves
// other files in the way aside.
func Move(ctx context.Context, from, to Side, f Load) (Copied, error) {
	copied := f.arrives()
	there, err := look(ctx, to, f, copied)
	if err != nil {
		return Copied{}, fmt.Errorf("look at %s: %w", copied, err)
	}
	if there.is(f.Output) {
		return Copied{Path: copied, Stamp: there.Stamp}, nil
	}
	if there.OK && f.Aside != "" {
		if err := setAside(ctx, to, f, copied); err != nil {
			return Copied{}, err
		}
	}
	files, err := listed(ctx, from, f)
	if err != nil {
		return Copied{}, err
	}
	for _, file := range files {
		if err := send(ctx, from, to, file, f.Progress); err != nil {
			return Copied{}, err
		}
	}
	if there, err = look(ctx, to, f, copied); err != nil {
		return Copied{}, fmt.Errorf("verify the copy: %w", err)
	}
	return Copied{copied, true, there.Stamp}, compare(there, f.Output)
}

// InPlace reports whether a load is where it would go, and right, so that
// nothing of it would be sent.
func InPlace(ctx context.Context, to Side, f Load) bool {
	there, err := look(ctx, to, f, f.arrives())
	return err == nil && there.is(f.Output)
}

// arrives is the path of the copy, relative to the workdir it goes to.
func (f *Load) arrives() string {
	if f.To != "" {
		return f.To
	}
	if path.IsAbs(f.From) {
		return path.Join(outside, f.From)
	}
	return f.From
}

// look opens the copy where it is. A glob that matched nothing is copied as
// such; that nothing is missing its digest tells.
func look(ctx context.Context, to Side, f Load, copied string) (out seen, err error) {
	got, err := to.Files.Verify(ctx, providers.VerifyRequest{Backend: to.Backend, Workdir: to.Workdir, Open: true,
		Outputs: []providers.Output{{Name: f.Output.Name, Kind: string(f.Kind), Path: copied, MinCount: providers.NoneNeeded}}})
	if err != nil {
		return out, err
	}
	if len(got) != 1 {
		return out, wrong("the backend gave no verdict")
	}
	return seen{OK: got[0].OK, Digest: got[0].Digest, Verdict: got[0].Verdict, Stamp: got[0].Stamp()}, nil
}

type seen struct {
	OK      bool
	Digest  string
	Verdict string
	Stamp   uint64
}

func (s seen) is(o state.Output) bool { return s.OK && s.Digest == o.Digest && s.Digest != "" }

func compare(s seen, o state.Output) error {
	switch {
	case !s.OK:
		return wrong("the copy does not verify: %s", s.Verdict)
	case o.Digest != "" && s.Digest != o.Digest:
		return wrong("the copy has digest %s, not %s: it changed after its job ended", s.Digest, o.Digest)
	}
	return nil
}

func setAside(ctx context.Context, to Side, f Load, copied string) error {
	full := Absolute(to.Workdir, copied)
	found, err := to.Files.List(ctx, to.Backend, []string{full})
	if err != nil {
		return fmt.Errorf("list %s: %w", full, err)
	}
	r := providers.RemoveRequest{Backend: to.Backend, Fence: f.Fence, Holder: f.Holder, To: Absolute(to.Workdir, f.Aside)}
	for _, file := range found {
		r.Paths = append(r.Paths, file.Path)
	}
	if len(r.Paths) == 0 {
		return nil
	}
	if err := to.Files.Remove(ctx, r); err != nil {
		return fmt.Errorf("move %s aside: %w", full, err)
	}
	return nil
}

// A parcel is one file on its way.
type parcel struct {
	from, rel string // absolute there; relative to where it goes
	size      int64
	digest    string
}

// listed are the files of a load.
func listed(ctx context.Context, from Side, f Load) ([]parcel, error) {
	base, prefix := from.Workdir, ""
	if path.IsAbs(f.From) {
		base, prefix = "/", outside
	}
	src := Absolute(from.Workdir, f.From)
	if !path.IsAbs(f.From) && !strings.HasPrefix(f.From, "~") && !filepath.IsLocal(f.From) {
		return nil, stranger(src, from.Workdir)
	}
	if f.Kind == lang.File {
		p := parcel{from: src, rel: path.Join(prefix, within(base, src)), size: f.Output.Size, digest: f.Output.Digest}
		if f.To != "" {
			p.rel = f.To
		}
		if !filepath.IsLocal(p.rel) {
			return nil, stranger(src, src)
		}
		return []parcel{p}, nil
	}
	found, err := from.Files.List(ctx, from.Backend, []string{src})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", src, err)
	}
	var out []parcel
	total := int64(0)
	for _, file := range found {
		if file.Dir {
			continue
		}
		p := parcel{from: file.Path, rel: path.Join(prefix, within(base, file.Path)), size: file.Size}
		if !belongs(file.Path, src, f.Kind) || !filepath.IsLocal(p.rel) {
			return nil, stranger(file.Path, src)
		}
		if total += file.Size; file.Size < 0 || total < 0 || f.Output.Digest != "" && total > f.Output.Size {
			return nil, wrong("%s holds more than the %s that were recorded: it changed after its job ended", src, units.FormatSize(f.Output.Size))
		}
		out = append(out, p)
	}
	if len(out) == 0 && !(f.Kind == lang.Glob && f.Output.Files == 0) {
		return nil, providers.Errorf(providers.NotFound, "There are no files at %s", src)
	}
	return out, nil
}

// stranger says that a backend lists a file that is no part of an output.
func stranger(path, src string) error {
	return wrong("the backend lists %s among the files of %s, and it is not one of them; nothing was copied", term.CleanLine(path), term.CleanLine(src))
}

// wrong is a problem of files that muster found. It has a class of its own: an error without
// one says that a backend did not answer, which passes.
func wrong(format string, a ...any) error { return providers.Errorf(providers.Invalid, format, a...) }

// belongs reports whether a listed file is one of an output: a match of its glob, or a file
// below such a folder. A backend that lists files may be wrong or malicious.
func belongs(file, src string, kind lang.OutputKind) bool {
	if path.Clean(file) != file || !path.IsAbs(file) || strings.ContainsAny(file, "\x00") {
		return false
	}
	if !path.IsAbs(src) { // "~/…", of a home that only the backend knows
		_, rest, _ := strings.Cut(src, "/")
		src = "/**/" + rest
		if kind != lang.Glob {
			src = "/**/" + escape(rest)
		}
	} else if kind != lang.Glob {
		return strings.HasPrefix(file, strings.TrimSuffix(path.Clean(src), "/")+"/")
	}
	for at := file; at != "/"; at = path.Dir(at) {
		if ok, err := doublestar.Match(src, at); ok && err == nil {
			return true
		}
	}
	return false
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`)

func escape(p string) string { return globMeta.Replace(p) }

// within is a path below a base; other paths count from the root.
func within(base, p string) string {
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(base, "/")+"/"); ok {
		return rest
	}
	return strings.TrimPrefix(p, "/")
}

// send streams one file. It returns the error of the end that failed, whichever end noticed
// it.
func send(ctx context.Context, from, to Side, p parcel, far *Progress) error {
	r := &pulled{ctx: ctx, from: from, path: p.from, size: p.size, far: far}
	defer r.close()
	err := to.Files.Push(ctx, to.Backend, Absolute(to.Workdir, p.rel), p.size, p.digest, r)
	if err != nil && r.failed != nil {
		return fmt.Errorf("pull %s: %w", p.from, r.failed)
	}
	if err != nil {
		return fmt.Errorf("push %s: %w", p.rel, err)
	}
	far.arrived(p.from, p.size)
	return nil
}

// Absolute is a path on a backend: relative ones are in the workdir.
func Absolute(workdir, p string) string {
	if path.IsAbs(p) || strings.HasPrefix(p, "~") {
		return p
	}
	return path.Join(workdir, p)
}

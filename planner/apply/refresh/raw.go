package refresh

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

const (
	// readAtOnce is how many bytes of files a plan reads to take their digests;
	// what is beyond is left to an apply.
	readAtOnce = 64 << 20
	// young is how new the last change of a file may be for its digest not to be
	// kept: within a clock's step it can change again unseen.
	young          = 2 * time.Second
	progressPeriod = 30 * time.Second
	// mostRawFiles bounds the files of one input.
	mostRawFiles = 100_000
	// mostSeen bounds the entries of folders that one pattern looks at.
	mostSeen = 1_000_000
)

var (
	errNoFile   = errors.New("is not there")
	errFolder   = errors.New("is a folder. Write a pattern of its files, such as FOLDER/*")
	errSpecial  = errors.New("is no regular file but a pipe, a device or a socket")
	errName     = errors.New("has a name that is not UTF-8, or holds a control character. Rename it")
	errMade     = errors.New("is an output of a phase of this campaign. Write from = phase.NAME.output.OUTPUT in place of path")
	errOutside  = errors.New("leads outside the campaign's folder")
	errSystem   = errors.New("leads to a folder of the system, from which nothing is read")
	errMoves    = errors.New("changes while it is read. Wait until it is written")
	errTooMany  = fmt.Errorf("matches over %d files, or looks at over %d. Pack them into one, or narrow the pattern", mostRawFiles, mostSeen)
	errNothing  = errors.New("matches no file")
	errNotTaken = errors.New("its digest is not taken in a plan")
)

// A rawLister finds the files of inputs that no phase makes, each once.
type rawLister struct {
	o     *observer
	made  func(rel string) bool // whether a path below the campaign's folder is an output
	files map[string]*rawFile   // by path as jobs name it
	lists map[string][]*rawFile // by pattern
}

// A rawFile is a file and the folder in which it may be read.
type rawFile struct {
	result.File
	abs  string
	root string
	err  error
}

// rawFiles lists the files of inputs that no phase makes, and takes their digests.
func (o *observer) rawFiles(ctx context.Context) {
	if o.Options.Destroy || !slices.ContainsFunc(o.Campaign.Phases, func(p *lang.Phase) bool { return len(p.Raw) > 0 }) {
		return
	}
	l := &rawLister{o: o, made: source.Outputs(o.Campaign, o.Campaign.Dir), files: map[string]*rawFile{}, lists: map[string][]*rawFile{}}
	found := map[*lang.RawInput][][]*rawFile{}
	for _, p := range o.Campaign.Phases {
		for _, in := range p.Raw {
			of := in.Classes()
			lists := make([][]*rawFile, of.Len())
			wrong := 0
			for class := range of.Len() {
				list, err := l.list(in, in.Path(of.First(class)))
				if lists[class] = list; err == nil {
					continue
				}
				if lists[class] = nil; wrong == 0 {
					o.rawWrong(p, in, of.First(class), err)
				}
				wrong++
			}
			found[in] = lists
		}
	}
	l.digest(ctx)
	out := map[string][]result.Content{}
	told := map[*rawFile]bool{}
	for _, p := range o.Campaign.Phases {
		for _, in := range p.Raw {
			c := result.Content{Name: in.Name, Of: in.Classes(), Files: make([][]result.File, len(found[in])), Digests: make([]string, len(found[in]))}
			for class, list := range found[in] {
				for _, f := range list {
					if f.err != nil && f.err != errNotTaken && !told[f] {
						o.rawWrong(p, in, c.Of.First(class), fmt.Errorf("%s %w", term.CleanLine(f.Path), f.err))
					}
					told[f] = true
					c.Files[class] = append(c.Files[class], f.File)
				}
				c.Digests[class] = result.Bytes(in, c.Files[class])
			}
			smoke := c
			smoke.Variant = lang.SmokeRun
			out[p.Name] = append(out[p.Name], c, smoke)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seenRaw = out
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		if f := l.files[name]; f.err == errNotTaken {
			o.out.Observed.Undigested = append(o.out.Observed.Undigested, f.File)
		}
	}
}

// rawWrong says what is wrong with an input. Where all jobs of the phase are done
// it is a warning: they stay done.
func (o *observer) rawWrong(p *lang.Phase, in *lang.RawInput, cell int, err error) {
	d := diag.Diagnostic{Summary: "an input cannot be read", Subject: &in.Range, Address: p.Address(cell),
		Detail: fmt.Sprintf("The input %q: %s.", in.Name, strings.TrimSuffix(providers.WithHint(err), "."))}
	if o.idle[p.Name] {
		d.Severity = diag.Warning
	}
	o.mu.Lock()
	o.out.Diags.Append(d)
	o.mu.Unlock()
}

// list gives the files of a path or pattern, in order of name.
func (l *rawLister) list(in *lang.RawInput, path string) ([]*rawFile, error) {
	if list, ok := l.lists[path]; ok {
		return list, nil
	}
	var list []*rawFile
	if !lang.IsPattern(path) {
		f, err := l.file(in, path)
		if err != nil {
			return nil, fmt.Errorf("%s %w", term.CleanLine(path), err)
		}
		list = append(list, f)
	} else {
		names, err := l.glob(in, path)
		if err != nil {
			return nil, fmt.Errorf("%s %w", term.CleanLine(path), err)
		}
		for _, name := range names {
			f, err := l.file(in, name)
			if errors.Is(err, errFolder) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s %w", term.CleanLine(name), err)
			}
			list = append(list, f)
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s %w", path, errNothing)
		}
	}
	l.lists[path] = list
	return list, nil
}

// glob gives the names that match a pattern, in order. A folder on the way that
// cannot be read is an error; ** follows no links to folders.
func (l *rawLister) glob(in *lang.RawInput, pattern string) ([]string, error) {
	base, rest := doublestar.SplitPattern(pattern)
	root, rel, err := l.locate(in, l.abs(base))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNothing
	}
	if err != nil {
		return nil, err
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, short(err)
	}
	defer r.Close()
	names, err := doublestar.Glob(&rawFolder{root: r, rel: rel}, rest, doublestar.WithFailOnIOErrors(), doublestar.WithNoFollow())
	if errors.Is(err, errTooMany) {
		return nil, errTooMany
	}
	if err != nil {
		return nil, short(err)
	}
	if len(names) > mostRawFiles {
		return nil, errTooMany
	}
	for i, name := range names {
		names[i] = filepath.Join(base, name)
	}
	slices.Sort(names)
	return names, nil
}

// A rawFolder is a folder in which a pattern is looked for. A link that leads
// nowhere, or out of the root, is shown as the link that it is: whether it matches
// decides whether that is an error.
type rawFolder struct {
	root *os.Root
	rel  string
	seen int
}

func (d *rawFolder) at(name string) string { return filepath.Join(d.rel, filepath.FromSlash(name)) }

// Open implements fs.FS.
func (d *rawFolder) Open(name string) (fs.File, error) { return d.root.Open(d.at(name)) }

// Stat implements fs.StatFS.
func (d *rawFolder) Stat(name string) (fs.FileInfo, error) {
	info, err := d.root.Stat(d.at(name))
	if err != nil {
		return d.root.Lstat(d.at(name))
	}
	return info, nil
}

// ReadDir implements fs.ReadDirFS.
func (d *rawFolder) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(d.root.FS(), filepath.ToSlash(d.at(name)))
	if d.seen += len(list); d.seen > mostSeen {
		return nil, errTooMany
	}
	return list, err
}

// file looks at one file without opening it.
func (l *rawLister) file(in *lang.RawInput, path string) (*rawFile, error) {
	if f, ok := l.files[path]; ok {
		return f, nil
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return nil, errName
	}
	f := &rawFile{File: result.File{Path: path}, abs: l.abs(path)}
	if rel, err := filepath.Rel(l.o.Campaign.Dir, f.abs); err == nil && filepath.IsLocal(rel) && l.made(filepath.ToSlash(rel)) {
		return nil, errMade
	}
	root, rel, err := l.locate(in, f.abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoFile
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(root, rel))
	switch {
	case err != nil:
		return nil, short(err)
	case info.IsDir():
		return nil, errFolder
	case !info.Mode().IsRegular():
		return nil, errSpecial
	}
	f.root, f.Size = root, info.Size()
	l.files[path] = f
	return f, nil
}

// abs is where a path of the campaign leads.
func (l *rawLister) abs(path string) string {
	return site.RawPaths(l.o.Campaign.Dir, []result.File{{Path: path}})[0]
}

// locate is the folder in which a path may be read, and the path below it: the
// campaign's, or another that this user allows.
func (l *rawLister) locate(in *lang.RawInput, path string) (root, rel string, err error) {
	root, rel, err = disk.Locate(path, []string{l.o.Campaign.Dir})
	outside := (*disk.OutsideError)(nil)
	if !errors.As(err, &outside) {
		return root, rel, err
	}
	if l.o.Reads == nil {
		return "", "", errOutside
	}
	real, lost := filepath.EvalSymlinks(path)
	if lost != nil {
		return "", "", fs.ErrNotExist
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		real = filepath.Dir(real)
	}
	if err := l.o.Reads(real, "input "+in.Name+": read files in"); err != nil {
		return "", "", fmt.Errorf("leads outside the campaign's folder: %w", err)
	}
	if root, rel, err = disk.Locate(path, []string{real}); errors.As(err, &outside) {
		err = errSystem
	}
	return root, rel, err
}

// digest takes the digests of all files: of the smallest first, and in a plan no
// more than readAtOnce bytes of them.
func (l *rawLister) digest(ctx context.Context) {
	left := int64(readAtOnce)
	for _, f := range slices.SortedFunc(maps.Values(l.files), func(a, b *rawFile) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Path, b.Path)) }) {
		now := f.look()
		if d := l.o.digests.get(f.abs, now.Stamp()); d != "" {
			f.Digest, f.Stamp = d, now.Stamp()
			continue
		}
		if left -= f.Size; left < 0 && !l.o.Digest {
			f.err = errNotTaken
			continue
		}
		done := l.o.announce(fmt.Sprintf("reading %s (%s)", f.Path, units.FormatSize(f.Size)))
		f.err = f.take(ctx, l.o)
		done()
		if f.Size > readAtOnce {
			l.o.digests.save() // who interrupts the next one need not read this one again
		}
	}
}

func (f *rawFile) look() offer.Output {
	return verify.Stat(f.root, providers.Output{Name: "input", Path: f.abs})
}

// take reads the file. The digest is kept by the file's stamp unless the file is
// young.
func (f *rawFile) take(ctx context.Context, o *observer) error {
	const tries = 2
	for range tries {
		before := f.look()
		if !before.OK {
			return errors.New(before.Verdict)
		}
		digest, err := f.sum(&rawReader{ctx: ctx, o: o, f: f, told: time.Now()})
		if err != nil {
			return err
		}
		if now := f.look(); now.Stamp() != before.Stamp() || !now.OK {
			continue
		}
		f.Digest, f.Size = digest, before.Size
		if time.Since(time.Unix(0, before.CTime)) > young {
			f.Stamp = before.Stamp()
			o.digests.put(f.abs, f.Stamp, digest)
		}
		return nil
	}
	return errMoves
}

func (f *rawFile) sum(r *rawReader) (string, error) {
	file, err := disk.Open(f.abs, []string{f.root})
	if err != nil {
		return "", short(err)
	}
	defer file.Close()
	r.Reader = file
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", short(err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// A rawReader stops when its context ends, and says every progressPeriod how far it is.
type rawReader struct {
	ctx context.Context
	io.Reader
	o    *observer
	f    *rawFile
	read int64
	told time.Time
}

func (r *rawReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	if now := time.Now(); r.o.Waiting != nil && now.Sub(r.told) > progressPeriod {
		r.told = now
		r.o.Waiting(fmt.Sprintf("reading %s: %s of %s", r.f.Path, units.FormatSize(r.read), units.FormatSize(r.f.Size)))
	}
	return n, err
}

// short is an error without its path, which is told beside it.
func short(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("cannot be read: %w", path.Err)
	}
	return fmt.Errorf("cannot be read: %w", err)
}

package refresh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/digests"
	requests "github.com/muster-run/muster/planner/apply/request"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

const (
	// readAtOnce and mostAtOnce are how many bytes and files of a machine a plan reads
	// to take their digests: about a second of a disk, and ten of a file system behind
	// a network. An apply reads the rest while jobs run.
	readAtOnce = 64 << 20
	mostAtOnce = 10_000
	// mostRawFiles bounds the files of one input.
	mostRawFiles = 100_000
	// mostSeen bounds the entries of folders that one pattern looks at.
	mostSeen = 1_000_000
)

var (
	errNoFile   = errors.New("is not there")
	errFolder   = errors.New("is a folder. Write a pattern of its files, such as FOLDER/*")
	errSpecial  = errors.New("is not a regular file but a pipe, a device or a socket")
	errName     = errors.New("has a name that is not UTF-8, or holds a control character. Rename it")
	errMade     = errors.New("is an output of a phase of this campaign. Write from = phase.NAME.output.OUTPUT in place of path")
	errTooMany  = fmt.Errorf("matches over %d files, or looks at over %d. Pack them into one, or narrow the pattern", mostRawFiles, mostSeen)
	errNothing  = errors.New("matches no file")
	errNotTaken = errors.New("its digest is not taken in a plan")
)

// Raw inputs are those that no phase makes.
type rawInputs struct {
	*facts
	answers *answers

	mu     sync.Mutex
	seen   result.Contents
	inPlan map[string]bool // phases that -target leaves in; nil until asked for
}

// A rawLister finds the files of inputs that no phase makes, each once.
type rawLister struct {
	*facts
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

// here lists the files of inputs on this machine, and takes their digests.
func (r *rawInputs) here(ctx context.Context) {
	if r.Options.Destroy {
		return
	}
	l := &rawLister{facts: r.facts, made: source.Outputs(r.Campaign, r.Campaign.Dir), files: map[string]*rawFile{}, lists: map[string][]*rawFile{}}
	found := map[*lang.RawInput][][]*rawFile{}
	for p, in := range r.on("") {
		of := in.Classes()
		lists := make([][]*rawFile, of.Len())
		wrong := 0
		for class := range of.Len() {
			list, err := l.list(in, in.Path(of.First(class)))
			if lists[class] = list; err == nil {
				continue
			}
			if lists[class] = nil; wrong == 0 {
				r.wrong(p, in, of.First(class), err)
			}
			wrong++
		}
		found[in] = lists
	}
	l.digest(ctx)
	r.found(found)
}

// on are the inputs whose files are on a backend, "" for this machine.
func (r *rawInputs) on(backend string) iter.Seq2[*lang.Phase, *lang.RawInput] {
	return func(yield func(*lang.Phase, *lang.RawInput) bool) {
		for _, p := range r.Campaign.Phases {
			for _, in := range p.Raw {
				if in.Backend == backend && !yield(p, in) {
					return
				}
			}
		}
	}
}

// found takes in inputs that were found, and reports problems of files.
func (r *rawInputs) found(found map[*lang.RawInput][][]*rawFile) {
	told := map[*rawFile]bool{}
	for _, p := range r.Campaign.Phases {
		for _, in := range p.Raw {
			lists, ok := found[in]
			if !ok {
				continue
			}
			c := result.Content{Name: in.Name, Of: in.Classes(), Files: make([][]result.File, len(lists)), Digests: make([]string, len(lists))}
			for class, list := range lists {
				for _, f := range list {
					if f.err != nil && f.err != errNotTaken && !told[f] {
						r.wrong(p, in, c.Of.First(class), fmt.Errorf("%s %w", term.CleanLine(f.Path), f.err))
					}
					if f.err == errNotTaken && !told[f] {
						r.answers.Lock()
						r.answers.Observed.Undigested = append(r.answers.Observed.Undigested, f.File)
						r.answers.Unlock()
					}
					told[f] = true
					c.Files[class] = append(c.Files[class], f.File)
				}
				c.Digests[class] = result.Bytes(in, c.Files[class])
			}
			smoke := c
			smoke.Variant = lang.SmokeRun
			r.mu.Lock()
			r.seen[p.Name] = append(r.seen[p.Name], c, smoke)
			r.mu.Unlock()
		}
	}
}

// wrong reports a problem of an input. Where all jobs of the phase are done, or the plan
// leaves the phase out, it is a warning: they stay done.
func (r *rawInputs) wrong(p *lang.Phase, in *lang.RawInput, cell int, err error) {
	d := diag.Diagnostic{Summary: "An input cannot be read", Subject: &in.Range, Address: p.Address(cell),
		Detail: fmt.Sprintf("The input %q: %s.", in.Name, strings.TrimSuffix(providers.WithHint(err), "."))}
	if r.idle[p.Name] || !r.targeted()[p.Name] {
		d.Severity = diag.Warning
	}
	r.answers.tell(d)
}

// targeted are the phases with jobs that -target may select, and those before them.
func (r *rawInputs) targeted() map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inPlan != nil {
		return r.inPlan
	}
	r.inPlan = map[string]bool{}
	covered, err := requests.Covers(r.Options.Targets)
	for i := len(r.Campaign.Phases) - 1; i >= 0; i-- { // producers come first
		p := r.Campaign.Phases[i]
		for cell := 0; cell < p.Len() && !r.inPlan[p.Name]; cell++ {
			r.inPlan[p.Name] = err != nil || covered(p, cell)
		}
		if !r.inPlan[p.Name] {
			continue
		}
		for _, in := range p.Inputs {
			r.inPlan[in.From.Name] = true
		}
		for _, name := range p.DependsOn {
			r.inPlan[name] = true
		}
	}
	return r.inPlan
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
		return nil, digests.Unread(err)
	}
	defer r.Close()
	names, err := doublestar.Glob(&rawFolder{root: r, rel: rel}, rest, doublestar.WithFailOnIOErrors(), doublestar.WithNoFollow())
	if errors.Is(err, errTooMany) {
		return nil, errTooMany
	}
	if err != nil {
		return nil, digests.Unread(err)
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
	if rel, err := filepath.Rel(l.Campaign.Dir, f.abs); err == nil && filepath.IsLocal(rel) && l.made(filepath.ToSlash(rel)) {
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
		return nil, digests.Unread(err)
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
	return site.RawPaths(l.Campaign.Dir, []result.File{{Path: path}})[0]
}

// locate is the folder in which a path may be read, and the path below it.
func (l *rawLister) locate(in *lang.RawInput, path string) (root, rel string, err error) {
	return digests.Locate(l.Campaign.Dir, path, "input "+in.Name+": read files in", l.Reads)
}

// within is how much a plan may still read of the files of one machine.
type within struct {
	files int
	bytes int64
}

// takes reports whether a plan reads one more file.
func (w *within) takes(size int64) bool {
	if w.files >= mostAtOnce || w.bytes+size > readAtOnce {
		return false
	}
	w.files, w.bytes = w.files+1, w.bytes+size
	return true
}

// digest takes the digests of files: of the smallest first, and of no more than
// within allows.
func (l *rawLister) digest(ctx context.Context) {
	var left within
	for _, f := range bySize(l.files) {
		now := f.look()
		if d := l.digests.Get(f.abs, now.Stamp()); d != "" {
			f.Digest, f.Stamp = d, now.Stamp()
			continue
		}
		if !left.takes(f.Size) {
			f.err, f.Stamp = errNotTaken, now.Stamp()
			continue
		}
		done := l.announce(fmt.Sprintf("reading %s (%s)", f.Path, units.FormatSize(f.Size)))
		f.err = f.take(ctx, l.digests)
		done()
	}
}

// bySize are files, the smallest first.
func bySize(files map[string]*rawFile) []*rawFile {
	return slices.SortedFunc(maps.Values(files), func(a, b *rawFile) int { return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Path, b.Path)) })
}

func (f *rawFile) look() offer.Output { return digests.Look(f.root, f.abs) }

// take reads the file. The digest is kept by the file's stamp unless the file is
// young.
func (f *rawFile) take(ctx context.Context, book *digests.Book) error {
	t, err := digests.Here(ctx, f.root, f.abs, nil)
	if err != nil {
		return err
	}
	f.Digest, f.Size, f.Stamp = t.Digest, t.Size, t.Stamp
	if t.Stamp != 0 {
		book.Put(f.abs, t)
	}
	return nil
}

package refresh

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/digests"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/result"
)

var errApart = errors.New("its backend is several hosts with files of their own. Make the one that has the files a backend of its own")

// there lists the files of inputs that are on a backend and has it take their
// digests, and finds the copies that it has of others.
func (r *rawInputs) there(ctx context.Context, a *ask) {
	if r.answers.away(a.name) || a.p == nil || a.lang == nil || r.Options.Destroy {
		return
	}
	r.copied(ctx, a)
	l := &rawThere{facts: r.facts, a: a, spot: site.FilesystemOf(a.conf, a.offers, ""), files: map[string]*rawFile{}}
	found := map[*lang.RawInput][][]*rawFile{}
	for p, in := range r.on(a.name) {
		of := in.Classes()
		lists := make([][]*rawFile, of.Len())
		wrong := false
		for class := range of.Len() {
			list, err := l.list(ctx, in.Path(of.First(class)))
			if lists[class] = list; err == nil {
				continue
			}
			if lists[class] = nil; !wrong {
				r.wrong(p, in, of.First(class), fmt.Errorf("%w (backend.%s)", err, a.name))
			}
			wrong = true
		}
		found[in] = lists
	}
	if len(found) > 0 {
		l.digest(ctx)
		r.found(found)
	}
}

// copied finds the copies that a backend has of files that no phase makes.
func (r *rawInputs) copied(ctx context.Context, a *ask) {
	if !a.can.Remote || !slices.ContainsFunc(a.phases(), func(name string) bool { return r.phase(name) != nil && len(r.phase(name).Raw) > 0 }) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for _, pool := range a.offers {
		at := site.FilesystemOf(a.conf, a.offers, pool.Name)
		r.answers.Lock()
		_, known := r.answers.Observed.Copied[at.Name()]
		r.answers.Unlock()
		if known {
			continue
		}
		files, err := a.p.List(ctx, at.Name(), []string{path.Join(at.Workdir, result.CopiesDir, "*", "*")})
		if err != nil {
			continue // whether they are there is looked at before they are sent
		}
		sizes := map[string]int64{}
		for _, f := range files {
			sizes[path.Join(path.Base(path.Dir(f.Path)), path.Base(f.Path))] = f.Size
		}
		r.answers.Lock()
		r.answers.Observed.Copied[at.Name()] = sizes
		r.answers.Unlock()
	}
}

// A rawThere finds the files of inputs on one backend, each once.
type rawThere struct {
	*facts
	a     *ask
	spot  site.Filesystem
	files map[string]*rawFile
}

func (l *rawThere) list(ctx context.Context, name string) ([]*rawFile, error) {
	for _, pool := range l.a.offers {
		if !site.FilesystemOf(l.a.conf, l.a.offers, pool.Name).Sees(site.FilesystemOf(l.a.conf, l.a.offers, l.a.offers[0].Name)) {
			return nil, errApart
		}
	}
	names := []string{name}
	if lang.IsPattern(name) {
		var err error
		if names, err = l.glob(ctx, name); err != nil {
			return nil, err
		}
	}
	var ask []string
	list := make([]*rawFile, len(names))
	for i, name := range names {
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return nil, fmt.Errorf("%s %w", term.CleanLine(name), errName)
		}
		if list[i] = l.files[name]; list[i] == nil {
			ask = append(ask, l.abs(name))
		}
	}
	got, err := digests.LookThere(ctx, l.a.p, l.spot, ask)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if list[i] != nil {
			continue
		}
		seen := got[0]
		got = got[1:]
		if !seen.OK {
			return nil, fmt.Errorf("%s: %s", term.CleanLine(name), term.CleanLine(seen.Verdict))
		}
		list[i] = &rawFile{File: result.File{Path: name, Size: seen.Size, Stamp: seen.Stamp()}, abs: l.abs(name)}
		l.files[name] = list[i]
	}
	return list, nil
}

func (l *rawThere) abs(name string) string { return site.RawThere(name, l.spot, l.a.offers, "") }

// glob gives the files that match a pattern, in order.
func (l *rawThere) glob(ctx context.Context, pattern string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	full := l.abs(pattern)
	files, err := l.a.p.List(ctx, l.spot.Name(), []string{full})
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if ok, err := doublestar.Match(full, f.Path); f.Dir || !ok || err != nil {
			continue // of a folder that matches
		}
		name := f.Path
		if !path.IsAbs(pattern) {
			name = strings.TrimPrefix(name, strings.TrimSuffix(l.spot.Workdir, "/")+"/")
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s %w", term.CleanLine(pattern), errNothing)
	case len(names) > mostRawFiles:
		return nil, errTooMany
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// digest has the digests taken that are not known: of the smallest files first, and
// of no more than within allows.
func (l *rawThere) digest(ctx context.Context) {
	var left within
	var files []*rawFile
	var paths []string
	all := int64(0)
	for _, f := range bySize(l.files) {
		if d := l.digests.Get(digests.Key(l.a.name, f.abs), f.Stamp); d != "" {
			f.Digest = d
		} else if !left.takes(f.Size) {
			f.err = errNotTaken
		} else {
			files, paths, all = append(files, f), append(paths, f.abs), all+f.Size
		}
	}
	if len(files) == 0 {
		return
	}
	defer l.announce(fmt.Sprintf("backend.%s reads %s (%s)", l.a.name, units.Count(len(files), "input"), units.FormatSize(all)))()
	taken, errs, err := digests.There(ctx, l.a.p, l.spot, paths)
	for i, f := range files {
		if f.err = err; err == nil {
			f.err = errs[i]
		}
		if f.err == nil {
			f.Digest, f.Size, f.Stamp = taken[i].Digest, taken[i].Size, taken[i].Stamp
			l.digests.Put(digests.Key(l.a.name, f.abs), taken[i])
		}
	}
}

package staging

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// besideFolder is the folder of files that could not be renamed into the workdir's
// own, for they are on another filesystem; see providers/wrapper/guard.
const besideFolder = ".muster-replaced"

const verifyMax = 500 // outputs of one Verify call

// A Restorer puts replaced results back where their jobs write them, on a backend
// as providers.At names it. It opens every output before it moves any: a result is
// back only if every output has the recorded bytes.
type Restorer struct {
	Files   providers.Files
	Backend string
	Workdir string // of outputs that recorded none
}

func (p Restorer) workdir(o *state.Output) string {
	if o.Workdir != "" {
		return o.Workdir
	}
	return p.Workdir
}

// Find gives the path of each output, by result and output, or "" where no file is
// as recorded. With open it reads every file; else only those whose size, time or
// inode differ.
func (p Restorer) Find(ctx context.Context, results []*state.Replaced, open bool) ([][]string, error) {
	out := make([][]string, len(results))
	var asked []possibleFile
	for r, res := range results {
		out[r] = make([]string, len(res.Job.Outputs))
		for k := range res.Job.Outputs {
			o := &res.Job.Outputs[k]
			if o.Digest == "" {
				continue // nobody knows its content
			}
			for _, at := range possiblePaths(res.Folder, o) {
				asked = append(asked, possibleFile{r, k, at, o})
			}
		}
	}
	var differ []possibleFile
	got, err := p.look(ctx, asked, open)
	if err != nil {
		return nil, err
	}
	for i, c := range asked {
		switch o := got[i]; {
		case out[c.result][c.output] != "" || !o.OK:
		case o.Digest == c.out.Digest, !open && o.Size == c.out.Size && o.MTime == c.out.MTime && o.Inode == c.out.Inode && o.Files == c.out.Files:
			out[c.result][c.output] = c.at
		case !open && o.Size == c.out.Size && o.Files == c.out.Files:
			differ = append(differ, c)
		}
	}
	if got, err = p.look(ctx, differ, true); err != nil {
		return nil, err
	}
	for i, c := range differ {
		if got[i].OK && got[i].Digest == c.out.Digest && out[c.result][c.output] == "" {
			out[c.result][c.output] = c.at
		}
	}
	return out, nil
}

// A possibleFile is a path at which an output of a result may be.
type possibleFile struct {
	result, output int
	at             string
	out            *state.Output
}

// possiblePaths are the paths at which an output may be: moved aside, moved aside on its
// own filesystem, and in place.
func possiblePaths(folder string, o *state.Output) []string {
	if folder == "" {
		return []string{o.Path}
	}
	all := []string{path.Join(folder, strings.TrimPrefix(o.Path, "/"))}
	if jobspec.KindOf(o) != lang.Glob {
		all = append(all, path.Join(path.Dir(o.Path), besideFolder, path.Base(folder), path.Base(o.Path)))
	}
	return append(all, o.Path)
}

// look asks for outputs where they are; the answers are in the order of asked.
func (p Restorer) look(ctx context.Context, asked []possibleFile, open bool) ([]offer.Output, error) {
	out := make([]offer.Output, len(asked))
	by := map[string][]int{}
	var order []string
	for i, c := range asked {
		w := p.workdir(c.out)
		if by[w] == nil {
			order = append(order, w)
		}
		by[w] = append(by[w], i)
	}
	for _, w := range order {
		for these := by[w]; len(these) > 0; {
			n := min(len(these), verifyMax)
			v := providers.VerifyRequest{Backend: p.Backend, Workdir: w, Open: open}
			for _, i := range these[:n] {
				v.Outputs = append(v.Outputs, plainOutput(asked[i].out.Name, jobspec.KindOf(asked[i].out), asked[i].at))
			}
			got, err := p.Files.Verify(ctx, v)
			if err != nil {
				return nil, err
			}
			if len(got) != n {
				return nil, errors.New("the backend does not answer for every file")
			}
			for k, i := range these[:n] {
				out[i] = got[k]
			}
			these = these[n:]
		}
	}
	return out, nil
}

// plainOutput is an output without its checks: its bytes are compared.
func plainOutput(name string, kind lang.OutputKind, at string) providers.Output {
	o := providers.Output{Name: name, Kind: string(kind), Path: at}
	if kind == lang.Glob {
		o.MinCount = providers.NoneNeeded
	}
	return o
}

// A Restoration is a result that is to be back.
type Restoration struct {
	Result *state.Replaced
	// Paths are where the job leaves each output of Result.Job now, relative to Workdir.
	Paths   []string
	Workdir string
	// Guard says whose the files are that are there now.
	Guard offer.Guard
	// Shared reports whether other jobs write an output, too.
	Shared func(output string) bool
	Aside  string // folder for existing files, relative to the workdir
}

// Back puts results back, and returns for each its outputs now, or why it is not
// back. It moves the files in the way aside before.
func (p Restorer) Back(ctx context.Context, requests []Restoration, fence uint64, holder string) ([][]state.Output, []error) {
	outs, errs := make([][]state.Output, len(requests)), make([]error, len(requests))
	results := make([]*state.Replaced, len(requests))
	for i := range requests {
		results[i] = requests[i].Result
	}
	at, err := p.Find(ctx, results, true)
	for i := range requests {
		if err != nil {
			errs[i] = err
			continue
		}
		outs[i], errs[i] = p.back(ctx, &requests[i], at[i], fence, holder)
	}
	return outs, errs
}

func (p Restorer) back(ctx context.Context, w *Restoration, at []string, fence uint64, holder string) ([]state.Output, error) {
	r := providers.RemoveRequest{Backend: p.Backend, Fence: fence, Holder: holder, To: path.Join(w.Workdir, w.Aside)}
	var targets []providers.Output
	for k := range w.Result.Job.Outputs {
		o := &w.Result.Job.Outputs[k]
		if at[k] == "" {
			return nil, fmt.Errorf("output %s is not there any more as it was recorded", o.Name)
		}
		kind := jobspec.KindOf(o)
		targets = append(targets, plainOutput(o.Name, kind, w.Paths[k]))
		if at[k] == w.Paths[k] && p.workdir(o) == w.Workdir {
			continue
		}
		if err := p.rename(ctx, &r, w, o, at[k], w.Paths[k]); err != nil {
			return nil, err
		}
	}
	v := providers.VerifyRequest{Backend: p.Backend, Workdir: w.Workdir, Outputs: targets}
	there, err := p.Files.Verify(ctx, v)
	if err != nil {
		return nil, err
	}
	for k, o := range there {
		if k >= len(targets) || at[k] == targets[k].Path || !o.Exists() {
			continue
		}
		o.Name, o.Path = targets[k].Name, targets[k].Path
		found, err := p.inTheWay(ctx, w, o, targets[k].Kind)
		if err != nil {
			return nil, err
		}
		r.Paths = append(r.Paths, found...)
	}
	if len(r.Paths)+len(r.Renames) > 0 {
		if err := p.Files.Remove(ctx, r); err != nil {
			return nil, err
		}
	}
	v.Open = true
	now, err := p.Files.Verify(ctx, v)
	if err != nil {
		return nil, err
	}
	var out []state.Output
	for k := range now {
		was := w.Result.Job.Outputs[k]
		if !now[k].OK || now[k].Digest != was.Digest {
			return nil, fmt.Errorf("output %s differs from its record after it was restored", was.Name)
		}
		was.Path, was.Workdir, was.Copies, was.Missing = targets[k].Path, w.Workdir, nil, false
		was.Size, was.MTime, was.Inode, was.CTime, was.Files = now[k].Size, now[k].MTime, now[k].Inode, now[k].CTime, now[k].Files
		out = append(out, was)
	}
	return out, nil
}

// inTheWay lists the files of the job at the path of an output. A file that the job
// did not make is an error.
func (p Restorer) inTheWay(ctx context.Context, w *Restoration, o offer.Output, kind string) ([]string, error) {
	if w.Guard.Fate(o, false) == offer.Foreign || w.Shared(o.Name) {
		return nil, fmt.Errorf("%s is there, and this job did not make it", o.Path)
	}
	found := []string{path.Join(w.Workdir, o.Path)}
	if path.IsAbs(o.Path) {
		found[0] = o.Path
	}
	if kind != string(lang.Glob) {
		return found, nil
	}
	files, err := p.Files.List(ctx, p.Backend, found)
	if err != nil {
		return nil, err
	}
	found = found[:0]
	for _, f := range files {
		found = append(found, f.Path)
	}
	return found, nil
}

// rename adds the renames that bring an output from where it is to where it goes.
func (p Restorer) rename(ctx context.Context, r *providers.RemoveRequest, w *Restoration, o *state.Output, from, to string) error {
	src, dest := below(p.workdir(o), from), below(w.Workdir, to)
	if jobspec.KindOf(o) != lang.Glob {
		r.Renames = append(r.Renames, providers.Rename{From: src, To: dest})
		return nil
	}
	srcBase, rest := doublestar.SplitPattern(src)
	destBase, restNow := doublestar.SplitPattern(dest)
	if rest != restNow {
		return fmt.Errorf("output %s has another pattern now", o.Name)
	}
	files, err := p.Files.List(ctx, p.Backend, []string{src})
	if err != nil {
		return err
	}
	for _, f := range files {
		rel, ok := strings.CutPrefix(f.Path, strings.TrimSuffix(srcBase, "/")+"/")
		if f.Dir || !ok {
			continue
		}
		r.Renames = append(r.Renames, providers.Rename{From: f.Path, To: path.Join(destBase, rel)})
	}
	return nil
}

func below(workdir, p string) string {
	if path.IsAbs(p) {
		return p
	}
	return path.Join(workdir, p)
}

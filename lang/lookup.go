package lang

import (
	"path"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/providers/offer"
)

// lookup resolves names known only here.
func (r *renderer) lookup(root, name string) (cty.Value, bool) {
	switch root {
	case "input":
		return r.input(name)
	case "input_file":
		return r.inputFile(name)
	case "output":
		for k, o := range r.p.Outputs {
			if o.Name == name && r.f.outputs[k] != nil {
				return cty.StringVal(r.outputFile(k)), true
			}
		}
	case "path":
		return r.place(name)
	case "job":
		if name == "scratch" {
			return cty.StringVal(offer.ScratchMark), true
		}
		mark, known := offer.JobMarks[name]
		return cty.StringVal(mark), known
	case "backend":
		return r.backend(name)
	case "checkpoint":
		if r.f.checkpoint != nil {
			return cty.StringVal(reachable(r.p.Checkpoint.Kind, r.checkpoint())), true
		}
	}
	return cty.NilVal, false
}

// reachable is an output's path as a command gets it: for a glob, the folder
// before the first wildcard.
func reachable(kind OutputKind, p string) string {
	if kind != Glob {
		return p
	}
	at := strings.IndexAny(p, "*?[{")
	if at < 0 {
		return path.Dir(p)
	}
	return path.Dir(p[:at] + "x")
}

func (r *renderer) input(name string) (cty.Value, bool) {
	for _, in := range r.p.Inputs {
		if in.Name != name || r.site.Input == nil {
			continue
		}
		files := r.inputFiles(name)
		if in.List() {
			return textList(files), true
		}
		if len(files) == 0 {
			return cty.NilVal, false
		}
		return cty.StringVal(files[0]), true
	}
	for _, in := range r.p.Raw {
		if in.Name != name || r.site.Input == nil {
			continue
		}
		files := r.inputFiles(name)
		if in.List() {
			return textList(files), true
		}
		if len(files) > 0 {
			return cty.StringVal(files[0]), true
		}
	}
	return cty.NilVal, false
}

// List reports whether an input is a list of files: of several producers, or
// of a glob.
func (in *Input) List() bool {
	if in.All {
		return true
	}
	o := in.From.output(in.Output)
	return o != nil && o.Kind == Glob
}

func (r *renderer) inputFile(name string) (cty.Value, bool) {
	if !r.p.reads(name) || r.site.Input == nil {
		return cty.NilVal, false
	}
	if r.lists == nil {
		r.lists = map[string][]string{}
	}
	r.lists[name] = r.site.Input(name)
	return cty.StringVal(ListPath(r.site.Spool, name)), true
}

// reads reports whether jobs have an input of a name.
func (p *Phase) reads(name string) bool {
	return slices.ContainsFunc(p.Inputs, func(in *Input) bool { return in.Name == name }) ||
		slices.ContainsFunc(p.Raw, func(in *RawInput) bool { return in.Name == name })
}

func textList(texts []string) cty.Value {
	if len(texts) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	vals := make([]cty.Value, len(texts))
	for i, s := range texts {
		vals[i] = cty.StringVal(s)
	}
	return cty.ListVal(vals)
}

func (r *renderer) place(name string) (cty.Value, bool) {
	switch name {
	case "workdir":
		return cty.StringVal(r.site.Workdir), true
	case "source":
		if r.site.SourceDir == "" {
			return cty.StringVal(r.site.Workdir), true
		}
		return cty.StringVal(r.site.SourceDir), true
	}
	return cty.NilVal, false
}

func (r *renderer) backend(name string) (cty.Value, bool) {
	kind, own, _ := strings.Cut(r.site.Backend, ".")
	switch name {
	case "address":
		return cty.StringVal(r.site.Backend), true
	case "type":
		return cty.StringVal(kind), true
	case "name":
		return cty.StringVal(own), true
	case "pool":
		return cty.StringVal(r.site.Pool), true
	case "gpus":
		return cty.NumberIntVal(int64(r.site.GPUs)), true
	case "cpus":
		return cty.NumberIntVal(int64(r.site.CPUs)), true
	}
	return cty.NilVal, false
}

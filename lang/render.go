package lang

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Target is the place that a cell is rendered for.
type Target struct {
	Variant   Variant
	Workdir   string                     // absolute, or "~/…", on the backend
	SourceDir string                     // the read-only copy of the source there; "" = none
	Spool     string                     // where list files for input_file are
	Input     func(name string) []string // absolute paths of an input's files at the site, key order
	Backend   string                     // address, for backend.*
	Pool      string
	GPUs      int
	CPUs      int
}

// Rendered is a job as the wrapper will run it.
type Rendered struct {
	Label string
	Shell string   // command run by /bin/sh from a file, exactly as it evaluates
	Argv  []string // or exec'd, never touched by a shell
	schema.Program
	Env        []EnvVar // the job's, sorted by name
	Dir        string   // current directory: SourceDir or Workdir
	Outputs    []RenderedOutput
	InputFiles map[string][]string    // list files to be written: input name to the paths in it; see ListPath
	Checkpoint string                 // absolute path, "" if none
	Discard    []string               // paths and patterns relative to the workdir
	Files      []RenderedPrecondition // files that must be on the backend
}

// An EnvVar is one variable of a job.
type EnvVar struct{ Name, Value string }

// A RenderedOutput is the path of one output.
type RenderedOutput struct {
	Name string
	Path string // relative to the workdir: as declared, for a smoke below its own folder
	Abs  string
}

// A RenderedPrecondition is a file that must be on the backend.
type RenderedPrecondition struct {
	Path    string // absolute, or beginning with ~/
	MinSize int64
	Message string
}

// ListPath is the path of the list file of an input in a job's spool folder.
func ListPath(spool, input string) string { return path.Join(spool, input+".list") }

// Render evaluates a job for a cell and a site. Errors are reported with the
// cell's address.
func (p *Phase) Render(i int, s Target) (Rendered, diag.List) {
	var ds diag.List
	r := renderer{p: p, f: p.job.form[s.Variant], cell: i, site: s, ds: &ds}
	out := Rendered{Label: p.Label(i), Dir: s.Workdir, Program: r.program()}
	if p.Source != nil && s.SourceDir != "" {
		out.Dir = s.SourceDir
	}
	r.command(&out)
	for _, e := range r.f.env {
		out.Env = append(out.Env, EnvVar{e.name, r.text(e.t, "env."+e.name)})
	}
	for k, o := range p.Outputs {
		rel := r.outputPath(k)
		out.Outputs = append(out.Outputs, RenderedOutput{Name: o.Name, Path: rel, Abs: below(s.Workdir, rel)})
	}
	out.Checkpoint = r.checkpoint()
	if !s.Variant.Smoke() {
		out.Discard = DiscardOf(p, i)
	}
	r.drillable()
	for k := range p.Preconditions {
		if q := &p.Preconditions[k]; q.OnBackend {
			out.Files = append(out.Files, RenderedPrecondition{Path: below(s.Workdir, plain(q.file, i)), MinSize: q.MinSize, Message: q.Message})
		}
	}
	out.InputFiles = r.lists
	for k := range ds {
		ds[k].Address = p.Address(i)
	}
	return out, ds
}

// below is a path seen from a folder: itself when it is absolute.
func below(dir, rel string) string {
	if path.IsAbs(rel) || rel == "~" || strings.HasPrefix(rel, "~/") || dir == "" {
		return rel
	}
	return path.Join(dir, rel)
}

// plain is the text of a template without symbols.
func plain(t *expr.Template, i int) string { return expr.Unescape(t.Text(i)) }

// OutputPath is the declared path of one output of a cell, relative to the
// workdir (a pattern for a glob); for a smoke, the smoke's path. "" if there
// is no such output.
func (p *Phase) OutputPath(i int, name string, v Variant) string {
	for k, o := range p.Outputs {
		if o.Name == name {
			r := renderer{p: p, f: p.job.form[v], cell: i, site: Target{Variant: v}}
			return r.outputPath(k)
		}
	}
	return ""
}

// DiscardOf are the paths and patterns, relative to the workdir, of files that a run of
// a cell leaves and nobody needs.
func DiscardOf(p *Phase, i int) (patterns []string) {
	for _, t := range p.job.form[Run].discard {
		patterns = append(patterns, path.Clean(plain(t, i)))
	}
	return patterns
}

// A renderer resolves the symbols of one job.
type renderer struct {
	p     *Phase
	f     *form
	cell  int
	site  Target
	lists map[string][]string
	ds    *diag.List
}

func (r *renderer) outputPath(k int) string {
	rel := path.Clean(plain(r.f.outputs[k], r.cell))
	if v := r.site.Variant; v.Smoke() {
		return path.Join(smokeDir(v, r.p.Name, r.p.Key(r.cell)), rel)
	}
	return rel
}

func (r *renderer) checkpoint() string {
	if r.f.checkpoint == nil {
		return ""
	}
	rel := plain(r.f.checkpoint, r.cell)
	if v := r.site.Variant; v.Smoke() && !path.IsAbs(rel) && !strings.HasPrefix(rel, "~") {
		rel = path.Join(smokeDir(v, r.p.Name, r.p.Key(r.cell)), rel)
	}
	return below(r.site.Workdir, rel)
}

// drillable reports a smoke's checkpoint that a drill would remove although it is not
// the smoke's own.
func (r *renderer) drillable() {
	if s := r.p.Smoke; !r.site.Variant.Smoke() || s == nil || !s.ResumeDrill || r.f.checkpoint == nil {
		return
	}
	if rel := plain(r.f.checkpoint, r.cell); path.Clean(rel) == "." || strings.HasPrefix(rel, "~") || !filepath.IsLocal(rel) {
		r.ds.Errorat(r.f.checkpoint.Range(), "A drill removes the smoke's own checkpoint", "The checkpoint %q is not below the folder of the smoke. With resume_drill, write a path relative to the workdir, without \"..\".", rel)
	}
}

// command sets Shell or Argv.
func (r *renderer) command(out *Rendered) {
	if len(r.f.argv) > 0 {
		for _, t := range r.f.argv {
			out.Argv = append(out.Argv, r.words(r.value(t), t)...)
		}
		return
	}
	v := r.value(r.f.command)
	if v == cty.NilVal || !v.IsKnown() {
		return
	}
	if value.IsList(v) {
		out.Argv = r.words(v, r.f.command)
		return
	}
	out.Shell = r.asText(v, r.f.command, "command")
	if strings.TrimSpace(out.Shell) == "" && !r.ds.HasErrors() {
		r.ds.Errorat(r.f.command.Range(), "The command is empty", "There is nothing to run.")
	}
}

// words are the arguments that an element of a list gives: itself, or each of
// a list.
func (r *renderer) words(v cty.Value, t *expr.Template) (out []string) {
	if v != cty.NilVal && value.IsList(v) {
		for _, e := range v.AsValueSlice() {
			out = append(out, r.asText(e, t, "command"))
		}
		return out
	}
	return []string{r.asText(v, t, "command")}
}

// program renders the fields of schema.Rendered.
func (r *renderer) program() (out schema.Program) {
	for k, t := range r.f.rendered {
		if t == nil {
			continue
		}
		f := &schema.Rendered[k]
		v := joined(r.value(t))
		if v == cty.NilVal || !v.IsKnown() {
			continue
		}
		if err := f.Set(&out, v); err != nil {
			r.ds.Errorat(t.Range(), "Invalid "+f.Name, "%s.", wording.Capitalised(err.Error()))
		}
	}
	return out
}

// text renders a template to text; "" for one that is not written.
func (r *renderer) text(t *expr.Template, what string) string {
	if t == nil {
		return ""
	}
	return r.asText(r.value(t), t, what)
}

// value renders a template; NilVal when that failed, which was reported.
func (r *renderer) value(t *expr.Template) cty.Value {
	v, ds := t.Render(r.cell, r.lookup)
	r.ds.Append(ds...)
	if ds.HasErrors() {
		return cty.NilVal
	}
	return v
}

func (r *renderer) asText(v cty.Value, t *expr.Template, what string) string {
	if v == cty.NilVal || !v.IsKnown() {
		return ""
	}
	s, err := value.Text(joined(v))
	if err != nil {
		r.ds.Errorat(t.Range(), "Invalid "+what, "%s.", wording.Capitalised(err.Error()))
	}
	return s
}

// joined is a list of paths as one text, as it is in a template; any other value
// stays.
func joined(v cty.Value) cty.Value {
	if v != cty.NilVal && value.IsList(v) && !v.Type().IsTupleType() {
		if words, err := value.Texts(v); err == nil {
			return cty.StringVal(strings.Join(words, " "))
		}
	}
	return v
}

// CheckpointPath is the path of a job's checkpoint in a workdir; "" if it has
// none.
func (p *Phase) CheckpointPath(i int, workdir string) string {
	r := renderer{p: p, f: p.job.form[Run], cell: i, site: Target{Workdir: workdir}}
	return r.checkpoint()
}

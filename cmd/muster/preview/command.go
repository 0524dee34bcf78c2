package preview

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/wrapper"
)

// Command is a job as a script for /bin/sh that may be pasted where it runs: its
// directory, its environment, its setup and its command. Secrets and sensitive
// values are named and not shown. at is where the job goes; of one that has run and
// does not start, it is where it ran.
func (v Preview) Command(pp *planner.PhasePlan, cell int, at place.Decision) (string, diag.List) {
	p := pp.Phase
	s := start{cell: cell, variant: lang.Run, at: at}
	digest := pp.Source.Digest
	if last := pp.Detail(cell).State.Last(); last != nil && !pp.Kind[cell].Starts() {
		s.at.Backend, s.at.Pool = last.Backend, last.Pool
		if d := pp.Detail(cell).State.Source; d != "" {
			digest = d
		}
	}
	where := v.siteOfStart(pp, s)
	if p.Source != nil {
		where.SourceDir = path.Join(where.Workdir, ".muster/source", digest)
	}
	folder := "/tmp/muster-" + pp.Result[cell].String()[:12]
	where.Spool = folder
	b := backendOf(v.Campaign, s.at.Backend)
	shape := s.at.Shape
	if shape.CPUs == 0 {
		shape = p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)].Shape
	}
	spec := jobspec.NewSpec(v.Campaign, p, site.Env(b), unread)
	job, r, diags := spec.Job(p, jobspec.Launch{Cell: cell, Address: p.Address(cell), Site: where, Shape: shape, Backend: b})
	if diags.HasErrors() {
		return "", diags
	}
	v.partial(pp, cell, job)
	lists := map[string]string{}
	for _, in := range job.Inputs {
		if in.Listed() {
			lists[in.Name] = lang.ListPath(folder, in.Name)
		}
	}
	w := writer{job: job, rendered: r, backend: b, hidden: p.SensitiveIn(lang.Run), folder: folder, lists: lists}
	fmt.Fprintf(&w, "# %s\n# as it runs on %s; it writes to the same outputs as the job\n(\n", term.CleanLine(job.Address), strings.TrimSuffix(s.at.Backend+", "+s.at.Pool, ", "))
	w.files()
	w.environment(p.Secrets)
	w.setup()
	w.command()
	w.WriteString(")\n")
	return w.String(), nil
}

// partial adds the keys of the missing producers of inputs that a job may go on with in part.
func (v Preview) partial(pp *planner.PhasePlan, cell int, job *providers.Job) {
	for k, in := range pp.Phase.Inputs {
		if !in.Partial() {
			continue
		}
		_, missing := v.Plan.Reads(pp, in, cell)
		for _, m := range missing {
			job.Inputs[k].Missing = append(job.Inputs[k].Missing, in.From.Key(m))
		}
	}
}

// A writer writes a job down as a script for /bin/sh.
type writer struct {
	strings.Builder
	job      *providers.Job
	rendered lang.Rendered
	backend  *lang.Backend       // nil where the job has no place yet
	hidden   lang.SensitiveParts // named, and not shown
	folder   string              // for the lists of input files
	lists    map[string]string   // path of the list of each input of several files
}

// files changes to the job's directory and lists its inputs.
func (w *writer) files() {
	r := w.rendered
	if r.Dir != "" {
		w.WriteString("cd " + shellFolder(r.Dir) + " || exit\n")
	}
	if len(w.lists) > 0 || r.Image != "" {
		fmt.Fprintf(w, "mkdir -p %s || exit\n", w.folder)
	}
	for _, in := range w.job.Inputs {
		if in.Listed() {
			w.list(w.lists[in.Name], in.Paths)
		}
		if in.Partial {
			w.list(wrapper.MissingFile(w.lists[in.Name]), in.Missing)
		}
	}
}

// list writes a file with one text a line.
func (w *writer) list(path string, lines []string) {
	if len(lines) == 0 {
		w.WriteString(": > " + shell.Enclose(path) + "\n")
		return
	}
	w.WriteString("printf '%s\\n'")
	for _, line := range lines {
		w.WriteString(" " + shell.Enclose(line))
	}
	w.WriteString(" > " + shell.Enclose(path) + "\n")
}

func (w *writer) environment(secrets []lang.Secret) {
	for _, secret := range secrets {
		fmt.Fprintf(w, ": \"${%s:?is a secret: set it first}\"; export %s\n", secret.Name, secret.Name)
	}
	for _, e := range wrapper.Environ(w.job, nil, wrapper.Start{Folder: wrapper.Folder(w.folder), Lists: w.lists}) {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PWD" || name == "MUSTER_TOKEN" || name == "MUSTER_LAUNCH" || name == "CUDA_VISIBLE_DEVICES": // of one launch
		case slices.Contains(w.hidden.Env, name) || w.backend != nil && w.backend.SecretEnv && w.backend.Env[name] != "":
			fmt.Fprintf(w, ": \"${%s:?is sensitive: set it first}\"; export %s\n", name, name)
		default:
			w.WriteString("export " + name + "=" + shell.Enclose(value) + "\n")
		}
	}
}

func (w *writer) setup() {
	for i, text := range w.job.Setup {
		if w.hidden.Setup && i == len(w.job.Setup)-1 || w.backend != nil && w.backend.SecretSetup && i == 0 {
			w.WriteString("# setup holds a sensitive value and is not shown\n")
			continue
		}
		w.WriteString(strings.TrimSpace(text) + "\n")
	}
}

func (w *writer) command() {
	r := w.rendered
	switch {
	case w.hidden.Command:
		w.WriteString("# the command holds a sensitive value and is not shown; a secret block passes it by name\n")
	case r.Image != "" && len(r.Argv) == 0:
		w.WriteString("set -- /bin/sh -c " + shell.Enclose(r.Shell) + "\n" + image.Script(w.job))
	case r.Image != "":
		w.WriteString("set --" + words(r.Argv) + "\n" + image.Script(w.job))
	case len(r.Argv) > 0:
		w.WriteString("exec" + words(r.Argv) + "\n")
	default:
		w.WriteString(strings.TrimRight(r.Shell, "\n") + "\n")
	}
}

func words(argv []string) (out string) {
	for _, word := range argv {
		out += " " + shell.Enclose(word)
	}
	return out
}

func backendOf(c *lang.Campaign, address string) *lang.Backend {
	for _, b := range c.Backends {
		if b.Address() == address {
			return b
		}
	}
	return nil
}

package preview

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/sheet"
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
	where := siteOfStart(v.Campaign, pp, s, v.Pools)
	if p.Source != nil {
		where.SourceDir = path.Join(where.Workdir, ".muster/source", digest)
	}
	folder := "/tmp/muster-" + pp.Result[cell].String()[:12]
	where.Spool = folder
	r, diags := p.Render(cell, where)
	if diags.HasErrors() {
		return "", diags
	}
	b := backendOf(v.Campaign, s.at.Backend)
	job := &providers.Job{Address: p.Address(cell), Phase: p.Name, Name: r.Label, Workdir: where.Workdir, Dir: r.Dir, Image: r.Image, Argv: r.Argv, Shape: s.at.Shape,
		Setup: site.Setup(b, r.Setup), Env: sheet.JobEnv(site.Env(b), r.Env)}
	if shape := p.Requests(lang.Run)[p.RequestOf(cell, lang.Run)].Shape; job.Shape.CPUs == 0 {
		job.Shape = shape
	}
	sheet.FillFiles(job, p, r, where.Input)
	lists := map[string]string{}
	for name := range r.InputFiles {
		lists[name] = lang.ListPath(folder, name)
	}
	hidden := p.SensitiveIn(lang.Run)

	var w strings.Builder
	fmt.Fprintf(&w, "# %s\n# as it runs on %s; it writes to the same outputs as the job\n(\n", term.CleanLine(job.Address), strings.TrimSuffix(s.at.Backend+", "+s.at.Pool, ", "))
	if r.Dir != "" {
		w.WriteString("cd " + shellFolder(r.Dir) + " || exit\n")
	}
	if len(lists) > 0 || r.Image != "" {
		fmt.Fprintf(&w, "mkdir -p %s || exit\n", folder)
	}
	for _, name := range slices.Sorted(maps.Keys(r.InputFiles)) {
		w.WriteString("printf '%s\\n'")
		for _, file := range r.InputFiles[name] {
			w.WriteString(" " + quoted(file))
		}
		w.WriteString(" > " + quoted(lists[name]) + "\n")
	}
	for _, secret := range p.Secrets {
		fmt.Fprintf(&w, ": \"${%s:?is a secret: set it first}\"; export %s\n", secret.Name, secret.Name)
	}
	for _, e := range wrapper.Environ(job, nil, wrapper.Start{Folder: wrapper.Folder(folder), Lists: lists}) {
		name, value, _ := strings.Cut(e, "=")
		switch {
		case name == "PWD" || name == "MUSTER_TOKEN" || name == "MUSTER_LAUNCH" || name == "CUDA_VISIBLE_DEVICES": // of one launch
		case slices.Contains(hidden.Env, name) || b != nil && b.SecretEnv && b.Env[name] != "":
			fmt.Fprintf(&w, ": \"${%s:?is sensitive: set it first}\"; export %s\n", name, name)
		default:
			w.WriteString("export " + name + "=" + quoted(value) + "\n")
		}
	}
	for i, text := range job.Setup {
		if hidden.Setup && i == len(job.Setup)-1 || b != nil && b.SecretSetup && i == 0 {
			w.WriteString("# setup holds a sensitive value and is not shown\n")
			continue
		}
		w.WriteString(strings.TrimSpace(text) + "\n")
	}
	switch {
	case hidden.Command:
		w.WriteString("# the command holds a sensitive value and is not shown; a secret block hands it over by name\n")
	case r.Image != "" && len(r.Argv) == 0:
		w.WriteString("set -- /bin/sh -c " + quoted(r.Shell) + "\n" + image.Script(job))
	case r.Image != "":
		w.WriteString("set --" + words(r.Argv) + "\n" + image.Script(job))
	case len(r.Argv) > 0:
		w.WriteString("exec" + words(r.Argv) + "\n")
	default:
		w.WriteString(strings.TrimRight(r.Shell, "\n") + "\n")
	}
	w.WriteString(")\n")
	return w.String(), nil
}

func words(argv []string) (out string) {
	for _, word := range argv {
		out += " " + quoted(word)
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

package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/jobspec"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// likeJobs are jobs of a phase that are submitted as one array, or smokes that go
// one after another.
type likeJobs struct {
	backend  providers.Backend
	job      *providers.Job // one of them; nil where no script is submitted
	phase    string
	smoke    bool
	count    int
	apart    bool
	starts   []start
	scripter providers.Scripter     // that submits them; nil = no script is submitted
	after    []providers.ScriptEdge // phases that they are submitted to come after where muster does not stay
	ahead    bool                   // others are submitted to come after them then
}

func (l *likeJobs) what() string {
	switch {
	case l.smoke && l.apart && l.count > 1:
		return fmt.Sprintf("smokes of phase.%s: %d, one after another,", l.phase, l.count)
	case l.smoke:
		return fmt.Sprintf("smoke of phase.%s: %d", l.phase, l.count)
	}
	return fmt.Sprintf("phase.%s: %d", l.phase, l.count)
}

// writeSubmission writes how like jobs would be submitted. Ids, and paths that hold
// one, are known only then.
func (v Preview) writeSubmission(b *strings.Builder, like *likeJobs) error {
	if like.scripter == nil {
		return nil
	}
	var pool offer.Pool
	for _, p := range v.Pools {
		if p.Backend == like.backend.Name && p.Name == like.job.Pool {
			pool = p
		}
	}
	phase := v.Plan.Phase(like.phase)
	script, err := like.scripter.Script(providers.ScriptRequest{Backend: like.backend, Pool: pool, Like: like.job, Count: like.count, Apart: like.apart,
		Returns: mayReturn(phase.Phase), After: like.after, Ahead: like.ahead})
	if err != nil {
		return fmt.Errorf("script of phase.%s: %w", like.phase, err)
	}
	words := like.scripter.Terms(like.backend.Config, like.job.Options)
	fmt.Fprintf(b, "# %s of %s on %s %s%s\n", script.Command, like.what(), words.Pool, like.job.Pool, cut(script))
	fmt.Fprintf(b, "#   apply:                   %s\n", line(script.Staying))
	fmt.Fprintf(b, "#   apply -detach or -once:  %s\n", line(script.Leaving))
	for i, text := range script.Awaiting {
		if i == 0 {
			fmt.Fprintf(b, "#     and in the script, while those have not ended: %s\n", term.CleanLine(text))
		} else {
			fmt.Fprintf(b, "#       %s\n", term.CleanLine(text))
		}
	}
	fmt.Fprintf(b, "%s\n", term.Clean(script.Text))
	return nil
}

// line is a command line as a shell takes it.
func line(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = shell.Quote(w)
	}
	return strings.Join(words, " ")
}

// cut says how similar jobs are split into arrays, or packs. The preview shows the
// first.
func cut(script providers.Script) string {
	sizes, word := script.Sizes, "arrays"
	if script.Packed {
		word = "packs"
	}
	if len(sizes) < 2 {
		return ""
	}
	return fmt.Sprintf(", %d %s like this one: %d jobs each, the last %d", len(sizes), word, sizes[0], sizes[len(sizes)-1])
}

// likes groups the jobs of a phase that would start, by their common parts.
func (v Preview) likes(pp *planner.PhasePlan) (out []*likeJobs, diags diag.List) {
	p := pp.Phase
	by := map[string]*likeJobs{}
	for _, s := range starts(pp) {
		smoke, d := s.variant.Smoke(), s.at
		typ, _, _ := strings.Cut(d.Backend, ".")
		options := p.Requests(s.variant)[p.RequestOf(s.cell, s.variant)].Options[typ]
		key, _ := json.Marshal([]any{smoke, d.Backend, d.Pool, d.Shape, d.Segments, options})
		if k := by[string(key)]; k != nil {
			k.count++
			k.starts = append(k.starts, s)
			continue
		}
		like := &likeJobs{phase: p.Name, smoke: smoke, count: 1, apart: smoke && !p.Smoke.Parallel, starts: []start{s}, scripter: v.Scripters[typ].Scripter}
		by[string(key)] = like
		out = append(out, like)
		b := backendOf(v.Campaign, d.Backend)
		if b == nil || like.scripter == nil {
			like.scripter = nil
			continue
		}
		like.backend = site.Backend(v.Campaign, b, "")
		if like.job, diags = v.job(pp, s, b); diags.HasErrors() {
			return out, diags
		}
		like.after, like.ahead = v.after(p, d.Backend), v.followed(p, d.Backend)
	}
	return out, nil
}

// job is the job of a launch as its backend would be given it, without secrets.
func (v Preview) job(pp *planner.PhasePlan, s start, b *lang.Backend) (*providers.Job, diag.List) {
	p := pp.Phase
	shape := p.Requests(s.variant)[p.RequestOf(s.cell, s.variant)].Shape
	if !s.variant.Smoke() {
		shape = ceiling.Segment(shape, s.at.Segments)
		shape.Pack, shape.Slots, shape.Allocation = s.at.Shape.Pack, s.at.Shape.Slots, s.at.Shape.Allocation
	}
	spec := jobspec.NewSpec(v.Campaign, p, site.Env(b), unread)
	at := v.siteOfStart(pp, s)
	at.GPUs, at.CPUs = shape.GPUs, shape.CPUs
	job, _, diags := spec.Job(p, jobspec.Launch{Cell: s.cell, Address: addressOf(p, s), Attempt: 1, Site: at, Shape: shape, Backend: b, Can: v.Scripters[b.Type].Can,
		Segments: max(s.at.Segments, 1), Most: ceiling.MostOf(s.at, p.Retry, v.Pools)})
	if job != nil && shape.Pack > 1 {
		job.Retry = providers.Retry{Max: 1} // muster retries it, in a later pack
	}
	return job, diags
}

// unread replaces a secret that a preview does not need.
func unread(lang.Secret) (string, error) { return "", nil }

// on reports whether jobs of a phase start on a backend.
func (v Preview) on(name, backend string) bool {
	pp := v.Plan.Phase(name)
	return pp != nil && slices.ContainsFunc(starts(pp), func(s start) bool { return s.at.Backend == backend })
}

// followed reports whether jobs on a backend come after those of a phase.
func (v Preview) followed(p *lang.Phase, backend string) bool {
	for _, pp := range v.Plan.Phases {
		if v.on(pp.Phase.Name, backend) && slices.ContainsFunc(v.after(pp.Phase, backend), func(e providers.ScriptEdge) bool { return e.Phase == p.Name }) {
			return true
		}
	}
	return false
}

// after are the phases that jobs of a phase on a backend are submitted to come
// after: those that start there themselves.
func (v Preview) after(p *lang.Phase, backend string) (edges []providers.ScriptEdge) {
	seen := map[string]bool{}
	add := func(e providers.ScriptEdge) {
		if !seen[e.Phase] && v.on(e.Phase, backend) {
			seen[e.Phase] = true
			edges = append(edges, e)
		}
	}
	for _, in := range p.Inputs {
		if in.From != nil {
			add(providers.ScriptEdge{Phase: in.From.Name, Each: oneToOne(p, in)})
		}
	}
	for _, name := range p.DependsOn {
		add(providers.ScriptEdge{Phase: name})
	}
	return edges
}

// mayReturn reports whether the jobs of a phase may be submitted again under a
// new id, as its retries ask for more.
func mayReturn(p *lang.Phase) bool {
	for _, in := range p.Inputs {
		if from := in.From; from != nil && from.Retry.Max > 1 && len(from.Retry.Scale) > 0 {
			return true
		}
	}
	return false
}

// oneToOne reports whether each cell of a phase reads one cell's output, and
// no two the same: then element comes after like element.
func oneToOne(p *lang.Phase, in *lang.Input) bool {
	seen := map[int]bool{}
	for c := range p.Len() {
		from := in.Members(in.GroupOf(c))
		if len(from) != 1 || seen[from[0]] {
			return false
		}
		seen[from[0]] = true
	}
	return len(seen) > 1
}

package jobspec

import (
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// A Launch has the facts of one launch of a job that its phase does not have.
type Launch struct {
	Cell    int
	Address string
	Token   string // "" = it is only shown
	Attempt int
	Site    lang.Target // where it runs; its variant says whether it is a smoke
	Shape   offer.Shape
	// Backend is where the job goes, nil where it has no place, and Can its
	// capabilities.
	Backend  *lang.Backend
	Can      offer.Capabilities
	Segments int // into which its work is cut, at least 1
	Most     int // launches that it may have in all
}

// Job is the job of a launch as its backend gets it, and as a plan shows it, without the parts
// that only the state has: the jobs before it, the files that it may replace, and the record
// of its inputs.
func (s *Spec) Job(p *lang.Phase, l Launch) (*providers.Job, lang.Rendered, diag.List) {
	v := l.Site.Variant
	r, diags := p.Render(l.Cell, l.Site)
	if diags.HasErrors() {
		return nil, r, diags
	}
	umask := site.Umask()
	job := &providers.Job{
		Token: l.Token, Address: l.Address, Phase: p.Name, Name: r.Label, Attempt: l.Attempt, Pool: l.Site.Pool,
		Shell: r.Shell, Argv: r.Argv, Workdir: l.Site.Workdir, Dir: r.Dir, Setup: site.Setup(l.Backend, r.Setup), Env: jobEnv(s.Env, r.Env),
		Secrets: s.Secrets, Process: r.Process, Shape: l.Shape,
		Metrics: s.Metrics, Breaker: breakerOf(p, l.Cell), Cap: p.MaxParallel, Rules: s.Rules, Smoke: v.Smoke(), Umask: &umask,
	}
	if l.Backend != nil {
		job.Options = p.Requests(v)[p.RequestOf(l.Cell, v)].Options[l.Backend.Type]
	}
	job.Retry, job.Rules = s.riding(p, l, job.Smoke)
	FillFiles(job, p, r, l.Site.Input)
	if c := p.Checkpoint; c != nil && l.Can.CopiesOut() && !job.Smoke {
		job.Checkpoint.CopyTo = c.CopyTo
	}
	if job.Smoke && p.Smoke != nil && p.Smoke.ResumeDrill && job.Checkpoint.Path != "" {
		drill(job)
	}
	return job, r, diags
}

// riding is the retry policy that goes with a job where its queue retries, or
// starts it again after it stopped it, and the rules beside it. Neither has it launch
// a job again that goes elsewhere.
func (s *Spec) riding(p *lang.Phase, l Launch, smoke bool) (providers.Retry, []failure.Rule) {
	if smoke || !l.Can.Retries && !l.Can.Requeues && !l.Can.HostQueue {
		return providers.Retry{Max: 1}, s.Rules
	}
	r, rules := s.Retry, s.Rules
	r.On, r.Max = p.Retry.InSegments(l.Segments).At(l.Site.Backend).On, l.Most
	for i := range rules {
		if _, leaves := p.Retry.Leaves(rules[i].Class, l.Site.Backend); leaves && rules[i].Action == "retry" {
			rules = slices.Clone(rules)
			rules[i].Action = ""
		}
	}
	return r, rules
}

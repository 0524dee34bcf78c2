// Package jobspec makes the job that a backend receives, and the record that the
// state keeps of an observation. It keeps no state.
package jobspec

import (
	"fmt"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

// A Spec is the part that all jobs of a phase on one backend share.
type Spec struct {
	Env     []providers.EnvVar
	Retry   providers.Retry
	Rules   []failure.Rule
	Metrics []providers.Metric
	Secrets []providers.EnvVar
	Err     error // a secret that could not be read
}

// NewSpec reads the secrets that the phase names.
func NewSpec(c *lang.Campaign, p *lang.Phase, env []providers.EnvVar, secret func(lang.Secret) (string, error)) Spec {
	s := Spec{Env: env, Rules: retry.Rules(c)}
	s.Retry = p.Retry.Policy
	for _, m := range p.Metrics {
		s.Metrics = append(s.Metrics, metric(m))
	}
	for _, sec := range p.Secrets {
		v, err := secret(sec)
		if err != nil {
			s.Err = fmt.Errorf("read secret %s: %w", sec.Name, err)
			break
		}
		s.Secrets = append(s.Secrets, providers.EnvVar{Name: sec.Name, Value: v})
	}
	return s
}

// breakerOf is the breaker that counts and stops a cell.
func breakerOf(p *lang.Phase, cell int) providers.Breaker {
	b := providers.Breaker{SameError: p.Breaker.SameError, Share: p.Breaker.Share, Jobs: lang.BreakerJobs(p, cell)}
	if p.Trial != nil {
		b.Of = lang.BreakerOf(p, cell)
	}
	return b
}

// InTime has a job end by its walltime, which bounds its cost: a host's queue asks it to end
// at its walltime, and kills it a grace later. A checkpoint's signal keeps its distance from
// that, as far as there is time.
func InTime(job *providers.Job) {
	limit := job.Shape.Walltime
	if limit <= 0 {
		return
	}
	job.Shape.Walltime, job.Grace = ceiling.InTime(limit)
	if c := &job.Checkpoint; c.Grace < limit && c.Grace >= job.Shape.Walltime {
		c.Grace -= limit - job.Shape.Walltime // else there would be no signal
	}
}

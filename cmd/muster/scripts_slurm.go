package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/relaunch"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/login"
)

// likeJobs are jobs of a phase that go to Slurm as one array.
type likeJobs struct {
	backend providers.Backend
	job     providers.Job
	count   int
}

// printSlurm shows what sbatch would be given for a phase. Ids, and paths that
// hold one, are known only then.
func (a *app) printSlurm(w *work, pp *planner.PhasePlan) error {
	for _, like := range a.arrays(w, pp) {
		text, err := login.Preview(like.backend, &like.job, like.count, mayReturn(pp.Phase))
		if err != nil {
			return fmt.Errorf("script of phase.%s: %w", pp.Phase.Name, err)
		}
		a.printf("# sbatch of phase.%s: %d on partition %s\n%s\n", pp.Phase.Name, like.count, like.job.Pool, term.Clean(text))
	}
	return nil
}

// arrays gathers the jobs of a phase that would start on Slurm by what they
// have in common.
func (a *app) arrays(w *work, pp *planner.PhasePlan) (out []*likeJobs) {
	for i, kind := range pp.Kind {
		d := pp.Decision(i)
		if !kind.Starts() || !strings.HasPrefix(d.Backend, "slurm.") {
			continue
		}
		p := pp.Phase
		options := p.Requests(lang.Run)[p.RequestOf(i, lang.Run)].Options["slurm"]
		j := providers.Job{Phase: p.Name, Pool: d.Pool, Shape: relaunch.Segment(d.Shape, d.Segments), Options: options, Cap: p.MaxParallel,
			Retry: providers.Retry{Max: relaunch.Launches(p.Retry, d.Segments)}}
		if c := p.Checkpoint; c != nil {
			j.Checkpoint = providers.Checkpoint{Signal: c.Signal, Grace: c.Grace}
		}
		if k := sameArray(out, &j); k != nil {
			k.count++
			continue
		}
		for _, b := range w.campaign.Backends {
			if b.Address() == d.Backend {
				like := &likeJobs{backend: site.Backend(w.campaign, b, ""), job: j, count: 1}
				like.job.Workdir, like.job.Setup, like.job.After = site.Workdir(w.campaign, b), []string{b.Setup}, after(p)
				if b.Setup == "" {
					like.job.Setup = nil
				}
				out = append(out, like)
			}
		}
	}
	return out
}

func sameArray(list []*likeJobs, j *providers.Job) *likeJobs {
	want, _ := json.Marshal([]any{j.Pool, j.Shape, j.Options})
	for _, l := range list {
		if have, _ := json.Marshal([]any{l.job.Pool, l.job.Shape, l.job.Options}); bytes.Equal(have, want) {
			return l
		}
	}
	return nil
}

// after names the phases that a phase comes after, in the place of their ids.
func after(p *lang.Phase) (terms []string) {
	seen := map[string]bool{}
	add := func(kind, name string) {
		if !seen[name] {
			seen[name] = true
			terms = append(terms, kind+":ID-OF-"+name)
		}
	}
	for _, in := range p.Inputs {
		switch {
		case in.From == nil:
		case oneToOne(p, in):
			add("aftercorr", in.From.Name)
		default:
			add("afterok", in.From.Name)
		}
	}
	for _, name := range p.DependsOn {
		add("afterok", name)
	}
	return terms
}

// mayReturn reports whether what a phase comes after may be submitted again
// under a new id, as its retries ask for more.
func mayReturn(p *lang.Phase) bool {
	for _, in := range p.Inputs {
		if from := in.From; from != nil && from.Retry.MaxAttempts > 1 && len(from.Retry.Scale) > 0 {
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

package preview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	setting "github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/preview"
	"github.com/muster-run/muster/providers/slurm/site"
)

// likeJobs are jobs of a phase that go to Slurm as one array, or smokes that go
// one after another.
type likeJobs struct {
	backend providers.Backend
	job     providers.Job
	count   int
	apart   bool
}

func (l *likeJobs) what() string {
	switch {
	case l.job.Smoke && l.apart && l.count > 1:
		return fmt.Sprintf("smokes of phase.%s: %d, one after another,", l.job.Phase, l.count)
	case l.job.Smoke:
		return fmt.Sprintf("smoke of phase.%s: %d", l.job.Phase, l.count)
	}
	return fmt.Sprintf("phase.%s: %d", l.job.Phase, l.count)
}

// writeSlurm writes what sbatch would be given for a phase. Ids, and paths that
// hold one, are known only then.
func writeSlurm(b *strings.Builder, c *lang.Campaign, pp *planner.PhasePlan, list []start, pools []offer.Pool) error {
	for _, like := range likes(c, pp.Phase, list, pools) {
		var pool offer.Pool
		for _, p := range pools {
			if p.Backend == like.backend.Name && p.Name == like.job.Pool {
				pool = p
			}
		}
		sizes := like.sizes(site.ArrayOf(pool))
		if like.job.Cap > 0 {
			shares, _ := arrays.Spread(like.job.Cap, sizes)
			like.job.Cap = shares[0]
		}
		text, err := preview.Script(like.backend, pool, &like.job, sizes[0], mayReturn(pp.Phase))
		if err != nil {
			return fmt.Errorf("script of phase.%s: %w", pp.Phase.Name, err)
		}
		fmt.Fprintf(b, "# sbatch of %s on partition %s%s\n%s\n", like.what(), like.job.Pool, like.cut(sizes), term.Clean(text))
	}
	return nil
}

// sizes are those of the arrays as which like jobs go to Slurm, that one has no
// more than most.
func (l *likeJobs) sizes(most int) (list []int) {
	if l.apart {
		return []int{1}
	}
	for left := l.count; left > 0; left -= most {
		list = append(list, min(left, most))
	}
	return list
}

// cut says into which arrays like jobs are cut, of which the first is shown.
func (l *likeJobs) cut(sizes []int) string {
	if len(sizes) < 2 {
		return ""
	}
	return fmt.Sprintf(", %d arrays like this one: %d jobs each, the last %d", len(sizes), sizes[0], sizes[len(sizes)-1])
}

// likes gathers what would start on Slurm by what it has in common.
func likes(c *lang.Campaign, p *lang.Phase, list []start, pools []offer.Pool) (out []*likeJobs) {
	for _, s := range list {
		if !strings.HasPrefix(s.at.Backend, "slurm.") {
			continue
		}
		smoke, d := s.variant == lang.SmokeRun, s.at
		options := p.Requests(s.variant)[p.RequestOf(s.cell, s.variant)].Options["slurm"]
		j := providers.Job{Phase: p.Name, Pool: d.Pool, Shape: launches.Segment(d.Shape, d.Segments), Options: options, Cap: p.MaxParallel, Smoke: smoke,
			Retry: providers.Retry{Max: launches.MostOf(d, p.Retry, pools)}}
		if smoke {
			j.Retry.Max = 1 // retry does not apply to it
		}
		if cp := p.Checkpoint; cp != nil {
			j.Checkpoint = providers.Checkpoint{Signal: cp.Signal, Grace: cp.Grace}
		}
		if k := sameArray(out, &j); k != nil {
			k.count++
			continue
		}
		for _, b := range c.Backends {
			if b.Address() == d.Backend {
				like := &likeJobs{backend: setting.Backend(c, b, ""), job: j, count: 1, apart: smoke && !p.Smoke.Parallel}
				like.job.Workdir, like.job.Setup, like.job.After = workdir(c, b, pools, d.Pool), []string{b.Setup}, after(p)
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
	want, _ := json.Marshal([]any{j.Smoke, j.Pool, j.Shape, j.Options})
	for _, l := range list {
		if have, _ := json.Marshal([]any{l.job.Smoke, l.job.Pool, l.job.Shape, l.job.Options}); bytes.Equal(have, want) {
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

package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/shell"
	"github.com/muster-run/muster/planner"
	setting "github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/preview"
	"github.com/muster-run/muster/providers/slurm/script"
	"github.com/muster-run/muster/providers/slurm/site"
)

// likeJobs are jobs of a phase that go to Slurm as one array, or smokes that go
// one after another.
type likeJobs struct {
	backend providers.Backend
	job     providers.Job
	count   int
	apart   bool
	starts  []start
	slurm   bool
	behind  []string // dependency terms with which they are submitted where muster does not stay
	ahead   bool     // others are submitted to come after them then
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

// writeSlurm writes what sbatch would be given for like jobs. Ids, and paths that
// hold one, are known only then.
func (v Preview) writeSlurm(b *strings.Builder, like *likeJobs) error {
	if !like.slurm {
		return nil
	}
	var pool offer.Pool
	for _, p := range v.Pools {
		if p.Backend == like.backend.Name && p.Name == like.job.Pool {
			pool = p
		}
	}
	sizes := like.sizes(site.ArrayOf(pool))
	job := like.job
	if job.Cap > 0 {
		shares, _ := arrays.Spread(job.Cap, sizes)
		job.Cap = shares[0]
	}
	phase := v.Plan.Phase(job.Phase)
	text, err := preview.Script(like.backend, pool, &job, sizes[0], mayReturn(phase.Phase))
	if err != nil {
		return fmt.Errorf("script of phase.%s: %w", job.Phase, err)
	}
	fmt.Fprintf(b, "# sbatch of %s on partition %s%s\n", like.what(), job.Pool, like.cut(sizes))
	fmt.Fprintf(b, "#   apply:                   %s\n", line(script.Argv("script.sh", false)))
	fmt.Fprintf(b, "#   apply -detach or -once:  %s\n", line(script.Argv("script.sh", like.ahead)))
	if len(like.behind) > 0 {
		fmt.Fprintf(b, "#     and in the script, while those have not ended: #SBATCH --dependency=%s\n", strings.Join(like.behind, ","))
	}
	fmt.Fprintf(b, "%s\n", term.Clean(text))
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

// likes gathers what would start of a phase by what it has in common.
func (v Preview) likes(pp *planner.PhasePlan) (out []*likeJobs) {
	c, p := v.Campaign, pp.Phase
	by := map[string]*likeJobs{}
	for _, s := range starts(pp) {
		smoke, d := s.variant == lang.SmokeRun, s.at
		options := p.Requests(s.variant)[p.RequestOf(s.cell, s.variant)].Options["slurm"]
		key, _ := json.Marshal([]any{smoke, d.Backend, d.Pool, d.Shape, d.Segments, options})
		if k := by[string(key)]; k != nil {
			k.count++
			k.starts = append(k.starts, s)
			continue
		}
		like := &likeJobs{count: 1, apart: smoke && !p.Smoke.Parallel, starts: []start{s}, slurm: strings.HasPrefix(d.Backend, "slurm.")}
		by[string(key)] = like
		out = append(out, like)
		like.job = providers.Job{Phase: p.Name, Pool: d.Pool, Shape: launches.Segment(d.Shape, d.Segments), Options: options, Cap: p.MaxParallel, Smoke: smoke,
			Retry: providers.Retry{Max: launches.MostOf(d, p.Retry, v.Pools)}}
		if smoke {
			like.job.Retry.Max = 1 // retry does not apply to it
		}
		if cp := p.Checkpoint; cp != nil {
			like.job.Checkpoint = providers.Checkpoint{Signal: cp.Signal, Grace: cp.Grace}
		}
		for _, b := range c.Backends {
			if b.Address() != d.Backend || !like.slurm {
				continue
			}
			like.backend = setting.Backend(c, b, "")
			if like.job.Workdir = workdir(c, b, v.Pools, d.Pool); b.Setup != "" {
				like.job.Setup = []string{b.Setup}
			}
			like.behind, like.ahead = v.after(p, d.Backend), v.followed(p, d.Backend)
		}
	}
	return out
}

// on reports whether jobs of a phase start on a backend.
func (v Preview) on(name, backend string) bool {
	pp := v.Plan.Phase(name)
	return pp != nil && slices.ContainsFunc(starts(pp), func(s start) bool { return s.at.Backend == backend })
}

// followed reports whether jobs on a backend come after those of a phase.
func (v Preview) followed(p *lang.Phase, backend string) bool {
	for _, pp := range v.Plan.Phases {
		if v.on(pp.Phase.Name, backend) && slices.ContainsFunc(v.after(pp.Phase, backend), func(term string) bool { return strings.HasSuffix(term, ":ID-OF-"+p.Name) }) {
			return true
		}
	}
	return false
}

// after names the phases that jobs of a phase on a backend are submitted to come
// after, in the place of their ids: those that start there themselves.
func (v Preview) after(p *lang.Phase, backend string) (terms []string) {
	seen := map[string]bool{}
	add := func(kind, name string) {
		if !seen[name] && v.on(name, backend) {
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

package pbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/facts"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/pbs/cluster"
	"github.com/muster-run/muster/providers/room"
)

// Quote says in which queues shapes fit. PBS does not say when a job would start.
func (b *Site) Quote(ctx context.Context, shapes []offer.Shape) ([]offer.Quote, error) {
	pools, err := b.Pools(ctx)
	if err != nil {
		return nil, err
	}
	f, err := b.Facts(ctx, facts.Fresh)
	if err != nil {
		f = nil
	}
	return b.quotes(f, pools, shapes)
}

// KnownQuotes are quotes by the profile.
func (b *Site) KnownQuotes(shapes []offer.Shape) ([]offer.Quote, error) {
	return b.quotes(nil, b.Known(""), shapes)
}

func (b *Site) quotes(f *cluster.Facts, pools []offer.Pool, shapes []offer.Shape) (out []offer.Quote, err error) {
	for i, shape := range shapes {
		o, wrong := optionsOf(shape.Options)
		if wrong == nil {
			wrong = o.wrong()
		}
		s := o.Spread(shape)
		for _, p := range pools {
			q := offer.Quote{Backend: b.Name, Pool: p.Name, Shape: i, Price: p.Price, Wait: -1}
			if wrong != nil {
				q.Why = wrong.Error()
			} else if q.Why, q.Would = b.lacks(o); q.Why == "" {
				if q.Why, q.Passing = b.unfit(f, p, s, o); q.Why != "" {
					q.Would = b.others(f, pools, p.Name, s, o)
				}
			}
			q.Fits = q.Why == ""
			if shorter := s; wrong == nil && p.MaxTime > 0 && s.Walltime > p.MaxTime {
				shorter.Walltime = p.MaxTime
				if why, _ := b.unfit(f, p, shorter, o); why == "" {
					q.MaxTime = p.MaxTime
				}
			}
			out = append(out, q)
		}
	}
	return out, nil
}

// lacks says which directive is missing that the site requires of every job.
func (b *Site) lacks(o Options) (why, would string) {
	if b.Profile == nil {
		return "", ""
	}
	for _, name := range b.Profile.Requires {
		switch {
		case name == "account" && b.Config.Account == "":
			return b.Profile.Site + " requires the project of every job (qsub -A)", fmt.Sprintf("add account = \"PROJECT\" to backend %q", b.Name)
		case name == "filesystems" && cmp.Or(o.Filesystems, b.Config.Filesystems) == "":
			return b.Profile.Site + " requires the filesystems of every job (qsub -l filesystems)", fmt.Sprintf("add filesystems = \"home:eagle\", say, to backend %q", b.Name)
		}
	}
	return "", ""
}

// unfit says why a queue cannot run a shape, and whether that passes by itself.
func (b *Site) unfit(f *cluster.Facts, p offer.Pool, s offer.Shape, o Options) (why string, passing bool) {
	each := func(n int) int { return (n + s.Nodes - 1) / s.Nodes }
	memory := (s.Memory + int64(s.Nodes) - 1) / int64(s.Nodes)
	more := b.more(p.Name)
	switch {
	case p.Name == "":
		return p.Notes[0], false
	case o.Queue != "" && o.Queue != p.Name:
		return fmt.Sprintf(`options "pbs" name queue %s`, o.Queue), false
	case p.Testing && !s.Smoke && o.Queue != p.Name:
		return fmt.Sprintf("queue %s is for tests only", p.Name), false
	case more.Request && o.Queue != p.Name && !slices.Contains(b.Config.Queues, p.Name):
		return fmt.Sprintf("queue %s is opened by the site for those who ask: name it in queues once it is", p.Name), false
	case p.MinNodes > 1 && s.Nodes < p.MinNodes:
		return fmt.Sprintf("queue %s takes jobs of %d nodes or more, but the job requests %d", p.Name, p.MinNodes, s.Nodes), false
	case p.MaxNodes > 0 && s.Nodes > p.MaxNodes:
		return fmt.Sprintf("queue %s gives a job %s at most, but the job requests %d", p.Name, units.Count(p.MaxNodes, "node"), s.Nodes), false
	case p.MaxTime > 0 && s.Walltime > p.MaxTime:
		return fmt.Sprintf("queue %s ends jobs at %s", p.Name, units.FormatDuration(p.MaxTime)), false
	case b.least(f, p.Name) > s.Walltime && s.Walltime > 0:
		return fmt.Sprintf("queue %s takes walltimes of %s or more, but the job requests %s", p.Name, units.FormatDuration(b.least(f, p.Name)), units.FormatDuration(s.Walltime)), false
	case s.GPUs > 0 && p.GPUs == 0:
		return fmt.Sprintf("queue %s has no GPUs", p.Name), false
	case each(s.GPUs) > p.GPUs:
		return fmt.Sprintf("a node of queue %s has %d GPUs, but the job requests %d", p.Name, p.GPUs, each(s.GPUs)), false
	case s.GPUs > 0 && !devices(s, p):
		return fmt.Sprintf("queue %s has GPUs of model %s", p.Name, cmp.Or(p.GPUModel, "unknown")), false
	case p.CPUs > 0 && each(s.CPUs) > p.CPUs:
		return fmt.Sprintf("a node of queue %s has %d cores, but the job requests %d", p.Name, p.CPUs, each(s.CPUs)), false
	case p.Memory > 0 && memory > p.Memory:
		return fmt.Sprintf("a node of queue %s has %s of memory, but the job requests %s", p.Name, units.FormatSize(p.Memory), units.FormatSize(memory)), false
	}
	if q := f.Queue(p.Name); q != nil && !q.Enabled {
		return fmt.Sprintf("queue %s takes no jobs now", p.Name), true
	}
	return "", false
}

// more is the profile's part of a queue beside its pool.
func (b *Site) more(queue string) (q QueueFacts) {
	if b.Profile != nil {
		q = b.Profile.Queues[queue]
	}
	return q
}

// least is the shortest walltime that a queue takes.
func (b *Site) least(f *cluster.Facts, queue string) time.Duration {
	if q := f.Queue(queue); q != nil && q.MinTime > 0 {
		return q.MinTime
	}
	return b.more(queue).MinTime
}

// devices reports whether a queue's GPUs are those that are asked for. A server does
// not tell the model of its GPUs.
func devices(s offer.Shape, p offer.Pool) bool {
	if s.GPU.Memory > 0 && p.GPUMem > 0 && p.GPUMem < s.GPU.Memory {
		return false
	}
	return len(s.GPU.Models) == 0 || slices.ContainsFunc(s.GPU.Models, func(m string) bool {
		return strings.EqualFold(m, p.GPUModel) || strings.EqualFold(m, p.GPUClass)
	})
}

// others names the queues that would take a shape.
func (b *Site) others(f *cluster.Facts, pools []offer.Pool, but string, s offer.Shape, o Options) string {
	var names []string
	o.Queue = ""
	for _, p := range pools {
		if why, _ := b.unfit(f, p, s, o); why == "" && p.Name != but {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "choose queue " + strings.Join(names, " or ")
}

// Preflight checks that the server answers, and takes the names in the backend block
// and in the jobs' options.
func (b *Site) Preflight(ctx context.Context, checks []providers.Check) (out []providers.Finding, err error) {
	tell := func(check int, summary, format string, args ...any) {
		out = append(out, providers.Finding{Check: check, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	if len(checks) > 0 && slices.ContainsFunc(checks, room.Only) {
		return nil, nil
	}
	f, err := b.Facts(ctx, facts.Fresh)
	if err != nil {
		out = append(out, scheduler.Away(err.Error()))
	} else {
		var names []string
		for _, q := range f.Queues {
			names = append(names, q.Name)
		}
		for _, name := range b.Config.Queues {
			if f.Queue(name) == nil {
				tell(-1, "There is no such queue", "backend.%s names %s; %s", b.Name, name, meant(name, names))
			}
		}
	}
	for i, c := range checks {
		o, err := parseOptions(c.Options)
		if err == nil {
			err = o.wrong()
		}
		if err != nil {
			tell(i, "Options cannot be used", "%v", err)
		}
	}
	return out, nil
}

// meant says which names there are, and which may have been meant.
func meant(given string, names []string) string {
	text := "there are " + strings.Join(names, ", ")
	if near := diag.Suggest(given, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

package lang

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Trial makes a phase a round of an optimisation: its settings, which differ in
// a few axes, are compared with one of them, the baseline.
type Trial struct {
	Hypothesis string
	Varies     []int         // axes, by index, in the order of the block
	Baseline   []*grid.Value // by Varies: one of the axis' own values
	Judge      string        // one of Judges, or "metric.NAME"
	Most       bool          // more of Judge is better
	MinGain    float64       // share of the baseline's value that a setting must gain; 0.05 by default
	After      string        // the phase that is the round before, "" for the first
	Range      hcl.Range
	// BaselineRange is where the baseline is written.
	BaselineRange hcl.Range

	jobs func() map[string]int // cells of each setting, by BreakerOf; counted once
}

// judges are the measures that every round has. The value is true where more is better.
var judges = map[string]bool{"jobs_per_hour": true, "cost_per_job": false, "failed_share": false}

// minGain is the least gain for which a change is worth its risk.
const minGain = 0.05

// Metric is the name of the metric that judges; "" where another measure does.
func (t *Trial) Metric() string {
	name, _ := strings.CutPrefix(t.Judge, "metric.")
	if name == t.Judge {
		return ""
	}
	return name
}

// trials reads the trial blocks, when all phases and their grids are known.
func (ps *phases) trials() {
	for _, p := range ps.order {
		if b := p.b.One("trial"); b != nil && p.ok {
			p.Trial = ps.trial(p, b)
		}
	}
	for _, p := range ps.order {
		ps.roundsEnd(p)
	}
}

func (ps *phases) trial(p *phaseBuild, b *syntax.Block) *Trial {
	t := &Trial{jobs: sync.OnceValue(func() map[string]int {
		n := map[string]int{}
		for cell := range p.Len() {
			n[BreakerOf(p.Phase, cell)]++
		}
		return n
	}), Hypothesis: ps.Text(b, "hypothesis"), Judge: ps.Text(b, "judge"), MinGain: ps.Number(b, "min_gain", 0, 100, minGain), Range: b.Range}
	for _, name := range ps.Texts(b, "varies") {
		a := p.Grid.AxisIndex(name)
		switch {
		case a < 0:
			ps.Wrong(b.Expr("varies"), "varies", "phase.%s has no axis %q%s", p.Name, wording.Clip(name), wording.Known(name, axisNames(p.Grid), "its axes are"))
		case slices.Contains(t.Varies, a):
			ps.Wrong(b.Expr("varies"), "varies", "%q appears twice.", name)
		default:
			t.Varies = append(t.Varies, a)
			t.Baseline = append(t.Baseline, nil)
		}
	}
	if b.Expr("varies") != nil && len(ps.Texts(b, "varies")) == 0 && !ps.Broken {
		ps.Wrong(b.Expr("varies"), "varies", "It names no axis, so there is nothing to compare.")
	}
	if len(t.Varies) > 0 { // else it was said that there is no such axis
		ps.baseline(p, b, t)
	}
	ps.judge(p, b, t)
	if e := b.Expr("after"); e != nil {
		ref, hds := hcl.AbsTraversalForExpr(e)
		if names := value.Names(ref); hds.HasErrors() || len(names) != 2 || names[0] != "phase" || ps.byName[names[1]] == nil {
			ps.Wrong(e, "after", "Write the phase that is the round before: phase.NAME.")
		} else {
			t.After = names[1]
		}
	}
	return t
}

func axisNames(g *grid.Grid) (names []string) {
	for _, a := range g.Axes {
		names = append(names, a.Name)
	}
	return names
}

// baseline reads the setting that the others are compared with.
func (ps *phases) baseline(p *phaseBuild, b *syntax.Block, t *Trial) {
	e := b.Expr("baseline")
	if e != nil {
		t.BaselineRange = e.Range()
	}
	for name, text := range ps.TextMap(b, "baseline") {
		k := slices.IndexFunc(t.Varies, func(a int) bool { return p.Grid.Axes[a].Name == name })
		if k < 0 {
			ps.Wrong(e, "baseline", "%q is not an axis in varies.", wording.Clip(name))
			continue
		}
		values := p.Grid.Axes[t.Varies[k]].Values
		i := slices.IndexFunc(values, func(v grid.Value) bool { return v.Text == text })
		if i < 0 {
			var all []string
			for _, v := range values {
				all = append(all, v.Text)
			}
			ps.Wrong(e, "baseline", "%q is not a value of the axis %s%s", wording.Clip(text), name, wording.Known(text, all, "its values are"))
			continue
		}
		t.Baseline[k] = &values[i]
	}
	for k, v := range t.Baseline {
		if v != nil {
			continue
		}
		a := &p.Grid.Axes[t.Varies[k]]
		if t.Baseline[k] = &a.Values[0]; !ps.Broken && !ps.Sure.HasErrors() && !ps.Perhaps.HasErrors() {
			ps.Wrong(e, "baseline", "It has no value of the axis %s.", a.Name)
		}
	}
}

// judge reads the measure by which settings are compared, and which way is
// better.
func (ps *phases) judge(p *phaseBuild, b *syntax.Block, t *Trial) {
	goal := ps.OneOf(b, "goal", "most", "least")
	most, known := judges[t.Judge]
	metric := t.Metric()
	switch {
	case b.Expr("judge") == nil || t.Judge == "":
	case known && goal != "":
		ps.Wrong(b.Expr("goal"), "goal", "It is for metrics: %s has one better way.", t.Judge)
	case known:
		t.Most = most
	case metric == "" || !slices.ContainsFunc(p.Metrics, func(m Metric) bool { return m.Name == metric }):
		ps.Wrong(b.Expr("judge"), "judge", "%q is neither jobs_per_hour, cost_per_job, failed_share nor a metric of the phase, such as \"metric.loss\".", wording.Clip(t.Judge))
	case goal == "":
		ps.Sure.Errorat(b.Range, "A metric needs a goal", "Write goal = \"least\" where less of %s is better, or \"most\".", t.Judge)
	default:
		t.Most = goal == "most"
		p.needs(metric)
	}
}

// roundsEnd refuses rounds that wait for each other, and for a phase that is none.
func (ps *phases) roundsEnd(p *phaseBuild) {
	seen := map[string]bool{}
	for q := p; q.Trial != nil && q.Trial.After != ""; {
		if seen[q.Name] {
			ps.Sure.Errorat(p.Trial.Range, "Rounds wait for each other", "phase.%s is a round after itself, so it could never start. Change after.", p.Name)
			return
		}
		seen[q.Name] = true
		if q = ps.byName[q.Trial.After]; q.Trial == nil && !ps.Broken {
			if seen[p.Name] && len(seen) == 1 {
				ps.Sure.Errorat(p.Trial.Range, "The round before is not a round", "phase.%s has no trial block, so there is nothing to judge.", q.Name)
			}
			return
		}
	}
}

// BreakerOf is the address of the jobs that the breaker of a cell of a phase counts and stops, as a
// selection: the jobs of the phase, or with a trial those with the cell's setting.
func BreakerOf(p *Phase, cell int) string {
	if p.Trial == nil {
		return "phase." + p.Name
	}
	var pairs []addr.Pair
	for _, a := range p.Trial.Varies {
		pairs = append(pairs, addr.Pair{Axis: p.Grid.Axes[a].Name, Text: p.Grid.Axes[a].Values[p.Grid.Coord(cell, a)].Text})
	}
	key := addr.JoinKey(pairs)
	if len(pairs) < len(p.Grid.Axes) {
		key += ",*"
	}
	return addr.Job{Phase: p.Name, Key: key}.String()
}

// BreakerJobs is how many jobs the breaker of a cell of a phase counts, in all.
func BreakerJobs(p *Phase, cell int) int {
	if p.Trial == nil {
		return p.Len()
	}
	return p.Trial.jobs()[BreakerOf(p, cell)]
}

// Setting is the text of the trial's setting of a cell: "memory=16GB, size=2".
func (p *Phase) Setting(cell int) string {
	var parts []string
	for _, a := range p.Trial.Varies {
		parts = append(parts, fmt.Sprintf("%s=%s", p.Grid.Axes[a].Name, p.Grid.Axes[a].Values[p.Grid.Coord(cell, a)].Text))
	}
	return strings.Join(parts, ", ")
}

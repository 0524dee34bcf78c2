package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
)

// A cluster is cells of one phase that the plan treats alike, for one reason.
type cluster struct {
	kind  planner.Kind
	place uint16
	text  string
	cells int
	first int
	// foreign says that files are in the way of these cells.
	foreign bool
}

// group clusters the cells of a phase; pilots have a line of their own. Large
// plans keep the details of the first cells only: the others are counted with
// those of their kind where these agree.
func group(pp *planner.PhasePlan, verbose bool) []cluster {
	many := waitedFor(pp, verbose)
	pilot := map[int]bool{}
	for _, i := range pp.Pilot {
		pilot[i] = true
	}
	g := grouper{index: map[groupKey]int{}, kept: map[groupKey]int{}}
	plain := map[groupKey]cluster{} // without a kept detail
	like := alike(pp)
	for i, kind := range pp.Kind {
		if pilot[i] {
			continue
		}
		k := groupKey{kind: kind}
		if i < len(pp.Place) && kind.Starts() {
			k.place = like[pp.Place[i]]
		}
		d, ok := pp.Details[i]
		if !ok {
			c, seen := plain[k]
			if !seen {
				c = cluster{kind: kind, place: k.place, first: i}
			}
			c.cells++
			plain[k] = c
			continue
		}
		bare := k
		if k.text = reason(d); kind == planner.Missing {
			k.text = lacking(d)
		}
		if from := blocker(d); kind == planner.Blocked && many[from] {
			k.text = "each waits for jobs of " + from
		}
		switch opened := g.add(k, i); {
		case len(d.Foreign) > 0:
			g.out[g.index[k]].foreign = true // the rows of others have another reason
		case opened:
			g.kept[bare]++
		}
	}
	for k, c := range plain {
		g.merge(k, c)
	}
	slices.SortFunc(g.out, func(a, b cluster) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.kind, b.kind), cmp.Compare(b.cells, a.cells), cmp.Compare(a.first, b.first))
	})
	return g.out
}

// alike maps each placement to the first that asks for the same at the same
// place, or differs from it only in the host of the backend: the head of the
// phase says which hosts share its jobs.
func alike(pp *planner.PhasePlan) []uint16 {
	out := make([]uint16, max(len(pp.Placements), 1))
	type key struct {
		backend, pool, class, shape string
		segments                    int
	}
	first := map[key]uint16{}
	for at, d := range pp.Placements {
		out[at] = uint16(at)
		k := key{d.Backend, d.Pool, d.GPUClass, d.Shape.Key(), d.Segments}
		if d.Kind == offer.HostPool {
			k.pool = ""
		}
		if same, ok := first[k]; ok {
			out[at] = same
		} else {
			first[k] = uint16(at)
		}
	}
	return out
}

// lacking names the outputs that are missing and not each of their files, so
// that jobs that lack the same are in one row.
func lacking(d planner.Detail) string {
	if len(d.Lacks) == 0 {
		return reason(d)
	}
	what := "output"
	if len(d.Lacks) > 1 {
		what = "outputs"
	}
	return what + " " + strings.Join(d.Lacks, ", ")
}

type groupKey struct {
	kind  planner.Kind
	place uint16
	text  string
}

type grouper struct {
	index map[groupKey]int // into out
	kept  map[groupKey]int // different texts by kind and place
	out   []cluster
}

// add counts a cell in and reports whether it opened a cluster.
func (g *grouper) add(k groupKey, cell int) bool {
	at, ok := g.index[k]
	if !ok {
		at = len(g.out)
		g.index[k] = at
		g.out = append(g.out, cluster{kind: k.kind, place: k.place, text: k.text, first: cell})
	}
	g.out[at].cells++
	return !ok
}

// merge adds cells whose reasons are not kept.
func (g *grouper) merge(k groupKey, c cluster) {
	if g.kept[k] == 1 {
		for i := range g.out {
			if o := &g.out[i]; o.kind == k.kind && o.place == k.place && !o.foreign {
				o.cells += c.cells
				return
			}
		}
	}
	if g.kept[k] > 1 {
		c.text = "for various reasons: see explain"
	}
	g.out = append(g.out, c)
}

func (c cluster) rank() int {
	if c.foreign {
		return 0
	}
	return rank(c.kind)
}

// rank puts rows that need a decision first and unchanged ones last.
func rank(k planner.Kind) int {
	switch k {
	case planner.Restart, planner.Rerun, planner.Duplicate:
		return 0
	case planner.HeldKind, planner.UnknownAt, planner.Missing, planner.Bytes, planner.Altered:
		return 1
	case planner.None, planner.Skipped:
		return 9
	}
	return 2
}

// fewBlocked is up to how many rows say for which jobs of one phase others wait.
const fewBlocked = 3

// waitedFor are the phases for whose jobs many cells wait, each for other ones: one row says so,
// unless every job is to be shown.
func waitedFor(pp *planner.PhasePlan, verbose bool) map[string]bool {
	texts, out := map[string]map[string]bool{}, map[string]bool{}
	for i, k := range pp.Kind {
		d, ok := pp.Details[i]
		from := blocker(d)
		if verbose || !ok || k != planner.Blocked || from == "" {
			continue
		}
		if texts[from] == nil {
			texts[from] = map[string]bool{}
		}
		texts[from][reason(d)] = true
		out[from] = len(texts[from]) > fewBlocked
	}
	return out
}

// blocker is the phase whose jobs alone a cell waits for, "" where there is none.
func blocker(d planner.Detail) string {
	from := ""
	for i, address := range d.Waits {
		phase, _, _ := strings.Cut(address, "[")
		if i > 0 && phase != from || d.Text != "" {
			return ""
		}
		from = phase
	}
	return from
}

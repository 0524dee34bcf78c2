// Package checklist is the look before a submission: ten points of each phase
// that goes to Slurm, each passed or failed, with the reason from the plan.
// It decides nothing: a point that fails stops nothing that the plan allows.
package checklist

import (
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

// A List is the ten points of one phase, in a fixed order.
type List struct {
	Phase  string
	Points []Point
}

// A Point is one thing to look at before jobs are submitted.
type Point struct {
	Name string
	Pass bool
	Why  string // from the plan: what passed, or what fails and what to write
}

// Passed is how many points pass.
func (l List) Passed() (n int) {
	for _, p := range l.Points {
		if p.Pass {
			n++
		}
	}
	return n
}

// points are the ten, in the order of the self-check that users of clusters do
// by hand.
var points = [...]struct {
	name string
	look func(*phase) (pass bool, why string)
}{
	{"dry run", dryRun},
	{"backend chosen", backendChosen},
	{"facts current", factsCurrent},
	{"smoke done", smokeDone},
	{"partition", partition},
	{"mail set", mailSet},
	{"no duplicate", noDuplicate},
	{"walltime", walltime},
	{"id logged", idLogged},
	{"failure plan", failurePlan},
}

// Of makes the list of every phase that starts something on Slurm, or would
// but for a gate. The plan was made from in; store is where its state lives,
// in words.
func Of(p *planner.Plan, in planner.Input, store string) []List {
	var out []List
	for _, pp := range p.Phases {
		f := look(p, in, pp, store)
		if f == nil {
			continue
		}
		l := List{Phase: pp.Phase.Name}
		for _, point := range points {
			pass, why := point.look(f)
			l.Points = append(l.Points, Point{point.name, pass, why})
		}
		out = append(out, l)
	}
	return out
}

// A phase is what the points look at.
type phase struct {
	*planner.PhasePlan
	plan  *planner.Plan
	in    planner.Input
	store string

	starts   int
	gated    int              // would start but for a gate, or for what they wait for
	places   []place.Decision // on Slurm, of jobs that start or are gated; each once
	requests []int            // of those jobs; each once
	nowhere  int              // jobs without a place
	lost     place.Decision   // of the first of these
}

// look gathers what a phase does on Slurm; nil when that is nothing.
func look(p *planner.Plan, in planner.Input, pp *planner.PhasePlan, store string) *phase {
	f := &phase{PhasePlan: pp, plan: p, in: in, store: store}
	placed, asked := map[uint16]bool{}, map[int]bool{}
	for i, k := range pp.Kind {
		starts := k.Starts()
		if !starts && k != planner.Blocked && (k != planner.HeldKind || pp.Hold == "") || pp.Place[i] == 0 {
			continue
		}
		d := pp.Decision(i)
		switch {
		case d.Backend == "" && wants(pp, d):
			if f.nowhere++; f.nowhere == 1 {
				f.lost = d
			}
		case !onSlurm(d.Backend):
			continue
		case !placed[pp.Place[i]]:
			placed[pp.Place[i]] = true
			f.places = append(f.places, d)
		}
		if starts {
			f.starts++
		} else {
			f.gated++
		}
		if r := pp.Phase.RequestOf(i, lang.Run); !asked[r] {
			asked[r] = true
			f.requests = append(f.requests, r)
		}
	}
	if len(f.places) == 0 && f.nowhere == 0 {
		return nil
	}
	return f
}

// wants reports whether jobs without a place were to go to Slurm.
func wants(pp *planner.PhasePlan, d place.Decision) bool {
	for _, c := range d.Candidates {
		if onSlurm(c.Backend) {
			return true
		}
	}
	for _, name := range pp.Phase.Candidates {
		if onSlurm(name) {
			return true
		}
	}
	return false
}

// onSlurm reports whether a backend, by its address, submits scripts.
func onSlurm(backend string) bool { return strings.HasPrefix(backend, "slurm.") }

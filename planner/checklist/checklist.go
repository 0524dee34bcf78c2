// Package checklist checks ten points of each phase before it goes to the queue
// of a scheduler. Each point passes or fails, with a reason from the plan. It
// decides nothing: a failed point stops nothing that the plan allows.
package checklist

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
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
	{"", partition}, // in the scheduler's word
	{"mail set", mailSet},
	{"no duplicate", noDuplicate},
	{"walltime", walltime},
	{"id logged", idLogged},
	{"failure plan", failurePlan},
}

// A Scheduler is a type of backend whose jobs wait in the queue of a scheduler.
type Scheduler interface {
	// Terms are the requests of jobs by the settings of a backend and their own
	// options.
	Terms(config, options json.RawMessage) offer.Terms
}

// Of makes the list of every phase that starts something in one of the queues,
// which are by type of backend, or would but for a gate. The plan was made from in;
// store is where its state lives, in words.
func Of(p *planner.Plan, in planner.Input, store string, queues map[string]Scheduler) []List {
	var out []List
	for _, pp := range p.Phases {
		f := look(p, in, pp, store, queues)
		if f == nil {
			continue
		}
		l := List{Phase: pp.Phase.Name}
		for _, point := range points {
			pass, why := point.look(f)
			l.Points = append(l.Points, Point{cmp.Or(point.name, f.words().Pool), pass, why})
		}
		out = append(out, l)
	}
	return out
}

// A phase has the facts that the points check.
type phase struct {
	*planner.PhasePlan
	plan   *planner.Plan
	in     planner.Input
	store  string
	queues map[string]Scheduler

	starts   int
	gated    int              // would start but for a gate, or for their inputs
	places   []place.Decision // in queues, of jobs that start or are gated; each once
	requests []int            // of those jobs; each once
	nowhere  int              // jobs without a place
	lost     place.Decision   // of the first of these
}

// look gathers a phase's facts in queues; nil when no job goes to one.
func look(p *planner.Plan, in planner.Input, pp *planner.PhasePlan, store string, queues map[string]Scheduler) *phase {
	f := &phase{PhasePlan: pp, plan: p, in: in, store: store, queues: queues}
	placed, asked := map[uint16]bool{}, map[int]bool{}
	for i, k := range pp.Kind {
		starts := k.Starts()
		if !starts && k != planner.Blocked && (k != planner.HeldKind || pp.Hold == "") || pp.Place[i] == 0 {
			continue
		}
		d := pp.Decision(i)
		switch {
		case d.Backend == "" && f.wants(d):
			if f.nowhere++; f.nowhere == 1 {
				f.lost = d
			}
		case !f.queued(d.Backend):
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

// wants reports whether jobs without a place were to go to a queue.
func (f *phase) wants(d place.Decision) bool {
	for _, c := range d.Candidates {
		if f.queued(c.Backend) {
			return true
		}
	}
	for _, name := range f.Phase.Candidates {
		if f.queued(name) {
			return true
		}
	}
	return false
}

// queued reports whether a backend, by its address, has a queue.
func (f *phase) queued(backend string) bool { return f.queues[typeOf(backend)] != nil }

// typeOf is the type of a backend by its address: "slurm" of "slurm.alpine".
func typeOf(backend string) string {
	typ, _, _ := strings.Cut(backend, ".")
	return typ
}

// words are the terms of the queue to which the phase goes, or was to go.
func (f *phase) words() offer.Terms { return f.queues[typeOf(f.backend())].Terms(nil, nil) }

// backend is the first one with a queue that the phase goes to, or was to.
func (f *phase) backend() string {
	for _, d := range f.places {
		return d.Backend
	}
	for _, c := range f.lost.Candidates {
		if f.queued(c.Backend) {
			return c.Backend
		}
	}
	for _, name := range f.Phase.Candidates {
		if f.queued(name) {
			return name
		}
	}
	return ""
}

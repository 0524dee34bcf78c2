package apply

import (
	"cmp"
	"slices"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/retry"
	"github.com/muster-run/muster/providers/offer"
)

// jobs are the phases of a run, with the state of every cell, and the attempts
// that backends have or may have. An attempt is in both tables or in none.
type jobs struct {
	*run
	phases   []*phase
	nodes    []*cells.Vertex // of the same
	byName   map[string]*phase
	attempts map[string]*attempt // by token
	byJob    map[string]*attempt // by state address
	hashes   *planner.Settler    // of jobs settled while the run lasts
}

// cellOf is the phase and the cell of a job's address; false where the campaign has none.
func (js *jobs) cellOf(address string) (p *phase, cell int, ok bool) {
	name, key, _ := addr.Split(address)
	if p = js.byName[name]; p == nil {
		return nil, 0, false
	}
	cell, ok = p.Index(key)
	return p, cell, ok
}

// grown is the request of launch n of an attempt, grown from that of an earlier one.
func (js *jobs) grown(f *attempt, s offer.Shape, from, n int) offer.Shape {
	rec := js.st.Jobs[f.Key]
	if f.p == nil || f.smoke || rec == nil {
		return s
	}
	return retry.Shape(s, f.p.Retry, rec.Attempts, from, n, f.pool())
}

// environment is the class that a cell's smoke represents: the backend that
// jobs like it go to first, and its GPU family.
func (js *jobs) environment(p *phase, cell int32) string {
	d := p.places.First(cell)
	if d == nil {
		d = p.Gate.Place
	}
	if d == nil {
		return ""
	}
	return js.backends.Environment(d.Backend, d.Pool, d.Shape)
}

// inOrder are the attempts that match, the last of the campaign first.
func (js *jobs) inOrder(match func(*attempt) bool) (out []*attempt) {
	for _, f := range js.attempts {
		if match(f) {
			out = append(out, f)
		}
	}
	ord := func(f *attempt) int {
		if f.p == nil {
			return -1
		}
		return f.p.Ord
	}
	slices.SortFunc(out, func(a, b *attempt) int {
		smoke := 0
		if a.smoke != b.smoke {
			if smoke = -1; a.smoke {
				smoke = 1
			}
		}
		return cmp.Or(cmp.Compare(ord(b), ord(a)), smoke, cmp.Compare(b.cell, a.cell), cmp.Compare(b.Key, a.Key))
	})
	return out
}

// metrics are the values read of a job that did well, and why others have none. The first of a
// phase without one is reported at once; status and report have all.
func (js *jobs) metrics(p *phase, address string, all map[string]offer.Metric) (values, unread map[string]string) {
	if len(all) > 0 {
		values = make(map[string]string, len(all))
	}
	for name, m := range all {
		if m.Error == "" {
			values[name] = m.Text
			continue
		}
		if unread == nil {
			unread = map[string]string{}
		}
		unread[name] = m.Error
		if p != nil && !p.unread[name] {
			if p.unread == nil {
				p.unread = map[string]bool{}
			}
			p.unread[name] = true
			js.Note(address, address+": metric "+name+" has no value: "+m.Error, true)
		}
	}
	return values, unread
}

// number decides which launch this is. It reports whether the attempts count
// from 1 again.
func (js *jobs) number(f *attempt) (fresh bool) {
	if f.max = 1; !f.smoke {
		f.max = f.most()
	}
	kind := f.p.plan.Does(f.cell)
	next := retry.Next(js.st.Jobs[f.Key], js.approval, f.p.resultText(f.cell, f.smoke), kind == planner.Run, kind == planner.Retry || ceilingCovers(js.st, js.approval, kind))
	if f.smoke {
		next = retry.Number{N: 1, Fresh: true}
	}
	f.N, f.First, f.max, f.plan = next.N, next.N, max(f.max, next.N), cmp.Or(next.Again, f.plan)
	return next.Fresh
}

package planner

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
)

// A lot is cells of one request that take about as long as one another.
type lot struct {
	request int
	each    time.Duration
	cells   []int32
}

// A spreader parts jobs among the hosts of backends, over all phases of one
// arrangement.
type spreader struct {
	placer
	phases
	load *hostLoad // nil until a phase has several hosts
}

// spread gives the cells of a phase whose backend has several hosts theirs, the
// longest first, each the one that would be through with it first.
func (sp *spreader) spread(w *draft, jobs []int) {
	over := make([][]host, len(jobs))
	some := false
	for r, n := range jobs {
		if n == 0 {
			continue
		}
		if beside := w.pp.Placements[r+1].Beside; len(beside) > 0 && len(w.pp.Placements)+len(beside) <= mostRequests {
			over[r] = sp.hostsOf(w, r+1, beside)
			some = true
		}
	}
	if !some {
		return
	}
	near := sp.nearness(w)
	for _, l := range sp.lots(w, over) {
		for _, i := range l.cells {
			h := sp.load.Choose(over[l.request], l.each, near, int(i))
			sp.load.Put(h, l.each)
			w.pp.Place[i] = h.Place
			near.Settle(int(i), h.Bit)
		}
	}
}

// hostsOf are the hosts of a request, with a placement each.
func (sp *spreader) hostsOf(w *draft, at int, beside []place.Decision) []host {
	if sp.load == nil {
		sp.load = sp.busyHosts()
	}
	out := make([]host, len(beside))
	for k, d := range beside {
		h := host{Backend: d.Backend, Pool: d.Pool, Place: uint16(at), Share: w.past.measurements().Pace(d.Backend, d.Pool) / sp.atOnce(d)}
		if s := sp.filesystems.Of(d.Backend, d.Pool); s.Pool != "" {
			h.Bit = sp.load.Bit(s.Files)
		}
		if d.Pool == w.pp.Placements[at].Pool {
			w.pp.Placements[at] = d
		} else {
			h.Place = uint16(len(w.pp.Placements))
			w.pp.Placements = append(w.pp.Placements, d)
		}
		sp.load.Begin(h, max(d.Wait, 0))
		out[k] = h
	}
	return out
}

// atOnce is how many jobs of a decision its pool runs at once.
func (sp *spreader) atOnce(d place.Decision) float64 {
	return float64(forecast.AtOnce(ceiling.Pool(sp.in.Pools, d.Backend, d.Pool), d))
}

// busyHosts begins with the jobs that run already.
func (sp *spreader) busyHosts() *hostLoad {
	out := newHostLoad()
	for _, w := range sp.drafts {
		for i, k := range w.pp.Kind {
			at := w.record(i).Last()
			if k != Continue && k != UnknownAt && k != Adopt || at == nil || at.Pool == "" {
				continue
			}
			shape := w.request(i).Shape
			d := place.Decision{Backend: at.Backend, Pool: at.Pool, Shape: shape}
			rest := w.past.measurements().Runtime(shape.Walltime).Expected
			out.Add(at.Backend, at.Pool, rest.Seconds()/sp.atOnce(d))
		}
	}
	return out
}

// lots are the starting cells of the requests that are spread, the longest
// first.
func (sp *spreader) lots(w *draft, over [][]host) []*lot {
	type key struct {
		request int
		bucket  history.Bucket
	}
	by := map[key]*lot{}
	model, fits := w.fit()
	var out []*lot
	for i, k := range w.pp.Kind {
		if !k.Starts() && k != Blocked {
			continue
		}
		at := key{request: w.p.RequestOf(i, lang.Run)}
		if over[at.request] == nil || int(w.pp.Place[i]) != at.request+1 {
			continue
		}
		ok := false
		if fits {
			at.bucket, ok = model.Bucket(i)
		}
		l := by[at]
		if l == nil {
			wall := w.reqs[at.request].Shape.Walltime
			r := w.past.measurements().Runtime(wall)
			if ok {
				r = model.Runtime(at.bucket, wall)
			}
			l = &lot{request: at.request, each: r.Expected}
			if l.each <= 0 {
				l.each = time.Hour // nobody knows: any time will do that is the same for all
			}
			by[at] = l
			out = append(out, l)
		}
		l.cells = append(l.cells, int32(i))
	}
	slices.SortStableFunc(out, func(a, b *lot) int { return cmp.Compare(b.each, a.each) })
	return out
}

// nearness is where the inputs of a phase's cells are.
func (sp *spreader) nearness(w *draft) *nearness {
	n := &nearness{}
	if !sp.load.Apart() {
		return n // all hosts see the same files
	}
	for _, in := range w.p.Inputs {
		from := sp.byPhase[in.From.Name].placed()
		have := make([]uint64, in.Groups())
		for g := range have {
			have[g] = sp.lieTogether(from, in, g)
		}
		n.Add(in, have)
	}
	return n
}

// lieTogether is the bit of the host that has most of a group's files.
func (sp *spreader) lieTogether(from *transfers.Phase, in *lang.Input, g int) uint64 {
	var best uint64
	most := 0
	var count [64]int
	for _, p := range in.Members(g) {
		s, o, _ := transfers.Location(sp.filesystems, from, p, in.Output)
		for _, s := range append(transfers.Copies(sp.filesystems, o), s) {
			if s.Pool == "" {
				continue
			}
			bit := sp.load.Bit(s.Files)
			if bit == 0 {
				continue
			}
			at := bits.TrailingZeros64(bit)
			if count[at]++; count[at] > most {
				best, most = bit, count[at]
			}
		}
	}
	return best
}

package planner

import (
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// forecastInput lays out what will run, for the forecast: 2 bytes a cell.
func (m *maker) forecastInput() forecast.Input {
	c := m.in.Campaign
	in := forecast.Input{Pools: m.in.Pools, CampaignCap: c.MaxParallel, BackendCaps: map[string]int{}, Driven: map[string]bool{}, Scopes: forecast.Scopes(c.Budgets), Moves: m.moves, HandOver: m.queues().HandOver()}
	for _, b := range c.Backends {
		in.BackendCaps[b.Address()] = b.MaxParallel
		can := m.in.Can[b.Type]
		in.Driven[b.Address()] = !can.HostQueue && !can.Arrays
	}
	for _, w := range m.works {
		in.Phases = append(in.Phases, m.forecastPhase(w))
	}
	if len(m.plan.Transfers) > 0 {
		m.carrier().Load(&in, m.plan.Transfers)
	}
	return in
}

// carrier tells how long files are on their way.
func (m *maker) carrier() *transfers.Carrier {
	return &transfers.Carrier{Spots: m.spots, Backends: m.in.Campaign.Backends, State: m.st, Phase: func(name string) *transfers.Phase { return m.byPhase[name].placed() }}
}

func (m *maker) forecastPhase(w *work) forecast.Phase {
	out := forecast.NewPhase(w.p)
	out.Of, out.Pilot = make([]uint16, len(w.pp.Kind)), w.pp.Pilot
	out.Groups = make([]forecast.Group, len(w.pp.Placements))
	for i, d := range w.pp.Placements {
		if d.Backend != "" {
			out.Groups[i] = m.forecastGroup(w, d)
		}
	}
	if len(out.Groups) == 0 {
		out.Groups = make([]forecast.Group, 1)
	}
	flights := map[flight]uint16{}
	for i, k := range w.pp.Kind {
		switch {
		case k.Starts():
			if w.pp.Decision(i).Backend != "" {
				out.Of[i] = w.pp.Place[i]
			} else {
				out.Of[i] = forecast.Never
			}
		case stuck(k):
			out.Of[i] = forecast.Never
		case k.Flies():
			out.Of[i] = m.inFlight(w, i, &out.Groups, flights)
		}
	}
	if model, ok := m.fit(w); ok {
		model.Split(&out, func(i int) bool {
			return w.pp.Kind[i].Starts() || out.Of[i] != forecast.Never && out.Groups[out.Of[i]].Queued
		})
	}
	if g := w.pp.Smoke; g != nil && w.pp.Hold == "" && len(g.Run) > 0 && g.Place.Backend != "" {
		out.Smoke, out.Parallel = g.Launches(), w.p.Smoke.Parallel
		out.SmokeJob = forecast.Group{Decision: g.Place, Dearer: m.dearer(g.Place, lang.Retry{}), Launches: 1, Runtime: evidence.Smoke(w.p.Name, m.st.Validations, g.Place.Shape.Walltime)}
	}
	return out
}

func (m *maker) forecastGroup(w *work, d place.Decision) forecast.Group {
	ev := m.evidence(w)
	turn := m.queues().Turn(d.Backend, d.Pool)
	again := max(d.Wait, 0)
	if past, ok := m.queues().WaitedAgain(d.Backend, d.Pool); ok {
		again = past
	}
	return forecast.Group{
		Launch: evidence.Launch(w.p, d), Again: again, Decision: d, Dearer: m.dearer(d, w.p.Retry), Runtime: ev.OnPool(d), Shapes: launches.Of(d, w.p.Retry, m.in.Pools),
		Launches: launches.MostOf(d, w.p.Retry, m.in.Pools) - max(d.Segments, 1) + 1, Failing: ev.Failing, Lost: ev.Lost, Delay: retryDelay(w.p, ev, d, turn.Each), Turn: turn.Each, TurnP90: turn.Late, WaitSpread: turn.Spread,
	}
}

// dearer are the other places that a decision may go to and that cost more.
func (m *maker) dearer(d place.Decision, r lang.Retry) (out []forecast.Dear) {
	for _, o := range launches.Dearer(d) {
		out = append(out, forecast.Dear{Decision: o, Shapes: launches.Of(o, r, m.in.Pools)})
	}
	return out
}

// retryDelay is what passes between two launches of a job beside the wait that
// every launch has: the delay that is asked for, or what was seen to pass. A
// scheduler may let a job that it requeues rest for minutes.
func retryDelay(p *lang.Phase, ev *evidence.Evidence, d place.Decision, turn time.Duration) time.Duration {
	return max(p.Retry.Delay, ev.Again-max(d.Wait, turn, 0))
}

// What a job has waited in a queue counts in steps, so that groups stay few, and
// of more than a week no more.
const (
	waitedStep = 30 * time.Minute
	mostWaited = 7 * 24 * time.Hour
)

// A flight is what jobs share that are with a backend and alike: where, what,
// and how long they run already, in twentieths of the walltime, so that groups
// stay few, or how long they have waited.
type flight struct {
	backend, pool string
	request       int
	usd, units    string // set aside for a launch, in money and in service units
	asked         [3]int // cores, GPUs and nodes, as it was launched
	step          int
	before        int    // how long it ran in launches that it goes on with, in the same steps
	waits         bool   // in a queue: it has not started
	unknown       bool   // its backend cannot be asked
	fresh, short  bool   // it has not started; a limit holds it
	apart         string // by what its work is another than that of the completed jobs; "" = it is not
}

// inFlight is the group of a job that is with a backend already.
func (m *maker) inFlight(w *work, i int, groups *[]forecast.Group, flights map[flight]uint16) uint16 {
	job := w.record(i)
	at := job.Last()
	if at == nil {
		if at = m.imported(w.p.Address(i)); at == nil {
			return 0
		}
	}
	r := w.p.RequestOf(i, lang.Run)
	limit := w.reqs[r].Shape.Walltime
	started := at.Started
	if o, ok := m.in.Observed.Observation(job); job != nil && ok && !o.Started.IsZero() {
		started = o.Started
	}
	was, recorded := place.Launched(at)
	f := flight{backend: at.Backend, pool: at.Pool, request: r, usd: at.Ceiling[place.USD], units: at.Ceiling[place.ServiceUnits], asked: [3]int{was.CPUs, was.GPUs, was.Nodes}, unknown: w.pp.Kind[i] == UnknownAt}
	if model, ok := m.fit(w); ok {
		f.apart = model.Apart(i)
	}
	step := limit / 20
	f.waits = started.IsZero() && !f.unknown
	f.fresh = f.waits && job != nil && (job.Status == state.Queued || job.Status == state.Submitting)
	f.short = f.fresh && job.Short != ""
	switch since := at.Queued; {
	case f.waits && !since.IsZero():
		f.step = int(min(max(m.in.Now.Sub(since), 0), mostWaited) / waitedStep)
	case !started.IsZero() && step > 0:
		f.step = int(min(max(m.in.Now.Sub(started), 0), limit) / step)
	}
	ran := time.Duration(0)
	if job != nil && step > 0 {
		f.before = int(min(evidence.Before(w.p, job), limit) / step)
		ran = time.Duration(f.before) * step
	}
	if g, ok := flights[f]; ok {
		return g
	}
	if len(*groups) >= forecast.Never-1 {
		return uint16(len(*groups) - 1)
	}
	d, known := m.placeInput(nil).At(at.Backend, at.Pool, m.placeGroup(w, w.reqs[r], 1))
	if charged, ok := d.Charged(at); ok && d.Backend != "" && !(f.fresh && known && charged.Yields(d, was, f.short)) {
		d, known = charged, true
	}
	if recorded { // what is asked for by now holds from its next launch on
		d.Shape.CPUs, d.Shape.GPUs, d.Shape.Nodes, d.Shape.Disk = was.CPUs, was.GPUs, was.Nodes, was.Disk
		d.Shape.Walltime = max(d.Shape.Walltime, was.Walltime)
	}
	g := m.forecastGroup(w, d)
	if f.apart != "" {
		g.Runtime = forecast.Incomparable(w.p.Name, f.apart, limit)
	}
	g.Runtime = g.Runtime.After(ran)
	if !known && (at.Ceiling[place.USD] != "" || !m.rents(at.Backend)) {
		g.Aside = at.Ceiling
	} else if !d.Price.Known || d.Price.UnknownSU {
		there := d
		there.Backend, there.Pool = at.Backend, at.Pool
		m.unpriced = append(m.unpriced, there)
	}
	if f.unknown { // nobody can say how far it is: it counts at its ceiling
		g.Runtime = forecast.Whole(limit)
	}
	if f.waits && d.Backend != "" {
		g = g.StillQueued(time.Duration(f.step) * waitedStep)
	} else {
		g.InFlight = true
		if !f.waits {
			g.Running = time.Duration(f.step) * step
		}
	}
	flights[f] = uint16(len(*groups))
	*groups = append(*groups, g)
	return flights[f]
}

// today is how a cell's job would be charged on a pool if it were submitted now.
func (m *maker) today(phase string, cell int, backend, pool string) (d place.Decision, ok bool) {
	w := m.byPhase[phase]
	if w == nil {
		return d, false
	}
	return m.placeInput(nil).At(backend, pool, m.placeGroup(w, w.reqs[w.p.RequestOf(cell, lang.Run)], 1))
}

// rises are the pools that billed more than they quote.
func (m *maker) rises() map[place.PoolAt]place.Rise {
	if m.risen == nil {
		m.risen = place.Rises(m.st)
	}
	return m.risen
}

// imported is the attempt that the adoption of a job will be, nil where none is
// adopted under an address.
func (m *maker) imported(address string) *state.Attempt {
	for _, im := range m.in.Campaign.Imports {
		if im.To == address {
			o := m.in.Observed.Imported[address]
			return &state.Attempt{N: 1, Backend: strings.TrimPrefix(im.Backend, "backend."), Pool: o.Pool, Started: o.Started}
		}
	}
	return nil
}

// groupJobs counts what starts by placement; a blocked job costs nothing yet.
func (w *work) groupJobs() []int {
	out := make([]int, len(w.pp.Placements))
	for i, k := range w.pp.Kind {
		if at := int(w.pp.Place[i]); k.Starts() && at < len(out) {
			out[at]++
		}
	}
	return out
}

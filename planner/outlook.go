package planner

import (
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/state"
)

// A forecaster lays out the jobs to run, for the forecast: 2 bytes a cell.
type forecaster struct {
	placer
	phases
	transfers []Transfer
	moves     []forecast.Move // billed transfers
}

// assumed is the input of the forecast. It returns the places of jobs in flight with an
// unknown charge, too.
func (fc *forecaster) assumed() (in forecast.Input, unpriced []place.Decision) {
	c := fc.in.Campaign
	in = forecast.Input{Pools: fc.in.Pools, CampaignCap: c.MaxParallel, BackendCaps: map[string]int{}, Driven: map[string]bool{}, Shared: map[string]bool{}, Scopes: forecast.Scopes(c.Budgets), Moves: fc.moves, SubmitDelay: fc.queues.SubmitDelay()}
	for _, b := range c.Backends {
		in.BackendCaps[b.Address()] = b.MaxParallel
		can := fc.in.Can[b.Type]
		in.Driven[b.Address()], in.Shared[b.Address()] = !can.HostQueue && !can.Arrays, can.Rents
	}
	for _, w := range fc.drafts {
		l := layout{forecaster: fc, w: w, attempts: map[attemptGroup]uint16{}}
		in.Phases = append(in.Phases, l.phase())
		unpriced = append(unpriced, l.unpriced...)
	}
	if len(fc.transfers) > 0 {
		fc.carrier().Load(&in, fc.transfers)
	}
	return in, unpriced
}

// carrier tells how long files are on their way.
func (fc *forecaster) carrier() *transfers.Carrier {
	return &transfers.Carrier{Filesystems: fc.filesystems, Backends: fc.in.Campaign.Backends, State: fc.st, Phase: func(name string) *transfers.Phase { return fc.byPhase[name].placed() }}
}

// A layout is one phase in a forecast.
type layout struct {
	*forecaster
	w        *draft
	model    *history.Fitted // of its runtimes, nil where none fits
	out      forecast.Phase
	attempts map[attemptGroup]uint16 // their groups
	unpriced []place.Decision
}

func (l *layout) phase() forecast.Phase {
	w, out := l.w, &l.out
	if model, ok := w.fit(); ok {
		l.model = model
	}
	*out = forecast.NewPhase(w.p)
	out.Of, out.Pilot = make([]uint16, len(w.pp.Kind)), w.pp.Pilot
	out.Groups = make([]forecast.Group, max(len(w.pp.Placements), 1))
	for i, d := range w.pp.Placements {
		if d.Backend != "" {
			out.Groups[i] = l.group(w, d)
		}
	}
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
		case k.InFlight():
			out.Of[i] = l.inFlight(i)
		}
	}
	if l.model != nil {
		l.model.Split(out, func(i int) bool {
			return w.pp.Kind[i].Starts() || out.Of[i] != forecast.Never && out.Groups[out.Of[i]].Queued
		})
	}
	if g := w.pp.Smoke; g != nil && w.pp.Hold == "" && len(g.Run) > 0 && g.Place.Backend != "" {
		out.Smoke, out.Parallel = g.Launches(), w.p.Smoke.Parallel
		out.SmokeJob = forecast.Group{Decision: g.Place, Dearer: l.dearer(g.Place, lang.Retry{}), Launches: 1, Runtime: history.Smoke(w.p, l.st.Validations, g.Place.Shape.Walltime)}
	}
	return *out
}

func (fc *forecaster) group(w *draft, d place.Decision) forecast.Group {
	ev := w.past.measurements()
	turn := fc.queues.Turn(d.Backend, d.Pool)
	again := max(d.Wait, 0)
	if past, ok := fc.queues.WaitedAgain(d.Backend, d.Pool); ok {
		again = past
	}
	return forecast.Group{
		Launch: history.Launch(w.p, d), Again: again, Decision: d, Dearer: fc.dearer(d, w.p.Retry), Runtime: ev.OnPool(d), Shapes: ceiling.Of(d, w.p.Retry, fc.in.Pools),
		Launches: ceiling.MostOf(d, w.p.Retry, fc.in.Pools) - max(d.Segments, 1) + 1, Failing: ev.Failing, Lost: ev.Lost, Delay: retryDelay(w.p, ev, d, turn.Each), Turn: turn.Each, TurnP90: turn.Late, WaitSpread: turn.Spread,
	}
}

// dearer are the other places that a decision may go to and that cost more.
func (fc *forecaster) dearer(d place.Decision, r lang.Retry) (out []forecast.Dear) {
	for _, o := range ceiling.Dearer(d) {
		out = append(out, forecast.Dear{Decision: o, Shapes: ceiling.Of(o, r, fc.in.Pools)})
	}
	return out
}

// retryDelay is the time between two launches of a job beside the wait of every launch: the
// requested delay, or the measured one. A scheduler may let a job that it requeues rest for
// minutes.
func retryDelay(p *lang.Phase, ev *history.Measurements, d place.Decision, turn time.Duration) time.Duration {
	return max(p.Retry.Delay, ev.Again-max(d.Wait, turn, 0))
}

// The wait of a job in a queue counts in steps, so that groups stay few, and for
// a week at most.
const (
	waitedStep = 30 * time.Minute
	mostWaited = 7 * 24 * time.Hour
)

// stepsOfAttempt are the steps of a walltime in which running attempts differ.
const stepsOfAttempt = 20

// An attemptGroup is the key of alike attempts that a backend has: where, what,
// and how long they have run, in steps of the walltime, so that groups
// stay few, or how long they have waited.
type attemptGroup struct {
	backend, pool string
	request       int
	usd, units    string // set aside for a launch, in money and in service units
	asked         [5]int // cores, GPUs, nodes and the jobs that share them, as it was launched
	step          int
	before        int    // how long it ran in launches that it goes on with, in the same steps
	waits         bool   // in a queue: it has not started
	unknown       bool   // its backend cannot be asked
	fresh, short  bool   // it has not started; a limit holds it
	apart         string // the difference between its work and that of the completed jobs; "" = none
}

// inFlight is the group of a job that is with a backend already.
func (l *layout) inFlight(i int) uint16 {
	w, groups := l.w, &l.out.Groups
	job := w.record(i)
	at := job.Last()
	if at == nil {
		if at = l.imported(w.p.Address(i)); at == nil {
			return 0
		}
	}
	f := l.attemptGroup(i, job, at)
	if g, ok := l.attempts[f]; ok {
		return g
	}
	if len(*groups) >= forecast.Never-1 {
		return uint16(len(*groups) - 1)
	}
	l.attempts[f] = uint16(len(*groups))
	*groups = append(*groups, l.attempting(f, at))
	return l.attempts[f]
}

// attemptGroup is the key of a job's attempt.
func (l *layout) attemptGroup(i int, job *state.Job, at *state.Attempt) attemptGroup {
	w := l.w
	r := w.p.RequestOf(i, lang.Run)
	started := at.Started
	if o, ok := l.in.Observed.Observation(job); job != nil && ok && !o.Started.IsZero() {
		started = o.Started
	}
	was, _ := place.Launched(at)
	f := attemptGroup{backend: at.Backend, pool: at.Pool, request: r, usd: at.Ceiling[place.USD], units: at.Ceiling[place.ServiceUnits], asked: [5]int{was.CPUs, was.GPUs, was.Nodes, was.Pack, was.Slots}, unknown: w.pp.Kind[i] == UnknownAt}
	if l.model != nil {
		f.apart = l.model.Apart(i)
	}
	limit := w.reqs[r].Shape.Walltime
	step := limit / stepsOfAttempt
	f.waits = started.IsZero() && !f.unknown
	f.fresh = f.waits && job != nil && (job.Status == state.Queued || job.Status == state.Submitting)
	f.short = f.fresh && job.Short != ""
	switch since := at.Queued; {
	case f.waits && !since.IsZero():
		f.step = int(min(max(l.in.Now.Sub(since), 0), mostWaited) / waitedStep)
	case !started.IsZero() && step > 0:
		f.step = int(min(max(l.in.Now.Sub(started), 0), limit) / step)
	}
	if job != nil && step > 0 {
		f.before = int(min(history.Before(w.p, job), limit) / step)
	}
	return f
}

// attempting is the group of attempts of a key, of which at is one.
func (l *layout) attempting(f attemptGroup, at *state.Attempt) forecast.Group {
	w := l.w
	limit := w.reqs[f.request].Shape.Walltime
	step := limit / stepsOfAttempt
	was, recorded := place.Launched(at)
	d, known := l.input(nil).At(at.Backend, at.Pool, w.group(w.reqs[f.request], 1))
	if charged, ok := d.Charged(at); ok && d.Backend != "" && !(f.fresh && known && charged.Yields(d, was, f.short)) {
		d, known = charged, true
	}
	if recorded { // the present request holds from its next launch on
		d.Shape.CPUs, d.Shape.GPUs, d.Shape.Nodes, d.Shape.Pack, d.Shape.Slots, d.Shape.Disk = was.CPUs, was.GPUs, was.Nodes, was.Pack, was.Slots, was.Disk
		d.Shape.Walltime = max(d.Shape.Walltime, was.Walltime)
	}
	g := l.group(w, w.following(d, f.request))
	if f.apart != "" {
		g.Runtime = forecast.Incomparable(w.p.Name, f.apart, limit)
	}
	g.Runtime = g.Runtime.After(time.Duration(f.before) * step)
	if !known && (at.Ceiling[place.USD] != "" || !l.rents(at.Backend)) {
		g.Aside = at.Ceiling
	} else if !d.Price.Known || d.Price.UnknownSU {
		there := d
		there.Backend, there.Pool = at.Backend, at.Pool
		l.unpriced = append(l.unpriced, there)
	}
	if f.unknown { // nobody can say how far it is: it counts at its ceiling
		g.Runtime = forecast.Whole(limit)
	}
	if f.waits && d.Backend != "" {
		return g.StillQueued(time.Duration(f.step) * waitedStep)
	}
	g.InFlight = true
	if !f.waits {
		g.Running = time.Duration(f.step) * step
	}
	return g
}

// today is how a cell's job would be charged on a pool if it were submitted now.
func (fc *forecaster) today(phase string, cell int, backend, pool string) (d place.Decision, ok bool) {
	w := fc.byPhase[phase]
	if w == nil {
		return d, false
	}
	return fc.input(nil).At(backend, pool, w.group(w.request(cell), 1))
}

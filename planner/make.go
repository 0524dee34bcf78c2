package planner

import (
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/evidence"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/holds"
	"github.com/muster-run/muster/planner/hosts"
	"github.com/muster-run/muster/planner/overflow"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/plan"
	"github.com/muster-run/muster/planner/queues"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// A maker is one plan in the making. Its steps run in order, each over whole
// phases; nothing in it outlives the plan but the columns.
type maker struct {
	in      Input
	st      *state.State
	plan    *Plan
	diags   diag.List
	works   []*work
	byPhase map[string]*work

	hash        *result.Hasher
	older       map[int]*result.Hasher // for records made under earlier schemes
	seenSchemes map[int]bool           // of the records, other than the current one
	loose       []*state.Job           // records of jobs that are not wanted, by address
	ended       []*state.Job           // those of them that a destroy leaves alone
	smokes      map[string]*state.Job
	past        *queues.Past // nil until asked for
	holds       []holds.Hold
	digest      map[*lang.Input][]string // bytes read by each group, by input
	urgent      bool
	overflows   bool             // phases that may overflow do
	spills      []overflow.Spill // what did
	moves       []forecast.Move  // what is billed of transfers
	paid        map[way]bool     // files that are among them
	unpriced    []place.Decision // of what is in flight: it is not known what is charged there
	spots       *hosts.Spots
	load        *hosts.Load                 // what is spread over hosts, in one arrangement
	verdicts    map[string]state.Validation // by fingerprint
	risen       map[place.PoolAt]place.Rise // nil until asked for
}

// A work is one phase in the making.
type work struct {
	p  *lang.Phase
	pp *PhasePlan

	reqs      []lang.Request // distinct requests of runs
	rec       []*state.Job   // by cell; nil as a whole when there is none
	from      map[int]string // former address of moved records
	forgotten map[int]*state.Job
	restored  map[int]*Restorable // results that were replaced and are there
	same      map[int]Hash        // computed hash of accepted and ignored changes
	older     map[int][]Hash

	selected       []bool // nil: every cell
	rerun          []bool // nil: none
	accept         []bool
	first          []Kind // as diffed, before gates and blocks
	ev             *evidence.Evidence
	nowhere        bool // a request of it fits no place
	history        *evidence.Past
	model          *evidence.Fitted // of its runtimes, where fits
	fitTried, fits bool
	gated          []int // cells that a gate or a block stopped, and what they said before
	before         map[int]Detail
	jobs           []int // that start, by request
	propagates     bool  // told that its jobs submit jobs
}

// Make plans. The list holds what the person should know; with errors in it
// the plan is for showing only.
func Make(in Input) (*Plan, diag.List) {
	m := newMaker(in)
	m.indexRecords()
	m.selectCells()
	m.hashPhases()
	m.inferMoves()
	switch {
	case in.Options.RefreshOnly:
		m.refreshOnly()
		m.headBackends()
		m.seal()
		return m.plan, m.plan.Diags
	case in.Options.Destroy:
		m.destroyAll()
		m.deletions()
	default:
		m.restorable()
		m.diffPhases()
		m.importJobs()
		m.rerunMissing()
		m.touched()
		m.narrow()
		m.protect()
		m.arrange()
		m.foreign()
	}
	m.looseRows()
	m.rentals()
	m.lookFirst()
	m.preflight()
	m.budgets()
	m.finish()
	return m.plan, m.plan.Diags
}

func newMaker(in Input) *maker {
	st := in.State
	if st == nil {
		st = &state.State{}
	}
	m := &maker{in: in, st: st, byPhase: map[string]*work{}, older: map[int]*result.Hasher{}, seenSchemes: map[int]bool{}, smokes: map[string]*state.Job{}, digest: map[*lang.Input][]string{}}
	m.spots = hosts.NewSpots(in.Pools, in.Campaign.Backends)
	m.hash = result.New(Scheme, in.Observed.Sources).Read(in.Observed.Contents)
	m.plan = &Plan{
		Campaign: in.Campaign.Name, About: in.Campaign.Description, Digest: in.Campaign.Digest, Lineage: st.Lineage, Serial: st.Serial, Now: in.Now,
		Reason: in.Options.Reason, Destroy: in.Options.Destroy, RefreshOnly: in.Options.RefreshOnly,
	}
	m.plan.Keep(plan.Live{Hash: m.hash})
	for _, p := range in.Campaign.Phases {
		w := &work{p: p, reqs: p.Requests(lang.Run), pp: &PhasePlan{Phase: p, Details: map[int]Detail{}}}
		n := p.Len()
		w.pp.Kind, w.pp.Place = make([]Kind, n), make([]uint16, n)
		if p.Source != nil {
			w.pp.Source = in.Observed.Sources[p.Source.Key()]
		}
		w.pp.Raw = in.Observed.Contents.Files(p)
		w.pp.Images = in.Observed.Contents.Digests(p, result.Image)
		w.pp.Explain(func(cell int) Detail { return m.explainKept(w, cell) })
		m.works = append(m.works, w)
		m.byPhase[p.Name] = w
		m.plan.Phases = append(m.plan.Phases, w.pp)
	}
	m.holds, m.diags = holds.Of(st)
	return m
}

// record is a cell's record, or nil.
func (w *work) record(i int) *state.Job {
	if w.rec == nil {
		return nil
	}
	return w.rec[i]
}

func (w *work) is(column []bool, i int) bool { return column != nil && column[i] }

// chosen reports whether -target leaves a cell in the plan.
func (w *work) chosen(i int) bool { return w.selected == nil || w.selected[i] }

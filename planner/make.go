package planner

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/history"
)

// Make plans. The list has the diagnostics for the user; with errors in it the
// plan is for showing only.
//
// Its steps run in order, each over whole phases. A step takes the facts, the
// phases, and, as its other parameters, results of earlier steps. It fills columns
// of the phases, which type work lists by step, and returns the rest.
func Make(in Input) (*Plan, diag.List) {
	j := join(in)
	fs, ps := j.facts, j.phases
	p := j.emptyPlan()
	var ar arrangement // of nothing, where nothing starts
	switch {
	case in.Options.RefreshOnly:
		rows, told := refreshOnly(fs, ps, j.loose)
		views, old := headBackends(fs, ps, ps.backendsInUse(nil))
		p.Loose, p.Backends = rows, views
		tell(p, report{diags: append(told, old...)})
		return seal(p, fs)
	case in.Options.Destroy:
		active, ended := destroyAll(fs, ps, j.loose)
		j.loose = active
		rows, told := deletions(fs, ps, ended)
		p.Deletions, p.Counts.Delete = rows, len(rows)
		tell(p, report{diags: told})
	default:
		told, same := want(j.differ)
		p.Touched = same
		tell(p, told)
		p.Counts.Reread = reread(fs.st, p.Phases)
		ar = arrange(fs, ps, j.hashes.now, j.smokes, j.queues)
		p.Transfers = ar.transfers
		p.Keep(ar.live(p, j.hashes.now))
		tell(p, report{notes: j.fitting.notes, diags: slices.Concat(ar.diags, foreignFiles(fs, ps), keptFiles(fs, ps))})
	}
	used := ps.backendsInUse(p.Transfers)
	rows, kept, wrong := rentals(fs, used)
	p.Loose = append(looseRows(fs, ps, j.records), rows...)
	tell(p, report{notes: kept, diags: append(wrong, lookFirst(fs, p.Deletions, p.Loose)...)})
	tell(p, preflight(fs, ps, used))
	money := checkBudgets(fs, ps, ar.forecast, unknowns{ps, in.Campaign.Backends, p.Unbounded, ar.moves, ar.unpriced})
	p.Forecast, p.Budgets, p.Ceiling = money.forecast, money.checks, money.ceiling
	tell(p, money.report)
	tell(p, report{diags: append(overdrawn(fs, ps, p.Forecast), runsOut(fs, ps, p.Forecast)...)})
	look, told := secondLook(fs, ps, p.Forecast)
	p.Second = look
	tell(p, told)
	tell(p, compareRequests(fs, ps))
	views, old := headBackends(fs, ps, used)
	n := notes(fs, ps, decided{used, ar.transfers, ar.spills, p.Forecast, p.Budgets, j.queues})
	p.Backends, p.Dangers, p.Unattended = views, n.dangers, n.unattended
	tell(p, report{notes: n.notes, diags: old})
	return seal(p, fs)
}

// A report is the messages of a step, beside its decisions.
type report struct {
	notes []string  // the plan's assumptions
	asks  []string  // why a flag does not approve the plan
	diags diag.List // diagnostics for the user; errors keep the plan from being applied
}

func (s *report) add(more report) {
	s.notes, s.asks = append(s.notes, more.notes...), append(s.asks, more.asks...)
	s.diags.Append(more.diags...)
}

func tell(p *Plan, s report) {
	p.Notes, p.Asks = append(p.Notes, s.notes...), append(p.Asks, s.asks...)
	p.Diags.Append(s.diags...)
}

// Joined are the known facts of a campaign before any decision: facts, and jobs beside their
// records.
type joined struct {
	*facts
	phases
	records
	hashes  *hashes
	differ  *differ
	queues  *history.Queues // the evidence of earlier jobs about queues
	fitting *fitting        // of runtimes, in phases' pasts
	diags   diag.List
}

func join(in Input) joined {
	fs, diags := newFacts(in)
	j := joined{facts: fs, phases: newPhases(in), diags: diags}
	j.records, diags = recordsOf(fs, j.phases)
	j.diags.Append(diags...)
	j.diags.Append(selectCells(fs, j.phases)...)
	j.hashes, diags = hashPhases(fs, j.phases, j.schemes)
	j.diags.Append(diags...)
	j.differ = newDiffer(j.hashes, j.phases)
	j.loose = inferMoves(fs, j.phases, j.hashes, j.loose)
	j.queues, j.fitting = pastOfQueues(fs, j.phases, j.smokes), rememberPast(fs.st, j.phases)
	return j
}

// emptyPlan is a plan that does nothing yet.
func (j *joined) emptyPlan() *Plan {
	c, o := j.in.Campaign, j.in.Options
	p := &Plan{
		Campaign: c.Name, About: c.Description, Digest: c.Digest, Lineage: j.st.Lineage, Serial: j.st.Serial, Now: j.in.Now,
		Reason: o.Reason, Destroy: o.Destroy, RefreshOnly: o.RefreshOnly, Counts: j.counted(), Diags: j.diags,
	}
	df := j.differ
	for _, w := range j.drafts {
		p.Phases = append(p.Phases, w.pp)
		w.pp.Explain(func(cell int) Detail { return df.explain(w, cell) })
	}
	p.Keep(Live{Hash: j.hashes.now})
	return p
}

// seal closes a plan.
func seal(p *Plan, fs *facts) (*Plan, diag.List) {
	p.Notes, p.Diags = dedupe(p.Notes), p.Diags.Once()
	p.Seal()
	if most, n := fs.in.Campaign.Policy.MaxCancel, p.Counts.Cancel; most > 0 && n > most {
		p.Asks = append(p.Asks, fmt.Sprintf("it cancels %d jobs, and policy max_cancel is %d", n, most))
	}
	return p, p.Diags
}

package planner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/fit"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/state"
)

// A past is the evidence of one phase's records about its jobs, worked out
// once and only when asked.
type past struct {
	phase       *lang.Phase
	records     []*state.Job
	definitions map[string]json.RawMessage
	validations map[string]state.Validation
	fitting     *fitting // of all phases

	gathered *history.Past
	ev       *history.Measurements
	fitted   *history.Fitted // nil until asked for
	lawful   bool            // it tells a runtime
}

// A fitting bounds the work of fitting all phases of one plan.
type fitting struct {
	budget fit.Budget
	notes  []string // of phases that too much work left without a model
}

// rememberPast lets every phase be asked of its past, from when it is decided
// which record is whose.
func rememberPast(st *state.State, ps phases) *fitting {
	f := &fitting{}
	for _, w := range ps.drafts {
		w.past = &past{phase: w.p, records: w.rec, definitions: st.Definitions, validations: st.Validations, fitting: f}
	}
	return f
}

// history is the completed jobs of a phase.
func (p *past) history() *history.Past {
	if p.gathered == nil {
		p.gathered = history.PastOf(p.phase, p.records, p.definitions)
	}
	return p.gathered
}

func (p *past) measurements() *history.Measurements {
	if p.ev == nil {
		p.ev = p.history().Measurements(p.validations)
	}
	return p.ev
}

// fit is the model of a phase's runtimes; false where none tells them.
func (p *past) fit() (*history.Fitted, bool) {
	if p.fitted == nil {
		p.fitted, p.lawful = p.history().Fit(&p.fitting.budget)
		if p.fitted.Cut() {
			p.fitting.notes = append(p.fitting.notes, fmt.Sprintf("phase.%s: its runtimes are taken as their mean, because fitting those of all phases over their axes takes too much work.", p.phase.Name))
		}
	}
	return p.fitted, p.lawful
}

// fit is the model of a phase with a job that runs or is about to.
func (w *draft) fit() (*history.Fitted, bool) {
	if !w.starting() && !slices.ContainsFunc(w.pp.Kind, Kind.InFlight) {
		return nil, false
	}
	return w.past.fit()
}

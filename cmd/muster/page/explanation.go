package page

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/explain"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// An Explanation is the JSON of `muster explain -json`.
type Explanation struct {
	FormatVersion string           `json:"format_version"`
	Address       string           `json:"address"`
	Name          string           `json:"name,omitempty"`
	Action        string           `json:"action"` // as in the plan's JSON
	Reasons       []string         `json:"reasons"`
	Text          string           `json:"text,omitempty"`
	Without       []planner.Lack   `json:"without,omitempty"` // producers that the recorded job went on without
	Adopted       *Adoption        `json:"adopted,omitempty"` // its result is files that somebody had adopted
	Result        string           `json:"result"`            // hash of the parts that determine the result
	Request       string           `json:"request"`
	Fields        []explainField   `json:"fields"` // the parts that determine the result, as written
	Backend       string           `json:"backend,omitempty"`
	Pool          string           `json:"pool,omitempty"`
	Why           string           `json:"why,omitempty"`
	Fallback      string           `json:"fallback,omitempty"`
	Candidates    []explainPlaces  `json:"candidates"`
	Ceiling       state.Amounts    `json:"ceiling,omitempty"`
	Priced        bool             `json:"priced"`
	Guessed       []string         `json:"estimated,omitempty"` // units of the ceiling that stand on a price that is a guess
	Launches      int              `json:"launches"`            // at most
	Waits         []explainWaiting `json:"waits"`
	Notes         []state.Note     `json:"notes,omitempty"`
	Barred        []string         `json:"barred,omitempty"` // what else keeps it from starting
	ReadBy        []string         `json:"read_by,omitempty"`
	Smoke         string           `json:"smoke,omitempty"`
	Pilot         bool             `json:"pilot,omitempty"`
	Protected     bool             `json:"protected,omitempty"`
}

type explainField struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type explainPlaces struct {
	Backend string            `json:"backend"`
	Pool    string            `json:"pool,omitempty"`
	Fits    bool              `json:"fits"`
	Won     bool              `json:"won"`
	Why     string            `json:"why,omitempty"`
	Would   string            `json:"would,omitempty"`
	Cost    map[string]string `json:"cost,omitempty"`
	Unknown []string          `json:"unknown,omitempty"`   // units in which its price is not known
	Guessed []string          `json:"estimated,omitempty"` // units of cost that stand on a price that is a guess
	Wait    float64           `json:"wait_seconds"`        // -1 = unknown
}

type explainWaiting struct {
	On    string `json:"on"`
	Jobs  int    `json:"jobs"`
	Open  int    `json:"open"`
	First string `json:"first,omitempty"` // of the open ones

	Required *int `json:"required,omitempty"` // how many must be done; absent: all
}

func ExplanationOf(x explain.Job) Explanation {
	d := x.Decision
	r := Explanation{
		FormatVersion: FormatVersion, Address: x.Address, Name: x.Label, Action: x.Kind.String(), Reasons: []string{}, Text: strings.TrimSpace(x.Detail.Text),
		Result: x.Result.String(), Request: x.Request.String(), Fields: []explainField{},
		Backend: d.Backend, Pool: d.Pool, Why: d.Why, Fallback: d.Fallback, Candidates: []explainPlaces{},
		Ceiling: x.Ceiling, Priced: x.Priced.All(), Guessed: guessedCeiling(x), Launches: max(x.Attempts, 1), Waits: []explainWaiting{}, Barred: x.Barred, Notes: x.Notes, ReadBy: x.Unlocks,
		Smoke: x.Smoke, Without: x.Without, Pilot: x.Pilot, Protected: x.Protected,
	}
	if !x.Goes {
		r.Adopted = adoptionOf(x.Detail.State)
	}
	for _, reason := range x.Detail.Reasons {
		r.Reasons = append(r.Reasons, reason.Text())
	}
	for _, f := range x.Fields {
		r.Fields = append(r.Fields, explainField{f.Name, f.Text})
	}
	for _, c := range d.Candidates {
		wait := -1.0
		if c.Wait >= 0 {
			wait = c.Wait.Seconds()
		}
		r.Candidates = append(r.Candidates, explainPlaces{c.Backend, c.Pool, c.Fits, c.Won, c.Why, c.Would, c.Cost, c.Unknown(d.Shape), guessed(c.Price, c.Cost), wait})
	}
	for _, w := range x.Waits {
		waiting := explainWaiting{On: w.On, Jobs: w.Jobs, Open: w.Open, First: w.Address}
		if w.Required < w.Jobs {
			waiting.Required = &w.Required
		}
		r.Waits = append(r.Waits, waiting)
	}
	return r
}

// guessed are the units of some amounts that stand on a price that is an estimate.
func guessed(p offer.Price, amounts map[string]string) (units []string) {
	for _, unit := range []string{place.USD, place.ServiceUnits} {
		if place.Guessed(p, unit) && amount.Of(amounts[unit]).IsPositive() {
			units = append(units, unit)
		}
	}
	return units
}

// guessedCeiling are those of the most that a job may take, wherever it goes.
func guessedCeiling(x explain.Job) (units []string) {
	for _, c := range x.Decision.Candidates {
		if !c.Fits {
			continue
		}
		for _, unit := range guessed(c.Price, x.Ceiling) {
			if !slices.Contains(units, unit) {
				units = append(units, unit)
			}
		}
	}
	return units
}

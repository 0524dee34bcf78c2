package apply

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/state"
)

// A FinishedError says that a plan was applied to its end before.
type FinishedError struct {
	Plan string
	At   time.Time
	Who  string
}

func (e *FinishedError) Error() string {
	return fmt.Sprintf("this plan was applied on %s by %s; plan again to see whether there is anything left to do", e.At.UTC().Format("2006-01-02 15:04 MST"), e.Who)
}

// approve records what the campaign is applied with, and the approval as
// begun. A begun plan goes on; a finished one is refused; -once goes on under
// the approval that it finds.
func (e *engine) approve() error {
	e.begun()
	if e.Mode == Once {
		e.continueApproval()
		return e.err
	}
	e.approval = e.Plan.ID
	for i := range e.st.Approvals {
		a := &e.st.Approvals[i]
		if a.Plan != e.Plan.ID {
			continue
		}
		if !a.Finished.IsZero() {
			return &FinishedError{Plan: a.Plan, At: a.Finished, Who: a.Who}
		}
		return e.err // resumed
	}
	e.emit(state.Approved{Approval: state.Approval{Plan: e.Plan.ID, Digest: e.Plan.Digest, Ceiling: e.Plan.Ceiling,
		Who: e.Who, Host: e.Host, Begun: e.Clock(), Saved: e.Saved}})
	return e.err
}

// begun notes the campaign, its variables and what is needed to reach its
// backends when they have left it. Nothing is noted that is known already.
func (e *engine) begun() {
	ev := state.Began{Campaign: e.Campaign.Name, Muster: e.Muster, Backends: map[string]state.Backend{}, At: e.Clock()}
	if e.st.Lineage == "" {
		if ev.Lineage = e.Plan.Lineage; ev.Lineage == "" {
			ev.Lineage = mint()
		}
	}
	lineage := e.st.Lineage + ev.Lineage
	if ev.Variables = e.Variables; ev.Variables == nil {
		ev.Variables = variables(e.Campaign, lineage)
	}
	for _, b := range e.Campaign.Backends {
		conf := site.Kept(e.Campaign, b, lineage)
		text, err := json.Marshal(conf)
		if err != nil {
			continue
		}
		ev.Backends[b.Address()] = state.Backend{Type: b.Type, Config: text}
	}
	ev.Protected, ev.Unprotected = e.Plan.Protected(), e.Plan.Unprotected()
	e.emit(ev)
}

// variables are the campaign's values; of a sensitive one a digest keyed by
// the lineage is kept, to see that it changed.
func variables(c *lang.Campaign, key string) map[string]state.Variable {
	out := map[string]state.Variable{}
	for _, v := range c.Variables {
		switch {
		case v.Sensitive && v.Digest != "":
			h := hmac.New(sha256.New, []byte(key))
			h.Write([]byte(v.Digest))
			out[v.Name] = state.Variable{Digest: hex.EncodeToString(h.Sum(nil)[:16])}
		case v.Sensitive:
		case v.Text != "":
			out[v.Name] = state.Variable{Value: json.RawMessage(v.Text)}
		}
	}
	return out
}

// conclude ends the approval when the plan has come to its end.
func (e *engine) conclude() {
	if e.Mode == Once && e.approval == "" {
		return
	}
	o := e.counts()
	word := ""
	switch {
	case e.halted == Interrupted || e.halted == LeaseLost || e.halted == StoreFailed || e.halted == Beyond || e.Mode != Drive && o.Running+o.Queued+o.Left > 0:
		return // to be resumed
	case e.halted == Budget:
		word = "stopped by budget"
	case e.holds.Any():
		return // resume, then the same command
	case o.Failed+o.Held+o.Blocked+o.Cancelled > 0:
		word = "held"
	case o.Left+o.Running+o.Queued+o.Unknown > 0:
		return
	default:
		word = "done"
	}
	e.emit(state.Finished{Plan: e.approval, Outcome: word, At: e.Clock()})
}

// continueApproval finds what -once may go on with: the last approval that
// was begun for this campaign as it is now.
func (e *engine) continueApproval() {
	for i := len(e.st.Approvals) - 1; i >= 0; i-- {
		a := &e.st.Approvals[i]
		if !a.Finished.IsZero() || a.Begun.IsZero() {
			continue
		}
		if a.Digest == e.Plan.Digest {
			e.approval = a.Plan
			return
		}
		break
	}
	if e.Plan.Counts.Changes() {
		e.beyond("the campaign as it is now was never approved: run muster apply")
	}
}

// beyond stops starts: what there is to do was not approved.
func (e *engine) beyond(why string) {
	e.halt(Beyond, why)
}

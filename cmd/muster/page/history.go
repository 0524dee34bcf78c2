package page

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state"
)

// EventText is an event in one line.
func EventText(e state.Event) string {
	switch e := e.(type) {
	case state.Intended:
		return fmt.Sprintf("%s attempt %d on %s", e.Job.Address, e.Attempt.N, e.Attempt.Backend)
	case state.Observed:
		s := fmt.Sprintf("%s attempt %d %s", e.Address, e.Attempt.N, e.Status)
		if e.Attempt.Class != "" {
			s += " (" + e.Attempt.Class + ")"
		}
		if e.Reason != "" {
			s += ": " + e.Reason
		}
		return s
	case state.HeldJob:
		return fmt.Sprintf("%s by %s: %s", e.Address, e.By, e.Reason)
	case state.MovedJob:
		return e.From + " → " + e.To
	case state.Renamed:
		var all []string
		for _, r := range e.Renames {
			all = append(all, r.From+" → "+r.To)
		}
		return strings.Join(all, ", ")
	case state.Approved:
		return fmt.Sprintf("plan %s by %s%s", e.Plan, e.Who, ceilingText(e.Ceiling))
	case state.Finished:
		return fmt.Sprintf("plan %s: %s", e.Plan, e.Outcome)
	case state.Validated:
		if e.Passed {
			return e.Address + " passed"
		}
		return e.Address + " failed: " + e.Message
	case state.Overrode:
		return fmt.Sprintf("%s by %s: %s", e.Address, e.Who, e.Reason)
	case state.Reviewed:
		return fmt.Sprintf("plan %s by %s", e.Plan, e.Who)
	case state.Noted:
		return fmt.Sprintf("%s by %s: %s", e.Address, e.Who, e.Text)
	case state.HoldSet:
		return fmt.Sprintf("%s by %s%s", orEverything(e.Address), e.Who, because(e.Reason))
	case state.HoldClear:
		return fmt.Sprintf("%s by %s", orEverything(e.Address), e.By)
	case state.Paused:
		return fmt.Sprintf("backend.%s: %s", e.Backend, e.Reason)
	case state.Unpaused:
		return "backend." + e.Backend
	case state.Unreachable:
		return fmt.Sprintf("backend.%s cannot be asked: %s", e.Backend, e.Reason)
	case state.Reachable:
		return "backend." + e.Backend + " answers again"
	case state.BreakerOpened:
		return fmt.Sprintf("%s: %s", e.Address(), e.Reason)
	}
	return state.EventAddress(e)
}

// ceilingText is ": at most $40.00" of an approved ceiling.
func ceilingText(ceiling state.Amounts) string {
	if text := view.Amounts(ceiling); text != "" {
		return ": at most " + text
	}
	return ""
}

func orEverything(address string) string {
	if address == "" {
		return "everything"
	}
	return address
}

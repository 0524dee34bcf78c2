package advice

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/rounds"
)

// promote proposes the trial that each round promotes as the baseline of the next
// round.
func (a *adviser) promote() (out []Proposal) {
	for _, r := range rounds.Of(a.Campaign, a.State) {
		if !r.Gained() {
			continue
		}
		won := &r.Settings[r.Promoted]
		p := Proposal{Phase: r.Phase.Name, Kind: "promote", Title: "Promote " + won.Text, Why: r.Why()}
		next := after(a.Campaign, r.Phase.Name)
		switch {
		case next == nil:
			p.Why += " No round follows this one: write one with this setting as its baseline, or use it."
		default:
			var todo bool
			if p.Edit, todo = a.baseline(r.Phase, next, won.Cell()); !todo {
				continue
			}
			p.Phase = next.Name
			p.Title = fmt.Sprintf("Compare with what phase.%s promotes, %s", r.Phase.Name, won.Text)
		}
		out = append(out, p)
	}
	return out
}

// after is the round after a phase, nil for none.
func after(c *lang.Campaign, phase string) *lang.Phase {
	for _, p := range c.Phases {
		if p.Trial != nil && p.Trial.After == phase {
			return p
		}
	}
	return nil
}

// baseline is the edit that makes a setting of one round the baseline of the next, as far
// as both vary the same axes. todo is false where it is that already, or where the next
// round's grid lacks a value.
func (a *adviser) baseline(from, next *lang.Phase, cell int) (e Edit, todo bool) {
	var parts []string
	for k, axis := range next.Trial.Varies {
		name, now := next.Grid.Axes[axis].Name, next.Trial.Baseline[k]
		text := now.Text
		if at := from.Grid.AxisIndex(name); at >= 0 {
			text = from.Grid.Value(cell, at).Text
		}
		was := now
		for i := range next.Grid.Axes[axis].Values {
			if v := &next.Grid.Axes[axis].Values[i]; v.Text == text {
				now = v
			}
		}
		if now.Text != text {
			return Edit{}, false
		}
		todo = todo || now != was
		source := quoted(now.Text)
		if now.IsNum {
			source = now.Text
		}
		parts = append(parts, name+" = "+source)
	}
	if !todo {
		return Edit{}, false
	}
	text := "{ " + strings.Join(parts, ", ") + " }"
	return a.whole(next.Trial.BaselineRange, text), true
}

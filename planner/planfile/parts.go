package planfile

import (
	"maps"
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/place"
)

func sortedNames(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func countsOf(c planner.Counts) Counts {
	return Counts{
		Run: c.Run, Rerun: c.Rerun, Cancel: c.Cancel, Unchanged: c.Unchanged, Smoke: c.Smoke, Retry: c.Retry, Resubmit: c.Resubmit, Continue: c.Continue,
		Adopt: c.Adopt, Move: c.Move, Accept: c.Accept, Held: c.Held, Blocked: c.Blocked, Unknown: c.Unknown, Missing: c.Missing, InputBytes: c.Bytes, OutputBytes: c.Altered, Restore: c.Restore, AdoptFiles: c.AdoptFiles,
		Forget: c.Forget, Release: c.Release, Record: c.Record, Delete: c.Delete, Reread: c.Reread, Selected: c.Selected, Total: c.Total,
	}
}

func phaseSummary(pp Phase) PhaseSummary {
	out := PhaseSummary{Name: pp.Name, Jobs: pp.Cells, SourceDigest: pp.Source.Digest, SourceCommit: pp.Source.Commit, SourceDirty: pp.Source.Dirty, Hold: pp.Hold, Reread: pp.Reread}
	for _, d := range pp.Placements {
		if d.Backend != "" {
			out.Places = append(out.Places, placeOf(d))
		}
	}
	if g := pp.Smoke; g != nil {
		out.Smoke = &smoke{Run: len(g.Run), Passed: len(g.Passed), Failed: len(g.Failed), Running: len(g.Waiting), Text: g.Text, Override: g.Override}
		if g.Place.Backend != "" {
			p := placeOf(g.Place)
			out.Smoke.Place = &p
		}
	}
	return out
}

func placeOf(d place.Decision) Place {
	wait := d.Wait.Seconds()
	if d.Wait < 0 {
		wait = -1
	}
	var moves []after
	for _, a := range d.After {
		moves = append(moves, after{a.Class, placeOf(a.To), a.AtMost})
	}
	return Place{
		Backend: d.Backend, Pool: d.Pool, GPUs: d.Shape.GPUs, CPUs: d.Shape.CPUs, Memory: d.Shape.Memory, Walltime: d.Shape.Walltime.Seconds(),
		Wait: wait, Segments: d.Segments, Rule: d.Rule, Why: d.Why, Fallback: d.Fallback, After: moves,
	}
}

func reasons(in []planner.Reason) []Reason {
	var out []Reason
	for _, r := range in {
		out = append(out, Reason(r))
	}
	return out
}

func other(r Row) Other {
	out := Other{Address: r.Address, Action: r.Kind.String(), Backend: r.Backend, PerHour: r.PerHour, Destroy: r.Detail.Destroy, Text: r.Detail.Text, Reasons: reasons(r.Detail.Reasons)}
	switch {
	case r.Release:
		out.Action = "release"
	case r.PerHour != "" && r.Kind == planner.Move:
		out.Action = "replace"
	case r.PerHour != "" && !r.Away:
		out.Action = "orphan"
	}
	return out
}

func transfer(t planner.Transfer) Transfer {
	out := Transfer{Phase: t.Phase, Input: t.Input, Direction: "pull", Files: t.Files, After: t.After}
	out.From, out.To = t.Ends()
	if t.Push {
		out.Direction = "push"
	}
	if t.Bytes >= 0 {
		out.Bytes = &t.Bytes
	}
	if c := t.Cost; c != nil {
		out.Cost = &transferCost{PerGB: c.PerGB, Mark: "unknown"}
		if c.Expected != "" {
			out.Cost.Expected, out.Cost.AtMost, out.Cost.Mark = &c.Expected, &c.AtMost, "known"
		}
		if c.Guessed {
			out.Cost.Mark = "estimated"
		}
	}
	return out
}

package lang

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// warnAt is the share of a limit from which on a plan and a run say so.
const warnAt = 0.8

// A Budget limits spending.
type Budget struct {
	Name      string
	Limits    map[string]string // unit → decimal: usd, gpu_hours, cpu_hours, node_hours, service_units
	Deadline  time.Time
	WarnAt    float64  // share of each limit; 0.8 by default
	AppliesTo []string // "phase.x", "backend.t.n"; empty = everything
	Strict    bool
	Range     hcl.Range
	Shared    *Shared // nil: it is the campaign's own
}

// Counts reports whether a job of a phase on a backend counts in the budget.
func (b *Budget) Counts(phase, backend string) bool {
	return len(b.AppliesTo) == 0 || slices.Contains(b.AppliesTo, "phase."+phase) || slices.Contains(b.AppliesTo, "backend."+backend)
}

// budgets reads the budget blocks.
func (l policyReader) budgets(blocks []*syntax.Block) (out []Budget) {
	for _, b := range blocks {
		x := Budget{Name: b.Name(), Limits: l.Amounts(b, "limits"), WarnAt: l.Number(b, "warn_at", 0, 1, warnAt), Strict: l.Bool(b, "strict"), Range: b.Range}
		if text, ok := l.MaybeText(b, "deadline"); ok {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				l.Wrong(b.Expr("deadline"), "deadline", "%q is not a time; write it with its zone, such as \"2026-12-15T00:00:00Z\".", wording.Clip(text))
			}
			x.Deadline = at
		}
		if b.Expr("limits") == nil && b.Expr("deadline") == nil && !l.Broken {
			l.Sure.Errorat(b.Range, "A budget without a limit", "Write limits = { usd = 40 } or deadline = \"2026-12-15T00:00:00Z\".")
		}
		if e := b.Expr("limits"); e != nil && len(x.Limits) == 0 && b.Expr("deadline") == nil {
			if v, ok := l.Peek(e, nil); ok && value.IsMap(v) && v.LengthInt() == 0 {
				l.Wrong(e, "limits", "The map is empty, so the budget limits nothing: write { usd = 40 }, or take the block out.")
			}
		}
		for _, ref := range l.References(b, "applies_to") {
			if l.shared {
				x.AppliesTo = append(x.AppliesTo, l.sharedTarget(ref)...)
			} else {
				x.AppliesTo = append(x.AppliesTo, l.budgetTarget(ref)...)
			}
		}
		out = append(out, x)
	}
	return out
}

func (l policyReader) budgetTarget(ref decode.Reference) []string {
	address := strings.Join(ref.Parts, ".")
	switch {
	case len(ref.Parts) == 2 && ref.Parts[0] == "phase":
		if !l.phases.known(ref.Parts[1], ref.At) {
			return nil
		}
	case len(ref.Parts) == 3 && ref.Parts[0] == "backend":
		if name := ref.Parts[1] + "." + ref.Parts[2]; !slices.Contains(l.Names, name) {
			l.Unknown(name, ref.At)
			return nil
		}
	default:
		l.Sure.Errorat(ref.At, "Neither a phase nor a backend", "applies_to names phases and backends: [phase.students, backend.slurm.alpine].")
		return nil
	}
	return []string{address}
}

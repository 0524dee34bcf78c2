package lang

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
)

// SharedBudgets is the name of a file of budgets that hold for many campaigns.
const SharedBudgets = "muster.budgets.hcl"

// Shared has the fields of a budget that many campaigns share.
type Shared struct {
	File string // that declares it
	// Spent is the amount that each campaign spent and may still spend, by unit.
	Spent map[Owner]map[string]string
}

// An Owner is a campaign's state, and the folder that the campaign is in: a copy of
// both elsewhere is another one.
type Owner struct{ Lineage, Dir string }

// Others are the amounts that all campaigns but one spent and may still spend of
// a budget, by unit; none for a campaign's own budget.
func (b *Budget) Others(me Owner) (out []map[string]string) {
	if b.Shared == nil {
		return nil
	}
	for owner, spent := range b.Shared.Spent {
		if owner != me {
			out = append(out, spent)
		}
	}
	return out
}

// ReadBudgets reads a file of budgets that hold for many campaigns. Their
// AppliesTo names backends, as "backend.TYPE" or "backend.TYPE.NAME".
func ReadBudgets(file string, src []byte) ([]Budget, diag.List) {
	l := newLoader(LoadOptions{})
	if body, ok := l.Parse(file, src); ok {
		l.Campaign = append(l.Campaign, syntax.File{Name: file, Src: src, Body: body})
	}
	top := l.Blocks()
	for _, b := range top.Inner {
		if b.Spec.Name != "budget" {
			l.Sure.Errorat(b.Range, "A "+b.Spec.Name+" block among budgets", "%s holds budget blocks alone. Write this block in a campaign's file.", SharedBudgets)
		}
	}
	allows := policyReader{Set: &backends.Set{Reader: l.Reader}, shared: true}
	out := allows.budgets(top.All("budget"))
	for i := range out {
		out[i].Shared = &Shared{File: file}
	}
	_, ds := l.finish()
	return out, ds
}

// sharedTarget reads the backends that a budget of many campaigns counts, by type
// or by type and name.
func (l policyReader) sharedTarget(ref decode.Reference) []string {
	if n := len(ref.Parts); n < 2 || n > 3 || ref.Parts[0] != "backend" {
		l.Sure.Errorat(ref.At, "Not a backend", "A budget of many campaigns counts backends, by type or by name: applies_to = [backend.runpod, backend.slurm.alpine].")
		return nil
	}
	return []string{strings.Join(ref.Parts, ".")}
}

// Of is a shared budget as a campaign with these backends counts in it.
func (b Budget) Of(list []*Backend) Budget {
	var names []string
	for _, to := range b.AppliesTo {
		for _, x := range list {
			if Covers(to, x.Address()) {
				names = append(names, "backend."+x.Address())
			}
		}
		names = append(names, to)
	}
	b.AppliesTo = slices.Compact(names)
	return b
}

// Covers reports whether "backend.TYPE" or "backend.TYPE.NAME" names a backend.
func Covers(to, backend string) bool {
	return to == "backend."+backend || strings.HasPrefix("backend."+backend, to+".")
}

package lang

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/lang/wording"
)

// A Quorum is how many of an input's producers must be done: a count, or whole
// percents of them. The zero value is all.
type Quorum struct {
	set     bool
	percent bool
	n       int
}

// String is the share as the campaign says it: "90%", or "7".
func (s Quorum) String() string {
	if s.percent {
		return strconv.Itoa(s.n) + "%"
	}
	return strconv.Itoa(s.n)
}

// Partial reports whether jobs go on with some of an input's producers.
func (in *Input) Partial() bool { return in.Least.set }

// Required is how many of n producers must be done.
func (in *Input) Required(n int) int {
	switch {
	case !in.Least.set:
		return n
	case in.Least.percent:
		return (n*in.Least.n + 99) / 100
	}
	return in.Least.n
}

// MissingOf names, in a record, the producers that a job went on without. No input
// can have this name.
func MissingOf(input string) string { return input + ".missing" }

// least reads require of an input.
func (pr *phaseReader) least(in *Input, b *syntax.Block) bool {
	e := b.Expr("require")
	if e == nil {
		return true
	}
	if !in.All {
		pr.Wrong(e, "require", "from has one producer, and the job needs it. Write from_all, or leave require out.")
		return false
	}
	v, ok := pr.Eval(e)
	if !ok {
		return false
	}
	v, _ = v.UnmarkDeep()
	if v.Type() == cty.String {
		digits, percent := strings.CutSuffix(v.AsString(), "%")
		n, err := strconv.Atoi(digits)
		if !percent || err != nil || n < 0 || n > 100 || strings.ContainsAny(digits, "+-") {
			pr.Wrong(e, "require", "%q is not a share. Write whole percents from \"0%%\" to \"100%%\", such as \"90%%\", or a number of jobs.", wording.Clip(v.AsString()))
			return false
		}
		in.Least = Quorum{set: n < 100, percent: true, n: n}
		return true
	}
	n, err := value.Integer(v, 0)
	if err != nil {
		pr.Wrong(e, "require", "%s. Write a share such as \"90%%\", or a whole number of jobs.", wording.Capitalised(err.Error()))
		return false
	}
	in.Least = Quorum{set: true, n: n}
	return true
}

// checkLeast reports a count that no group of producers reaches.
func (jn *joiner) checkLeast(p *phaseBuild, in *Input) {
	if !in.Partial() || in.Least.percent || !p.ok {
		return
	}
	for i := range p.Len() {
		if n := len(in.Members(in.GroupOf(i))); in.Least.n > n {
			p.ok = false
			jn.Perhaps.Append(diag.Diagnostic{Summary: "An input requires more than it has", Subject: in.Range.Ptr(), Address: p.Address(i),
				Detail: fmt.Sprintf("%s requires %d done producers of the input %q, and reads only %s of phase.%s. Lower require, or write a share such as \"90%%\".", p.Address(i), in.Least.n, in.Name, units.Count(n, "job"), in.From.Name)})
			return
		}
	}
}

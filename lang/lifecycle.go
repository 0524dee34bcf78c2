package lang

import (
	"slices"
	"strings"

	"github.com/muster-run/muster/lang/schema"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
)

// Lifecycle holds a phase's rules about re-running.
type Lifecycle struct {
	IgnoreChanges     []string // field names: "env", "setup", …
	PreventRerun      bool
	PreventRerunSet   bool // prevent_rerun is written, whatever its value: false disarms the guard in the state
	RerunOnInputBytes bool
}

// ignorable are the fields that ignore_changes may name: those that determine
// results.
var ignorable = schema.Ignorable()

// Lifecycle reads a lifecycle block.
func (l *rerunReader) Lifecycle(b *syntax.Block) Lifecycle {
	if b == nil {
		return Lifecycle{}
	}
	lc := Lifecycle{PreventRerun: l.Bool(b, "prevent_rerun"), PreventRerunSet: b.Expr("prevent_rerun") != nil, RerunOnInputBytes: l.Bool(b, "rerun_on_input_bytes")}
	for _, ref := range l.References(b, "ignore_changes") {
		if len(ref.Parts) > 0 && ref.Parts[0] == "params" {
			ref.Parts[0] = "param"
		}
		if len(ref.Parts) == 0 || !slices.Contains(ignorable, ref.Parts[0]) {
			given := strings.Join(ref.Parts, ".")
			l.Sure.Errorat(ref.At, "Unknown field", "ignore_changes cannot name %q%s Fields are %s, env.NAME and param.NAME.", wording.Clip(given), wording.DidYouMean(given, ignorable), strings.Join(ignorable, ", "))
			continue
		}
		lc.IgnoreChanges = append(lc.IgnoreChanges, strings.Join(ref.Parts, "."))
	}
	return lc
}

// Ignores reports whether a field is left out of the result hash.
func (lc *Lifecycle) Ignores(field string) bool {
	if field == "command" || strings.HasPrefix(field, "command[") {
		field = "command"
	}
	for _, f := range lc.IgnoreChanges {
		if f == field || strings.HasPrefix(field, f+".") {
			return true
		}
	}
	return false
}

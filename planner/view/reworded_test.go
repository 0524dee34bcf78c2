package view

import (
	"testing"

	"github.com/muster-run/muster/planner/change"
)

// TestReworded: of a rewritten command only the words that differ are told, an
// option with its value; a text of one word, or that has nothing in common with
// what it was, is told whole.
func TestReworded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, now, want string }{
		{"train --seed 3 --out o", "train --lr 0.1 --seed 3 --out o", "command: now with --lr 0.1"},
		{"train --lr 0.1 --seed 3", "train --seed 3", "command: without --lr 0.1"},
		{"train --lr 0.1 --seed 3", "train --lr 0.2 --seed 3", "command: --lr 0.1 → --lr 0.2"},
		{"train 3", "train 4", "command: 3 → 4"},
		{"a -v b", "a -v w b", "command: -v → -v w"},
		{"a b", "a b b", "command: now with b"},
		{"a b b", "a b", "command: without b"},
		{"a b", "c d", "command: a b → c d"},
		{"a", "b", "command: a → b"},
		{"", "a b", "command: now a b"},
		{"a  b", "a b", "command: other spaces"},
		{"cd x\ntrain 3", "cd x\nset -e\ntrain 3", "command: now with set -e"},
	} {
		if got := cause(change.Of("command", c.old, c.now)); got != c.want {
			t.Errorf("%q to %q: %q, not %q", c.old, c.now, got, c.want)
		}
	}
}

package history

import (
	"testing"

	"github.com/muster-run/muster/lang"
)

// TestDiffering: a number of a command that changed is named by the word before it, unless that
// is a number, too.
func TestDiffering(t *testing.T) {
	t.Parallel()
	for old, want := range map[string]string{"train --epochs 400": "epochs", "train 0 400": "command", "400": "command"} {
		now := old[:len(old)-3] + "40000"
		got := differing([]lang.Field{{Name: "command", Text: old}}, []lang.Field{{Name: "command", Text: now}})
		if len(got) != 1 || got[0].name != want || got[0].old != "400" {
			t.Errorf("%s: %+v, want %s", old, got, want)
		}
	}
}

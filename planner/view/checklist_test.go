package view

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner/checklist"
)

// TestChecklists: marks are in one column, in UTF-8 and without, reasons are
// folded beside their point, and what others wrote cannot steer a terminal.
func TestChecklists(t *testing.T) {
	t.Parallel()
	lists := []checklist.List{{Phase: "train", Points: []checklist.Point{
		{Name: "mail set", Why: "none"},
		{Name: "walltime", Pass: true, Why: "4h of 24h allowed; a restart continues from its checkpoint\x1b[2J, as far as it was written"},
	}}}
	for _, c := range []struct {
		style term.Style
		want  string
	}{
		{utf8, `# check list of phase.train: 1 of 2 pass
   1  ✗ fail  mail set  none
   2  ✓ pass  walltime  4h of 24h allowed; a restart continues from its checkpoint␛[2J,
                        as far as it was written

`},
		{ascii, `# check list of phase.train: 1 of 2 pass
   1  x fail   mail set  none
   2  ok pass  walltime  4h of 24h allowed; a restart continues from its checkpoint␛[2J,
                         as far as it was written

`},
	} {
		var b bytes.Buffer
		if err := (Human{Style: c.style}).Checklists(&b, lists); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.String()); d != "" {
			t.Error(d)
		}
	}
}

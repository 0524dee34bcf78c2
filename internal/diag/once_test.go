package diag

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

func TestOnce(t *testing.T) {
	t.Parallel()
	line := func(n int) *hcl.Range { return &hcl.Range{Filename: "c.hcl", Start: hcl.Pos{Line: n, Column: 1}} }
	got := List{
		{Summary: "s", Detail: "not yet", Subject: line(1), Address: "phase.a"},
		{Summary: "s", Detail: "not yet", Subject: line(1), Address: "phase.b"},
		{Summary: "s", Detail: "not yet", Subject: line(1), Address: "phase.b"},
		{Summary: "s", Detail: "not yet", Subject: line(2), Address: "phase.a"},
		{Summary: "s", Detail: "not yet", Subject: line(1), Address: "phase.a", Severity: Warning},
		{Summary: "s", Detail: "other", Address: "phase.a"},
		{Summary: "s", Detail: "other", Address: "phase.b"},
	}.Once()
	var said []string
	for _, d := range got {
		said = append(said, d.Detail)
	}
	if want := "not yet\n\nThe same applies to phase.a and another.|not yet|not yet|other|other"; strings.Join(said, "|") != want {
		t.Errorf("%q", said)
	}
}

// Equal diagnostics of several phases become one that names the others; those of one phase, or of
// no phase, stay.
func TestAlike(t *testing.T) {
	t.Parallel()
	line := func(n int) *hcl.Range { return &hcl.Range{Filename: "c.hcl", Start: hcl.Pos{Line: n, Column: 1}} }
	got := List{
		{Summary: "s", Detail: "away", Subject: line(1), Address: "phase.a"},
		{Summary: "s", Detail: "away", Subject: line(2), Address: "phase.b"},
		{Summary: "s", Detail: "away", Subject: line(3), Address: "phase.a"},
		{Summary: "s", Detail: "away", Subject: line(4), Address: "phase.c"},
		{Summary: "s", Detail: "away", Subject: line(4), Address: "phase.c", Severity: Warning},
		{Summary: "s", Detail: "slip", Subject: line(5)},
		{Summary: "s", Detail: "slip", Subject: line(6)},
		{Summary: "s", Detail: "two", Subject: line(7), Address: "phase.a"},
		{Summary: "s", Detail: "two", Subject: line(8), Address: "phase.b"},
	}.Alike()
	var said []string
	for _, d := range got {
		said = append(said, d.Detail)
	}
	if want := "away\n\nThe same applies to phase.b and phase.c.|away|away|slip|slip|two\n\nThe same applies to phase.b."; strings.Join(said, "|") != want {
		t.Errorf("%q", said)
	}
}

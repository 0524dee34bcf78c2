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

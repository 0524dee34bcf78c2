package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/term"
)

// TestReportOfForeignText: the report shows a campaign's texts unchanged, also where a forge
// renders it.
func TestReportOfForeignText(t *testing.T) {
	r := Report{Campaign: "c", Description: "for @ada, #12: <b>**all**</b> | [x](http://y.z)",
		Jobs:    []jobReport{{Address: `phase.a["note=\"a|b @bob\""]`, Attempts: 2, Failures: []string{"oom_host"}, Status: "completed"}},
		Results: []resultReport{{Name: "best", Known: true, Value: json.RawMessage(`"<img src=x> @ada"`)}}}
	got := strings.ReplaceAll(r.Markdown(term.Style{}), "\u200b", "_")
	for _, want := range []string{
		"\n\nfor @_ada, #_12: &lt;b&gt;\\*\\*all\\*\\*&lt;/b&gt; \\| [x\\](<http://y.z>)\n",
		"| phase.a[\"note=\\\\\"a\\|b @_bob\\\\\"\"] | 2        | oom_host | completed |\n",
		"\n- result.best = \"&lt;img src=x&gt; @_ada\"\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("does not say %q\n%s", want, got)
		}
	}
	if got := r.Markdown(term.Style{TTY: true, Row: 100}); strings.Contains(got, "&lt;") || strings.Contains(got, "\u200b") || !strings.Contains(got, "<b>**all**</b> | [x](http://y.z)") {
		t.Errorf("on a terminal\n%s", got)
	}
}

package site

import (
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// TestElsewhere: that a backend does not know a job says nothing where the job
// was submitted to a host that it no longer has.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ, config string
		at          state.Attempt
		node        string
		want        string
	}{
		"taken out of hosts":          {"ssh", `{"hosts":["h1"]}`, state.Attempt{Pool: "h2"}, "", "h2, which is no longer in hosts"},
		"still there":                 {"ssh", `{"hosts":["h1","h2"]}`, state.Attempt{Pool: "h2"}, "", ""},
		"another host":                {"ssh", `{"host":"h2"}`, state.Attempt{Host: "h1"}, "", "h1, which is no longer in host "},
		"the same host":               {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Node: "n"}, "n", ""},
		"one of several, then alone":  {"ssh", `{"host":"h1"}`, state.Attempt{Pool: "h2"}, "", "h2, which is no longer in host "},
		"alone, then other several":   {"ssh", `{"hosts":["h2","h3"]}`, state.Attempt{Host: "h1"}, "", "h1, which is no longer in hosts"},
		"the name leads elsewhere":    {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Node: "n1"}, "n2", "the machine n1"},
		"recorded by an older muster": {"ssh", `{"host":"h1"}`, state.Attempt{}, "n2", ""},
		"another login node":          {"slurm", `{"ssh":{"host":"l2"}}`, state.Attempt{Host: "l1", Pool: "aa100", Node: "c5"}, "l2", "l1, which is no longer in host "},
		"a partition":                 {"slurm", `{"partitions":["al40"]}`, state.Attempt{Pool: "aa100"}, "", ""},
		"this machine":                {"local", `{}`, state.Attempt{Node: "n1"}, "n2", ""},
	} {
		got := Elsewhere(providers.Backend{Name: c.typ + ".b", Type: c.typ, Config: []byte(c.config)}, &c.at, c.node)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

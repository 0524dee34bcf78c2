package site

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestElsewhere: that a backend does not know a job says nothing where the job
// was submitted to a host that it no longer has.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	none := offer.Observation{}
	on := func(node string) offer.Observation { return offer.Observation{Node: node} }
	by := func(queues ...string) offer.Observation { return offer.Observation{Queues: queues} }
	for name, c := range map[string]struct {
		typ, config string
		at          state.Attempt
		o           offer.Observation
		want        string
	}{
		"taken out of hosts":          {"ssh", `{"hosts":["h1"]}`, state.Attempt{Pool: "h2"}, none, "h2, which is no longer in hosts"},
		"still there":                 {"ssh", `{"hosts":["h1","h2"]}`, state.Attempt{Pool: "h2"}, none, ""},
		"another host":                {"ssh", `{"host":"h2"}`, state.Attempt{Host: "h1"}, none, "h1, which is no longer in host "},
		"the same host":               {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Node: "n"}, on("n"), ""},
		"one of several, then alone":  {"ssh", `{"host":"h1"}`, state.Attempt{Pool: "h2"}, none, "h2, which is no longer in host "},
		"alone, then other several":   {"ssh", `{"hosts":["h2","h3"]}`, state.Attempt{Host: "h1"}, none, "h1, which is no longer in hosts"},
		"the name leads elsewhere":    {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Node: "n1"}, on("n2"), "the machine n1"},
		"recorded by an older muster": {"ssh", `{"host":"h1"}`, state.Attempt{}, on("n2"), ""},
		"another login node":          {"slurm", `{"ssh":{"host":"l2"}}`, state.Attempt{Host: "l1", Pool: "aa100", Node: "c5"}, on("l2"), "l1, which is no longer in host "},
		"a partition":                 {"slurm", `{"partitions":["al40"]}`, state.Attempt{Pool: "aa100"}, none, ""},
		"this machine":                {"local", `{}`, state.Attempt{Node: "n1"}, on("n2"), ""},
		"its queue":                   {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Queue: "q1"}, by("q1"), ""},
		"its queue by another name":   {"ssh", `{"host":"h2"}`, state.Attempt{Host: "h1", Queue: "q1"}, by("q1"), ""},
		"one queue of several":        {"ssh", `{"hosts":["h2","h3"]}`, state.Attempt{Pool: "h1", Queue: "q1"}, by("q2", "q1"), ""},
		"another queue":               {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Queue: "q1"}, by("q2"), "h1 has another queue"},
		"another queue of several":    {"ssh", `{"hosts":["h1","h2"]}`, state.Attempt{Pool: "h2", Queue: "q2"}, by("q1", "q3"), "h2 has another queue"},
		"a queue that never took any": {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Queue: "q1"}, by(""), "h1 has another queue"},
		"a queue that does not tell":  {"ssh", `{"host":"h1"}`, state.Attempt{Host: "h1", Queue: "q1"}, none, ""},
		"another spool":               {"local", `{}`, state.Attempt{Queue: "q1"}, by("q2"), "backend.local.b has another queue"},
		"another workdir":             {"slurm", `{"ssh":{"host":"l1"}}`, state.Attempt{Host: "l1", Queue: "q1"}, by(""), "another workdir or cluster"},
		"another cluster's":           {"slurm", `{"ssh":{"host":"l2"}}`, state.Attempt{Host: "l1", Queue: "q1"}, offer.Observation{Queues: []string{"q1"}, Cause: offer.OtherCluster, Reason: "it was submitted to the cluster alpine"}, "cluster alpine, or end the job there"},
		"one cluster, another login":  {"slurm", `{"ssh":{"host":"l2"}}`, state.Attempt{Host: "l1", Queue: "q1"}, by("q1"), ""},
		"another workdir of any":      {"pbs", `{"ssh":{"host":"l1"}}`, state.Attempt{Host: "l1", Queue: "q1"}, by(""), "another workdir or cluster"},
		"another cluster is here":     {"pbs", `{}`, state.Attempt{Host: "l1", Queue: "q1"}, by(""), "l1, which is no longer in ssh"},
		"now the cluster is here":     {"slurm", `{}`, state.Attempt{Host: "l1", Queue: "q1"}, by(""), "l1, which is no longer in ssh"},
	} {
		can := map[string]offer.Capabilities{"slurm": {Arrays: true, Dependencies: true}, "pbs": {Arrays: true, Dependencies: true}, "ssh": {HostQueue: true}, "local": {HostQueue: true}}
		got := Elsewhere(providers.Backend{Name: c.typ + ".b", Type: c.typ, Config: []byte(c.config)}, can[c.typ], state.Backend{}, &c.at, &c.o)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestElsewhereOfOlderVersions: they recorded no host with a launch, but the
// backend as it was.
func TestElsewhereOfOlderVersions(t *testing.T) {
	t.Parallel()
	conf := func(config string) providers.Backend {
		return providers.Backend{Name: "ssh.b", Type: "ssh", Config: []byte(config)}
	}
	text, err := json.Marshal(conf(`{"host":"h1"}`))
	if err != nil {
		t.Fatal(err)
	}
	st := state.New("c")
	st.Backends = map[string]state.Backend{"ssh.b": {Type: "ssh", Config: text}}
	st.Jobs["phase.p"] = &state.Job{Address: "phase.p", Status: state.Queued, Attempts: []state.Attempt{{N: 1, Token: "t", Backend: "ssh.b"}}}
	for config, want := range map[string]string{
		`{"host":"h2"}`:         "h1, which is no longer in host ",
		`{"hosts":["h2","h3"]}`: "h1, which is no longer in hosts ",
		`{"host":"h1"}`:         "",
	} {
		at := st.Jobs["phase.p"].Last()
		if got := Elsewhere(conf(config), offer.Capabilities{HostQueue: true}, st.Backends["ssh.b"], at, &offer.Observation{Queues: []string{"q"}}); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", config, got)
		}
		if got := Needed(st, conf(config)); got != (want != "") {
			t.Errorf("%s: what is kept is needed: %t", config, got)
		}
	}
}

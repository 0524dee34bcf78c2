package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestPreconditionIsToldOnce of all the jobs for which it does not hold.
func TestPreconditionIsToldOnce(t *testing.T) {
	// Requirement: PRE-01
	t.Parallel()
	for src, want := range map[string]int{"false": 1, "cell.seed < 3": 1, "cell.seed < 9": 0} {
		c, diags := lang.LoadFiles(map[string][]byte{"t.muster.hcl": []byte("campaign \"t\" {}\nphase \"a\" {\n  grid { axes = { seed = range(6) } }\n  job { command = \"true ${cell.seed}\" }\n  precondition {\n    condition = " + src + "\n    message = \"not yet\"\n  }\n}\n")}, lang.LoadOptions{Dir: t.TempDir()})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		_, said := Make(input(c, nil))
		if len(said) != want {
			t.Errorf("%s: %d are told: %v", src, len(said), said)
		}
	}
}

// TestNoPlaceIsToldOnce, at the line that asks for too much, and without what
// a preflight found of the same.
func TestNoPlaceIsToldOnce(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1", gpus: 3})
	in := input(c, nil)
	in.Observed.Findings = []observed.Finding{
		{Diagnostic: diag.Diagnostic{Summary: "There are not enough healthy GPUs", Address: "phase.a"}, Phase: "a"},
		{Diagnostic: diag.Diagnostic{Summary: "the disk is full", Address: "phase.a"}, Phase: "a"}}
	_, said := Make(in)
	var lines []string
	for _, d := range said {
		lines = append(lines, d.Summary)
		if d.Summary == "No place fits" && (d.Subject == nil || *d.Subject != c.Phases[0].Asks["gpus"]) {
			t.Errorf("points at %v", d.Subject)
		}
	}
	if got := strings.Join(lines, "|"); got != "No place fits|the disk is full" {
		t.Error(got)
	}
}

// TestFindingOfAnotherBackend: what is wrong on a backend concerns what goes
// there.
func TestFindingOfAnotherBackend(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"})
	on := planned(t, input(c, nil)).Phases[0].Placements[1].Backend
	for backend, want := range map[string]int{on: 1, "ssh.elsewhere": 0} {
		in := input(c, nil)
		in.Observed.Findings = []observed.Finding{{Diagnostic: diag.Diagnostic{Summary: "edited"}, Phase: "a", On: backend}}
		if _, said := Make(in); len(said) != want {
			t.Errorf("on %s: %v", backend, said)
		}
	}
}

// TestFindingOfAWholeBackend: what this machine lacks for jobs is told where
// something is to start or goes on there; of another one everything is told.
func TestFindingOfAWholeBackend(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"})
	on := "backend." + planned(t, input(c, nil)).Phases[0].Placements[1].Backend
	if !strings.HasPrefix(on, "backend.local.") {
		t.Fatal(on)
	}
	running := applied(t, c, state.Running)
	for _, job := range running.Jobs {
		job.Attempts[0].Backend, job.Attempts[0].Ended = strings.TrimPrefix(on, "backend."), time.Time{}
	}
	for _, x := range []struct {
		what    string
		st      *state.State
		address string
		options Options
		want    int
	}{
		{"to run", nil, on, Options{}, 1},
		{"runs", running, on, Options{}, 1},
		{"failed", applied(t, c, state.Failed), on, Options{}, 0},
		{"failed, to run again", applied(t, c, state.Failed), on, Options{Rerun: []string{"phase.a"}}, 1},
		{"failed, destroyed", applied(t, c, state.Failed), on, Options{Destroy: true}, 1},
		{"done", applied(t, c, state.Completed), on, Options{}, 0},
		{"failed, and another backend", applied(t, c, state.Failed), "backend.ssh.lab", Options{}, 1},
		{"failed, and nobody's", applied(t, c, state.Failed), "", Options{}, 1},
	} {
		in := input(c, x.st)
		in.Options = x.options
		in.Observed.Findings = []observed.Finding{{Diagnostic: diag.Diagnostic{Summary: "the disk is full", Address: x.address, Severity: diag.Warning}}}
		if _, said := Make(in); len(said) != x.want {
			t.Errorf("%s: %v", x.what, said)
		}
	}
}

// TestVerifierIsQuoted: a job that ended well and whose outputs did not pass
// is held with the verifier's words.
func TestVerifierIsQuoted(t *testing.T) {
	t.Parallel()
	zero, one := 0, 1
	for name, c := range map[string]struct {
		exit *int
		tail []string
		want string
	}{
		"a broken output":        {&zero, []string{"hello", "output m: json: unexpected end at byte 6"}, "exit 0, and output m: json: unexpected end at byte 6\nhello"},
		"it failed by itself":    {&one, []string{"output m: said the job"}, "unknown, exit 1\n"},
		"an unknown other class": {&zero, []string{"hello"}, "unknown, exit 0\n"},
	} {
		c0 := load(t, nil, phaseSpec{name: "a", lr: "1"})
		st := applied(t, c0, state.Failed)
		job := st.Jobs["phase.a"]
		job.Class, job.Attempts[0].Exit, job.Attempts[0].Tail, job.Attempts[0].Class = "unknown", c.exit, c.tail, "unknown"
		p := planned(t, input(c0, st))
		if got := p.Phases[0].Detail(0).Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWayOutOfMissingOutputs names the jobs to run again.
func TestWayOutOfMissingOutputs(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{1: `-rerun='phase.a["seed=0"]'` + "`.", 5: `-rerun='phase.a["seed=2"]'` + "` and so for 2 more"} {
		seeds := make([]int, n)
		for i := range seeds {
			seeds[i] = i
		}
		c := load(t, nil, phaseSpec{name: "a", seeds: seeds, lr: "1"})
		in := input(c, applied(t, c, state.Completed))
		in.Observed = Observed{Refreshed: true, Outputs: map[string][]offer.Output{}}
		for address := range in.State.Jobs {
			in.Observed.Outputs[address] = []offer.Output{{Name: "out", Path: "out", Verdict: "missing"}}
		}
		p := planned(t, in)
		if notes := strings.Join(p.Notes, "\n"); p.Counts.Missing != n || !strings.Contains(notes, want) {
			t.Errorf("%d missing: %s", p.Counts.Missing, notes)
		}
	}
}

// TestHowToKnow: hours without a bound need a walltime, whatever else, and
// never a price.
func TestHowToKnow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unit, want string
		walltime   bool
		queue      bool // its wait is billed, and nobody knows it
		unpriced   bool
	}{
		"hours of what starts":             {"cpu_hours", "write a walltime in resources of phase.a", false, false, false},
		"hours of what has a walltime":     {"gpu_hours", "write a walltime in resources", true, false, false},
		"money of what has one":            {"usd", "write a price on the backend", true, false, false},
		"money of a wait that is billed":   {"usd", "that queue bills waiting jobs (bills_while_queued), and the wait is unknown until jobs of this campaign have waited there; or name another backend", true, true, false},
		"hours beside such a wait":         {"cpu_hours", "write a walltime in resources", true, true, false},
		"money of a place without a price": {"usd", "the charge of local.local is unknown: write a price on backend.local.local", true, false, true},
	} {
		spec := phaseSpec{name: "a", lr: "1"}
		c0 := load(t, nil, spec)
		p := planned(t, input(c0, nil))
		ps := newPhases(input(c0, nil))
		ps.drafts[0].pp = p.Phases[0]
		unknown := unknowns{phases: ps, backends: c0.Backends, unbounded: p.Unbounded}
		if !c.walltime {
			p.Phases[0].Placements[1].Shape.Walltime = 0
		}
		if c.unpriced {
			p.Phases[0].Placements[1].Price = offer.Price{}
		}
		if c.queue {
			p.Phases[0].Placements[1].Price = offer.Price{USDPerHour: "1", BillsWhileQueued: true}
		}
		if got := unknown.howToKnow(c.unit); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

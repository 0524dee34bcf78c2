package planner

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// rented prices the laptop's GPU, so that plans cost something.
func rented(in Input, perGPUHour string) Input {
	in.Pools = laptop()
	in.Pools[0].Price = offer.Price{Known: perGPUHour != "", USDPerGPUHour: perGPUHour}
	return in
}

func TestBudget(t *testing.T) {
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for name, c := range map[string]struct {
		budget lang.Budget
		price  string
		units  string // service units of a GPU-hour; "?" = not known
		spent  string
		broken bool
		text   string
		left   int
		limit  string // of the ceiling, in usd
	}{
		// Four jobs of an hour on a GPU of $1: expected $2, p90 $4, with two launches each at most $8.
		"holds":                                       {budget: lang.Budget{Limits: map[string]string{"usd": "8"}}, price: "1", limit: "8"},
		"p90 passes it: broken":                       {budget: lang.Budget{Limits: map[string]string{"usd": "3"}}, price: "1", broken: true, text: "p90 is $4", limit: "3"},
		"only at most passes it: stops":               {budget: lang.Budget{Limits: map[string]string{"usd": "5"}}, price: "1", text: "in the worst case the budget runs out with 2 jobs left. Set usd = 8", left: 2, limit: "5"},
		"strict: at most breaks it":                   {budget: lang.Budget{Limits: map[string]string{"usd": "5"}, Strict: true}, price: "1", broken: true, text: "strict", left: 2, limit: "5"},
		"the ledger counts":                           {budget: lang.Budget{Limits: map[string]string{"usd": "8"}}, price: "1", spent: "5", broken: true, text: "spent already", limit: "3"},
		"a price not known blocks it":                 {budget: lang.Budget{Limits: map[string]string{"usd": "8"}}, broken: true, text: "is unknown", limit: "8"},
		"no price in units, a limit of money":         {budget: lang.Budget{Limits: map[string]string{"usd": "8"}}, price: "1", units: "?", limit: "8"},
		"no price in units, a limit of those":         {budget: lang.Budget{Limits: map[string]string{"service_units": "8"}}, price: "1", units: "?", broken: true, text: "the charge of local.local in them is unknown: state one for machine of backend.local.local, 0 where it is free", limit: "8"},
		"no price in units, both limited":             {budget: lang.Budget{Limits: map[string]string{"usd": "8", "service_units": "8"}}, price: "1", units: "?", broken: true, text: "in service units is unknown", limit: "8"},
		"no price in units, neither limited":          {budget: lang.Budget{Limits: map[string]string{"gpu_hours": "8"}}, price: "1", units: "?", limit: "8"},
		"no price in units, those of another phase":   {budget: lang.Budget{Limits: map[string]string{"service_units": "8"}, AppliesTo: []string{"phase.other"}}, price: "1", units: "?", limit: "8"},
		"free in units, a limit of those":             {budget: lang.Budget{Limits: map[string]string{"service_units": "8"}}, price: "1", units: "0", limit: "8"},
		"no price in money, a limit of units":         {budget: lang.Budget{Limits: map[string]string{"service_units": "8"}}, units: "1"},
		"no price in money, a limit of units, passed": {budget: lang.Budget{Limits: map[string]string{"service_units": "3"}}, units: "1", broken: true, text: "p90 is 4 service units"},
		"another phase's budget":                      {budget: lang.Budget{Limits: map[string]string{"usd": "1"}, AppliesTo: []string{"phase.other"}}, price: "1", limit: "8"},
		"this phase's budget":                         {budget: lang.Budget{Limits: map[string]string{"usd": "1"}, AppliesTo: []string{"phase.a"}}, price: "1", broken: true, text: "p90", limit: "8"},
		"this backend's budget":                       {budget: lang.Budget{Limits: map[string]string{"usd": "1"}, AppliesTo: []string{"backend.local.local"}}, price: "1", broken: true, text: "p90", limit: "8"},
		"warns at a share":                            {budget: lang.Budget{Limits: map[string]string{"usd": "8"}, WarnAt: 0.4}, price: "1", text: "above 40%", limit: "8"},
		"p90 end after the deadline":                  {budget: lang.Budget{Limits: map[string]string{}, Deadline: at(30 * time.Minute)}, price: "1", broken: true, text: "after the deadline", limit: "8"},
		"p90 end well before the deadline":            {budget: lang.Budget{Limits: map[string]string{}, Deadline: at(100 * time.Hour)}, price: "1", limit: "8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := c.budget
			b.Name = "paper"
			camp := load(t, func(c *lang.Campaign) { c.Budgets = []lang.Budget{b} },
				phaseSpec{name: "a", seeds: []int{1, 2, 3, 4}, lr: "1", gpus: 1, mod: func(p *lang.Phase) {
					p.Retry = lang.Retry{Policy: retry.Policy{On: []string{"killed"}, Max: 2}}
					p.Candidates = []string{"local.local"}
				}})
			in := rented(input(camp, &state.State{}), c.price)
			if price := &in.Pools[0].Price; c.units == "?" {
				price.UnknownSU = true
			} else {
				price.SUPerGPUHour = c.units
			}
			if c.spent != "" {
				in.State.Ledger = []state.Entry{{Phase: "a", Backend: "local.local", Spent: state.TextsOf(state.Amounts{"usd": c.spent})}}
			}
			p := planned(t, in)
			check := p.Budgets[0]
			if p.BudgetBroken() != c.broken || check.Left != c.left {
				t.Errorf("broken %v, left %d, want %v, %d: %+v", p.BudgetBroken(), check.Left, c.broken, c.left, check)
			}
			if said := strings.Join(slices.Concat(check.Broken, check.Warn), "; "); !strings.Contains(said, c.text) || c.text == "" && said != "" {
				t.Errorf("said %q, want %q", said, c.text)
			}
			if c.price != "" && p.Ceiling["usd"] != c.limit {
				t.Errorf("ceiling %v, want $%s", p.Ceiling, c.limit)
			}
		})
	}
}

// TestUnknownJobsCountAtTheirCeiling: where a backend cannot be asked, what is
// there may run to the end of its walltime, whatever the history says.
func TestUnknownJobsCountAtTheirCeiling(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3, 4, 5}, lr: "1", gpus: 1})
	in := rented(input(c, applied(t, c, state.Completed)), "1")
	for i := range 5 {
		job := in.State.Jobs[c.Phases[0].Address(i)]
		job.Attempts[0].Usage, job.Attempts[0].Started, job.Attempts[0].Ended = &state.Usage{Elapsed: 360}, now, now
		if i == 4 {
			job.Status, job.Outputs = state.Running, nil
			job.Attempts[0] = state.Attempt{N: 1, Token: "t", Backend: "local.local"}
		}
	}
	for why, want := range map[string]string{"": "0.1 0.1 1", "no route to host": "1 1 1"} {
		in.Observed = Observed{}
		if why != "" {
			in.Observed = Observed{Refreshed: true, Unreachable: map[string]string{"local.local": why}}
		}
		p, _ := Make(in)
		l := p.Forecast.Lines[0]
		if got := l.Expected.Text + " " + l.P90.Text + " " + l.AtMost.Text; l.Unit != "usd" || got != want {
			t.Errorf("%q: %s %s, want %s", why, l.Unit, got, want)
		}
	}
}

// TestWhatIsInFlightCostsAsItsPlace: whole nodes where the site charges them,
// and what was set aside where nobody can say what the place charges.
func TestWhatIsInFlightCostsAsItsPlace(t *testing.T) {
	t.Parallel()
	c := load(t, func(c *lang.Campaign) {
		c.Budgets = []lang.Budget{{Name: "b", Limits: map[string]string{"usd": "100"}}}
	},
		phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1", gpus: 1, wall: "2h"})
	in := rented(input(c, applied(t, c, state.Running)), "1")
	in.Pools[0].WholeNode, in.Pools[0].GPUs = true, 4
	for _, j := range in.State.Jobs {
		j.Attempts[0].Ceiling = state.Amounts{"usd": "7", "gpu_hours": "2"}
	}
	for _, want := range []string{"24", "21"} {
		away := want == "21"
		if away {
			in.Pools = nil
			in.Observed = Observed{Refreshed: true, Unreachable: map[string]string{"local.local": "no route to host"}}
		}
		p, _ := Make(in)
		if l := p.Forecast.Lines[0]; l.Unit != "usd" || l.AtMost.Text != want {
			t.Errorf("away %t: at most %+v, not $%s", away, l.AtMost, want)
		}
		if p.BudgetBroken() {
			t.Errorf("away %t: %+v", away, p.Budgets)
		}
	}
}

// TestWhatIsInFlightAtAPriceNotKnown: what runs is charged as was recorded with
// it, in service units as by now where they were not known then; where its backend
// is away and they were not, nobody knows.
func TestWhatIsInFlightAtAPriceNotKnown(t *testing.T) {
	t.Parallel()
	none, three, nine := offer.Price{Known: true, USDPerHour: "1", UnknownSU: true}, offer.Price{Known: true, USDPerHour: "1", SUPerGPUHour: "3"}, offer.Price{Known: true, USDPerHour: "1", SUPerGPUHour: "9"}
	for name, c := range map[string]struct {
		was, is offer.Price
		away    bool
		most    string // service units of three jobs of two hours on a GPU; "?" = not known
	}{
		"known, and dearer now":        {three, nine, false, "18"},
		"known, and not any more":      {three, none, false, "18"},
		"known, and away":              {three, nine, true, "18"},
		"not known, nor now":           {none, none, false, "?"},
		"not known, and known now":     {none, nine, false, "54"},
		"not known, and free now":      {none, offer.Price{Known: true, USDPerHour: "1", SUPerNodeHour: "0"}, false, "0"},
		"not known, known, but away":   {none, nine, true, "?"},
		"in money alone, then and now": {offer.Price{Known: true, USDPerHour: "1"}, offer.Price{Known: true, USDPerHour: "1"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			camp := load(t, func(c *lang.Campaign) {
				c.Budgets = []lang.Budget{{Name: "money", Limits: map[string]string{"usd": "100"}}, {Name: "units", Limits: map[string]string{"service_units": "100"}}}
			}, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1", gpus: 1, wall: "2h"})
			in := rented(input(camp, applied(t, camp, state.Running)), "1")
			in.Pools[0].Price, in.Pools[0].Name, in.Pools[0].Word = c.is, "fat", "partition"
			s := camp.Phases[0].Requests(lang.Run)[0].Shape
			was := place.Decision{Backend: "local.local", Shape: s, Price: c.was}
			most, _ := place.AtMost(s, c.was, 0, 0)
			for _, j := range in.State.Jobs {
				j.Attempts[0].Pool = "fat"
				j.Attempts[0].Rates, j.Attempts[0].Ceiling = was.Rates(s), amount.Texts(most)
			}
			if c.away {
				in.Pools = nil
				in.Observed = Observed{Refreshed: true, Unreachable: map[string]string{"local.local": "no route to host"}}
			}
			p, _ := Make(in)
			if l := forecast.LineOf(p.Forecast.Lines, "usd"); l.AtMost.Text != "6" {
				t.Errorf("at most $%+v", l.AtMost)
			}
			got := forecast.LineOf(p.Forecast.Lines, "service_units").AtMost
			if text := got.Text; c.most == "?" && got.Mark != forecast.Unknown || c.most != "?" && (text != c.most || got.Mark == forecast.Unknown) {
				t.Errorf("at most %+v service units, not %q", got, c.most)
			}
			for _, b := range p.Budgets { // nothing starts, so that nothing can be stopped
				if said := strings.Join(b.Warn, "; "); len(b.Broken) > 0 || strings.Contains(said, "is unknown") != (b.Name == "units" && c.most == "?") {
					t.Errorf("budget %s: %v %v", b.Name, b.Broken, b.Warn)
				} else if strings.Contains(said, "is unknown") && !strings.Contains(said, "the charge of local.local fat in them is unknown") {
					t.Errorf("it does not say where: %s", said)
				}
			}
		})
	}
}

func TestJobCeilingIsOnTheDearestCandidate(t *testing.T) {
	t.Parallel()
	c := load(t, func(c *lang.Campaign) { c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab"}) },
		phaseSpec{name: "a", lr: "1", gpus: 1, wall: "2h", mod: func(p *lang.Phase) {
			p.Candidates, p.Retry = []string{"local.local", "ssh.lab"}, lang.Retry{Policy: retry.Policy{On: []string{"killed"}, Max: 3}}
		}})
	in := rented(input(c, nil), "1")
	in.Pools = append(in.Pools, offer.Pool{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 8, GPUs: 2, GPUModel: "A100", Idle: 2, Total: 2, Price: offer.Price{Known: true, USDPerGPUHour: "2.5"}})
	p := planned(t, in)
	got, known := ceiling.Ceiling(p.Phases[0].Decision(0), p.Phases[0].Phase.Retry, in.Pools)
	if got["usd"].String() != "15" || !known.All() {
		t.Errorf("2 h on 1 GPU at $2.50, 3 launches: got %v", got)
	}
	if p.Phases[0].Decision(0).Backend != "local.local" {
		t.Errorf("placed on %s", p.Phases[0].Decision(0).Backend)
	}
}

func TestTransfers(t *testing.T) {
	// Requirement: HND-01, HND-10
	split := func(c *lang.Campaign) {
		c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab"})
		c.Phases[0].Candidates = []string{"ssh.lab"}
	}
	for name, c := range map[string]struct {
		edit  func(st *state.State)
		files int
		bytes int64
		after string
	}{
		"producers run first: size known after": {files: 3, bytes: -1, after: "a"},
		"producers are done: sizes as recorded": {edit: func(st *state.State) { only(st, "a") }, files: 3, bytes: 30},
		"a verified copy is there: nothing for it": {edit: func(st *state.State) {
			only(st, "a")
			st.Jobs[`phase.a["seed=1"]`].Outputs[0].Copies = []state.Copy{{Backend: "local.local"}}
		}, files: 2, bytes: 20},
		"nobody runs: nothing moves": {edit: func(*state.State) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			camp := load(t, split, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2, 3}, lr: "1", input: "a"})
			in := input(camp, &state.State{})
			if c.edit != nil {
				in.State = applied(t, camp, state.Completed)
				for _, job := range in.State.Jobs {
					if job.Phase == "a" {
						job.Outputs[0].Backend = "ssh.lab"
					}
				}
				c.edit(in.State)
			}
			p := planned(t, in)
			if c.files == 0 {
				if len(p.Transfers) > 0 {
					t.Fatalf("got %+v", p.Transfers)
				}
				return
			}
			if len(p.Transfers) != 1 {
				t.Fatalf("got %+v", p.Transfers)
			}
			if x := p.Transfers[0]; x.Files != c.files || x.Bytes != c.bytes || x.After != c.after || x.Push || x.From != "ssh.lab" || x.To != "local.local" {
				t.Errorf("got %+v", x)
			}
		})
	}
}

// TestTransfersArePriced: known of files that are there, guessed of those like
// them, and unknown of those that nobody made yet.
func TestTransfersArePriced(t *testing.T) {
	// Requirement: HND-07
	t.Parallel()
	split := func(c *lang.Campaign) {
		c.Backends = append(c.Backends, &lang.Backend{Type: "ssh", Name: "lab", Price: offer.Price{Known: true, USDPerGBOut: "1e9"}}) // $1 a byte
		c.Phases[0].Candidates = []string{"ssh.lab"}
		c.Budgets = []lang.Budget{{Name: "cash", Limits: map[string]string{"usd": "100"}, AppliesTo: []string{"phase.a"}}}
	}
	camp := load(t, split, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2, 3}, lr: "1", input: "a"}, phaseSpec{name: "c", seeds: []int{2}, lr: "1", input: "a"})
	for name, c := range map[string]struct {
		done         int // jobs of a
		p90, most    string
		mark         forecast.Mark
		broken, ends string
	}{
		"made":         {3, "30", "30", forecast.Known, "", "[30 10]"},
		"one was made": {1, "30", "30", forecast.Estimated, "", "[30 10]"},
		"none was":     {0, "", "", forecast.Unknown, "with -target=phase.a", "[ ]"},
	} {
		in := input(camp, applied(t, camp, state.Completed))
		only(in.State, "a")
		for address, job := range in.State.Jobs {
			if job.Outputs[0].Backend = "ssh.lab"; address > fmt.Sprintf(`phase.a["seed=%d"]`, c.done) {
				delete(in.State.Jobs, address)
			}
		}
		p := planned(t, in)
		l := forecast.LineOf(p.Forecast.Lines, place.USD)
		if l.P90.Text != c.p90 && c.p90 != "" || l.AtMost.Text != c.most && c.most != "" || l.P90.Mark != c.mark {
			t.Errorf("%s: %+v", name, l)
		}
		if got := strings.Join(p.Budgets[0].Broken, "\n"); (got == "") != (c.broken == "") || !strings.Contains(got, c.broken) {
			t.Errorf("%s: %q", name, got)
		}
		var each []string
		for _, x := range p.Transfers {
			each = append(each, x.Cost.Expected)
		}
		if fmt.Sprint(each) != c.ends {
			t.Errorf("%s: %v", name, each)
		}
	}
}

// only keeps the records of one phase.
func only(st *state.State, phase string) {
	for address, job := range st.Jobs {
		if job.Phase != phase {
			delete(st.Jobs, address)
		}
	}
}

func TestInputBytes(t *testing.T) {
	for _, rerun := range []bool{false, true} {
		t.Run(map[bool]string{false: "listed, not re-run", true: "rerun_on_input_bytes"}[rerun], func(t *testing.T) {
			t.Parallel()
			c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a", mod: func(p *lang.Phase) { p.Lifecycle.RerunOnInputBytes = rerun }})
			st := applied(t, c, state.Completed)
			for seed, digest := range map[string]string{"1": "sha256:other", "2": `sha256:phase.a["seed=2"]`} {
				st.Jobs[`phase.b["seed=`+seed+`"]`].InputBytes = state.TextsOf(map[string]string{"x": digest})
			}
			want := []Kind{Bytes, None}
			if rerun {
				want[0] = Rerun
			}
			if got := planned(t, input(c, st)).Phases[1].Kind; !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			st.Holds = []state.Hold{{Who: "ada"}}
			if want[0] == Rerun {
				want[0] = HeldKind
			}
			if got := planned(t, input(c, st)).Phases[1].Kind; !slices.Equal(got, want) {
				t.Errorf("held: got %v, want %v", got, want)
			}
		})
	}
}

func TestMissingNeedTravelsUp(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1", input: "a"}, phaseSpec{name: "c", lr: "1", input: "b"})
	st := applied(t, c, state.Completed)
	delete(st.Jobs, "phase.c")
	in := input(c, st)
	gone := []offer.Output{{Name: "out", Verdict: "missing"}}
	in.Observed = Observed{Refreshed: true, Outputs: map[string][]offer.Output{"phase.a": gone, "phase.b": gone}}
	p := planned(t, in)
	if p.Counts.Rerun != 2 || p.Counts.Run != 1 {
		t.Errorf("c needs b, and b needs a: %+v", p.Counts)
	}
	if reruns, _ := p.DestructiveRows(); !slices.Equal(reruns, []string{"phase.a", "phase.b"}) {
		t.Errorf("re-runs by name: %v", reruns)
	}
}

func TestProducerRerunWithTheSameHashLeavesConsumersAlone(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1", input: "a"})
	in := input(c, applied(t, c, state.Completed))
	in.Options.Rerun = []string{"phase.a"}
	p := planned(t, in)
	if p.Phases[0].Kind[0] != Rerun || p.Phases[1].Kind[0] != None {
		t.Errorf("got %v %v", p.Phases[0].Kind, p.Phases[1].Kind)
	}
}

func TestTargetTakesWhatItNeeds(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2}, lr: "1", input: "a"})
	in := input(c, nil)
	in.Options.Targets = []string{`phase.b["seed=2"]`}
	p := planned(t, in)
	if !slices.Equal(p.Phases[0].Kind, []Kind{Skipped, Run}) || !slices.Equal(p.Phases[1].Kind, []Kind{Skipped, Run}) {
		t.Errorf("got %v %v", p.Phases[0].Kind, p.Phases[1].Kind)
	}
	if p.Counts.Selected != 1 || p.Counts.Total != 4 || !strings.Contains(strings.Join(p.Notes, "\n"), "1 of 4 jobs selected, and 1 that they need; 2 others would change") {
		t.Errorf("%+v %q", p.Counts, p.Notes)
	}
}

// TestTargetTakesWhatItsSmokeNeeds: the smoke before a selected job may be that of another cell.
func TestTargetTakesWhatItsSmokeNeeds(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", seeds: []int{1, 2, 3}, lr: "1"}, phaseSpec{name: "b", seeds: []int{1, 2, 3}, lr: "1", input: "a", smoke: true})
	in := input(c, nil)
	in.Options.Targets = []string{`phase.b["seed=2"]`}
	p := planned(t, in)
	if !slices.Equal(p.Phases[0].Kind, []Kind{Run, Run, Skipped}) || !slices.Equal(p.Phases[1].Kind, []Kind{Skipped, Run, Skipped}) {
		t.Errorf("got %v %v", p.Phases[0].Kind, p.Phases[1].Kind)
	}
}

// TestRecordsAreComparedInTheirScheme changes a package variable, so it does
// not run beside other tests.
func TestRecordsAreComparedInTheirScheme(t *testing.T) {
	c := load(t, nil, phaseSpec{name: "a", lr: "1"}, phaseSpec{name: "b", lr: "1", input: "a"})
	result.Schemes[2] = "another text\n"
	defer delete(result.Schemes, 2)
	st := applied(t, c, state.Completed)
	h := result.New(2, nil)
	for _, p := range c.Phases {
		job := st.Jobs[p.Address(0)]
		job.Result = h.Phase(p)[0].String()
	}
	for scheme, unchanged := range map[int]int{1: 0, 2: 2} {
		for _, job := range st.Jobs {
			job.Scheme = scheme
		}
		if p := planned(t, input(c, st)); p.Counts.Unchanged != unchanged {
			t.Errorf("compared in scheme %d: %+v", scheme, p.Counts)
		}
	}
	st.Jobs["phase.a"].Scheme = 99
	if _, diags := Make(input(c, st)); !diags.HasErrors() {
		t.Error("a scheme of a newer muster must be an error")
	}
}

func TestSecretMissing(t *testing.T) {
	t.Parallel()
	c := load(t, nil, phaseSpec{name: "a", lr: "1", mod: func(p *lang.Phase) { p.Secrets = []lang.Secret{{Name: "TOKEN", Env: "TOKEN"}} }})
	in := input(c, nil)
	in.Observed.Secrets = map[string]string{"TOKEN": "the variable TOKEN is not set"}
	if _, diags := Make(in); !diags.HasErrors() || !strings.Contains(diags[0].Detail, "not set") {
		t.Errorf("got %v", diags)
	}
}

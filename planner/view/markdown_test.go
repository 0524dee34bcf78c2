package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestMarkdownForAStranger: what a plan does, when it ends, what could go wrong
// and what a yes allows stand in sentences, before anything is folded.
func TestMarkdownForAStranger(t *testing.T) {
	t.Parallel()
	src := "campaign \"c\" {}\n" + phase("train", 9, "  smoke {\n    walltime = \"10m\"\n    cells = \"first\"\n  }\n")
	for name, c := range map[string]struct {
		mod    func(*planner.Plan)
		says   []string
		silent []string
	}{
		"nothing ran before": {func(*planner.Plan) {}, []string{
			"Nothing has started.", "- runs **9 jobs** on `local.local`;", "- first runs 1 job in short (a smoke): if one fails, nothing bigger of its phase starts;",
			"in nine cases of ten within 3h 10m, which is 2026-10-01 12:10 UTC if applied when it was planned (2026-10-01 09:00 UTC)",
			"- **no history**: some jobs have never run", "**What your approval allows:** this plan, and no more than 9.2 CPU-hours",
		}, nil},
		"what stops after the smokes": {func(p *planner.Plan) {
			p.Forecast.Basis = []string{"train: mean of 10 runs", "a: not comparable: epochs 400 → 40,000"}
		},
			[]string{"- **muster off**: 9 jobs of `train` wait for muster after 1 smoke: if it is closed, they start with your next `muster apply -once`", "- **smoke**: if the smoke of `train` fails or is preempted, nothing repeats it: 9 jobs wait for `muster resume train`", "**other work**: a: not comparable"}, []string{"no history"}},
		"history, and nothing to fear": {func(p *planner.Plan) {
			p.Forecast.Basis, p.Notes, p.Unattended, p.Phases[0].Smoke = []string{"train: mean of 10 runs"}, nil, nil, nil
			p.Phases[0].Records = []*state.Job{{Attempts: slices.Repeat([]state.Attempt{{Ended: p.Now}}, 10)}, nil, nil, nil, nil, nil, nil, nil, nil}
		}, []string{"**What could go wrong:** nothing that muster knows of"}, []string{"no history"}},
		"an error": {func(p *planner.Plan) {
			p.Diags = diag.List{{Summary: "no place fits", Detail: "Every candidate was looked at:\n\n  x: no", In: `phase "train"`}}
		}, []string{"- **error** `phase \"train\"`: no place fits. Every candidate was looked at:<br>x: no", "**What your approval allows:** nothing. A plan with errors cannot be applied"}, []string{"␊"}},
		"a broken budget": {func(p *planner.Plan) {
			p.Budgets = []planner.BudgetCheck{{Name: "paper", Broken: []string{"p90 is $4"}, Limits: state.Amounts{"usd": "1"}}}
		}, []string{"- **budget** `paper`: p90 is $4", "**What your approval allows:** nothing."}, nil},
		"four budgets": {func(p *planner.Plan) {
			for _, name := range []string{"one", "two", "three", "four"} {
				p.Budgets = append(p.Budgets, planner.BudgetCheck{Name: name, Limits: state.Amounts{"usd": "4", "gpu_hours": "60"}})
			}
			p.Budgets[3].Deadline = p.Now
		}, []string{"| budget one | budget two |", "Limits beside these: budget `three` $4.00, 60.0 GPU-hours; budget `four` $4.00, 60.0 GPU-hours, done by 2026-10-01 09:00 UTC.\n"}, nil},
		"a date that is near": {func(p *planner.Plan) {
			p.Notes, p.Dangers = []string{"the allocation ends tomorrow.", "code: untracked"}, []string{"the allocation ends tomorrow."}
		}, []string{"- **date**: the allocation ends tomorrow.\n", "  code: untracked"}, []string{"  the allocation ends tomorrow."}},
		"what waits for an answer": {func(p *planner.Plan) {
			p.Phases[0].Kind[0], p.Phases[0].Kind[1], p.Counts.Held, p.Counts.Run = planner.HeldKind, planner.HeldKind, 2, 7
			p.Phases[0].Placements = append(p.Phases[0].Placements, place.Decision{Away: "sim.x cannot be asked"})
			p.Phases[0].Place[0] = uint16(len(p.Phases[0].Placements) - 1)
		}, []string{"- **held**: 1 job is held"}, []string{"2 jobs are held"}},
		"a part that has no place": {func(p *planner.Plan) { p.Phases[0].Place[8] = 0 }, []string{"on `local.local` (8); 1 of them cannot run anywhere, and their cost is unknown"}, nil},
		"nothing has a place":      {func(p *planner.Plan) { clear(p.Phases[0].Place); p.Forecast.Walltime = forecast.Span{} }, []string{"runs **9 jobs**, but nowhere: they have no place"}, []string{"done after 0s"}},
		"results replaced": {func(p *planner.Plan) {
			p.Phases[0].Kind[0], p.Counts.Rerun, p.Counts.Run = planner.Rerun, 1, 8
			p.Phases[0].Details[0] = planner.Detail{Destroy: true}
		}, []string{"- runs **1 job again** on `local.local` although they had a result; the old files are moved aside;", "- **loss**: the results of 1 job are replaced", "  - re-run `phase.train[\"seed=0\"]`"}, nil},
		"a backend away": {func(p *planner.Plan) {
			p.Backends = append(p.Backends, planner.BackendView{Name: "slurm.x", Problem: "no route @all"},
				planner.BackendView{Name: "ssh.y", Fallback: "slurm.x cannot be asked (no route @all): ssh.y instead"})
		}, []string{"- **backend** `slurm.x`: cannot be asked: no route @\u200ball", "- **backend** `ssh.y`: slurm.x cannot be asked: ssh.y instead"}, nil},
		"every kind of change": {func(p *planner.Plan) {
			p.Counts = planner.Counts{Resubmit: 1, Cancel: 2, Adopt: 3, Move: 4, Accept: 5, Record: 6, Forget: 7, Release: 8, Delete: 9, Unchanged: 10}
		}, []string{
			"- resubmits **1 job** that wait in a queue", "- **cancels 2 jobs**;", "- adopts 3 jobs", "- keeps the results of 4 jobs under their new addresses", "- keeps the results of 5 jobs although", "- checks the outcome of 6 jobs",
			"- forgets 7 jobs that the campaign no longer has; their files stay;", "- leaves 10 jobs as they are, done and verified;", "- **gives 8 rented machines back**;", "- **deletes 9 outputs**",
		}, nil},
		"only rows of the record": {func(p *planner.Plan) { p.Counts = planner.Counts{Forget: 7, Total: 9, Selected: 9} },
			[]string{"- forgets 7 jobs that the campaign no longer has; their files stay.\n"}, []string{"| expected |", "It is expected"}},
		"jobs that run are started anew": {func(p *planner.Plan) {
			for i := range p.Phases[0].Kind {
				p.Phases[0].Kind[i] = planner.Restart
				p.Phases[0].Details[i] = planner.Detail{Destroy: true}
			}
			p.Counts.Rerun, p.Counts.Run = 9, 0
		}, []string{"- **cancels 9 jobs under way and runs their work again** on `local.local`", "  - cancel and re-run 9 jobs of `phase.train`, the first `phase.train[\"seed=0\"]`\n"}, []string{"runs **9 jobs again**", "seed=1"}},
		"a description that mentions somebody": {func(p *planner.Plan) { p.About = "ask @torvalds of #12 and !34" }, []string{"ask @\u200btorvalds of #\u200b12 and !\u200b34"}, []string{"&#64;", "&#35;"}},
		"marks above letters":                  {func(p *planner.Plan) { p.About = "Z" + strings.Repeat("\u0301", 100_000) }, []string{"\u0301…\n\nNothing has started.", "**What your approval allows:** this plan"}, nil},
		"what the campaign is for":             {func(p *planner.Plan) { p.About = "Teachers <b>" }, []string{"\n\nTeachers &lt;b&gt;\n\n"}, nil},
		"a held phase": {func(p *planner.Plan) {
			p.Counts = planner.Counts{Held: 9, Total: 9, Selected: 9}
			p.Phases[0].Hold = "smoke failed: NaN"
			for i := range p.Phases[0].Kind {
				p.Phases[0].Kind[i] = planner.HeldKind
				p.Phases[0].Details[i] = planner.Detail{Text: "smoke failed: NaN"}
			}
		}, []string{"Applying it would start nothing.", "! held: smoke failed: NaN\n"}, []string{"+ smoke", "| expected |", "9   smoke failed"}},
		"what runs from before": {func(p *planner.Plan) { p.Counts.Continue = 2 }, []string{"2 jobs are under way from before; this plan has started nothing. If it is applied, muster\n"}, []string{"Nothing has started"}},
		"a pilot":               {func(p *planner.Plan) { p.Phases[0].Pilot = []int{0} }, []string{"- runs 1 job of these before the others of the phase (a pilot): if one fails, the others wait for a person;\n"}, nil},
		"why they wait": {func(p *planner.Plan) {
			p.Counts.Held = 3
			for i := range 3 {
				p.Phases[0].Kind[i] = planner.HeldKind
				p.Phases[0].Details[i] = planner.Detail{Text: []string{"nan: <loss>", "oom", "nan: <loss>"}[i]}
			}
		}, []string{"`muster resume` releases the held jobs.\n  - 2 of `train`: nan: &lt;loss&gt;\n  - 1 of `train`: oom\n"}, nil},
		"why they wait where the phase is held, too": {func(p *planner.Plan) {
			p.Counts = planner.Counts{Held: 3, Total: 9, Selected: 9}
			p.Phases[0].Hold = "the smoke failed: NaN"
			for i := range 3 {
				p.Phases[0].Kind[i] = planner.HeldKind
				p.Phases[0].Details[i] = planner.Detail{Text: []string{"the smoke failed: NaN", "oom", "held by ada"}[i]}
			}
		}, []string{"\n  - 1 of `train`: the smoke failed: NaN\n  - 1 of `train`: oom\n  - 1 of `train`: held by ada\n"}, nil},
		"what waits":            {func(p *planner.Plan) { p.Counts.Held, p.Counts.Blocked = 2, 3 }, []string{"- **held**: 2 jobs are held", "`muster resume` releases the held jobs", "- **blocked**: 3 jobs are blocked by jobs that are held"}, nil},
		"a saved plan is asked": {func(p *planner.Plan) { p.Asks = []string{"it may cost up to $400"} }, []string{"It needs a saved plan: it may cost up to $400."}, nil},
		"nothing to do": {func(p *planner.Plan) { p.Counts = planner.Counts{Unchanged: 9, Total: 9, Selected: 9} }, []string{"Nothing to do: 9 jobs are done and verified."},
			[]string{"What could go wrong", "What a yes allows", "| expected |"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, src)
			c.mod(p)
			var b strings.Builder
			if err := Markdown(&b, p); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.says {
				if !strings.Contains(b.String(), want) {
					t.Errorf("does not say %q\n%s", want, b.String())
				}
			}
			for _, bad := range c.silent {
				if strings.Contains(b.String(), bad) {
					t.Errorf("says %q\n%s", bad, b.String())
				}
			}
			if !strings.HasPrefix(b.String(), "### muster plan: campaign `c`\n\n**") {
				t.Errorf("begins with %.80q", b.String())
			}
			checkMarkdown(t, p)
		})
	}
}

// TestMarkdownUnknownCost: a price that nobody knows is a risk, and never a
// zero.
func TestMarkdownUnknownCost(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("train", 3, ""), func(in *planner.Input) {
		in.Pools = []offer.Pool{{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, Idle: 4, Total: 4}}
	})
	var b strings.Builder
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "- **no upper bound**: the most that the plan may take in money is unknown") || !strings.Contains(s, "| money | unknown |") {
		t.Error(s)
	}
}

// TestMarkdownNeverLeavesABlockOpen: with a head of any length the comment fits, and says what
// a yes allows.
func TestMarkdownNeverLeavesABlockOpen(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 10, 20, 100} {
		p := plan(t, "campaign \"c\" {}\n"+phase("train", 3, ""))
		for i := range n {
			in := fmt.Sprintf("phase %d ``` ````", i)
			p.Diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: strings.Repeat("@", 200), Detail: strings.Repeat(strings.Repeat("#@", 200)+"\n", 9), In: in})
			p.Notes = append(p.Notes, strings.Repeat("``` ````` ", 100))
		}
		var b strings.Builder
		if err := Markdown(&b, p); err != nil {
			t.Fatal(err)
		}
		s := outsideFences(b.String())
		if len(b.String()) > 60_000 || strings.Contains(s, "left open") || strings.Count(s, "<details") != strings.Count(s, "</details>") || !strings.Contains(s, "**What your approval allows:**") {
			t.Errorf("%d warnings: %d bytes\n%.2000s", n, b.Len(), s)
		}
	}
}

// TestMarkdownSaysWhatTheJobsAre: a stranger reads what a phase runs, over
// what, what was spent, and what failed before.
func TestMarkdownSaysWhatTheJobsAre(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("train", 9, ""))
	pp := p.Phases[0]
	pp.Kind[0] = planner.None
	ended := p.Now.Add(-time.Hour)
	pp.Records = make([]*state.Job, 9)
	pp.Records[0] = &state.Job{Attempts: []state.Attempt{{N: 1, Class: "oom_gpu", Ended: ended}, {N: 2, Class: "oom_gpu", Ended: ended}, {N: 3, Class: "walltime", Ended: ended}, {N: 4, Ended: ended}}}
	p.Budgets = []planner.BudgetCheck{{Name: "paper", Limits: state.Amounts{"usd": "40"}, Spent: state.Amounts{"usd": "12.5"}}}
	var b strings.Builder
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- `train`: 8 of 9 jobs, one for each `seed` (9)", ", 1h at the longest, on `local.local` (CPU work goes to the cheapest place that starts soonest). The first runs `train 1`", "Spent before this plan, and not in the figures: $12.50 of budget `paper`.",
		"- **failed so far** `phase.train`: 3 of 4 launches failed so far (2 × oom_gpu, 1 × walltime)",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q\n%s", want, b.String())
		}
	}
}

// TestMarkdownTellsRequestsApart: where jobs of one phase ask for different things, each kind
// has a count, a time, a place and a reason; the command has paths in place of their names.
func TestMarkdownTellsRequestsApart(t *testing.T) {
	t.Parallel()
	src := "campaign \"c\" {}\nphase \"train\" {\n  grid {\n    axes = { size = [1, 2, 3] }\n  }\n  job {\n    command = \"train ${output.w}\"\n    resources {\n" +
		"      cpus = cell.size\n      walltime = \"${cell.size}h\"\n    }\n    output \"w\" { path = \"w/${cell.size}.pt\" }\n  }\n}\n"
	var b strings.Builder
	if err := Markdown(&b, plan(t, src)); err != nil {
		t.Fatal(err)
	}
	why := ", on `local.local` (CPU work goes to the cheapest place that starts soonest)\n"
	want := "- `train`: 3 jobs, one for each `size` (3). The first runs `train w/1.pt`\n" +
		"  - 1 job, 1h at the longest, 1 core" + why + "  - 1 job, 2h at the longest, 2 cores" + why + "  - 1 job, 3h at the longest, 3 cores" + why
	if !strings.Contains(b.String(), want) {
		t.Error(b.String())
	}
}

// TestMarkdownNamesInputs: a command that reads what another phase makes says
// whose it is.
func TestMarkdownNamesInputs(t *testing.T) {
	t.Parallel()
	src := "campaign \"c\" {}\nphase \"a\" {\n  job {\n    command = \"make ${output.w}\"\n    output \"w\" { path = \"w.pt\" }\n  }\n}\n" +
		"phase \"b\" {\n  job {\n    command = \"read ${input.it} ${input_file.all}\"\n    input \"it\" { from = phase.a.output.w }\n    input \"all\" { from_all = phase.a.output.w }\n  }\n}\n"
	var b strings.Builder
	if err := Markdown(&b, plan(t, src)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"It runs `make w.pt`", "It runs `read <w of a> <list: w of a>`"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("does not say %q\n%s", want, b.String())
		}
	}
}

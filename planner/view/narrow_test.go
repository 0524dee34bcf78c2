package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestNarrowScreens: a plan is laid out for its screen, and what does not fit
// beside a row is folded, not lost.
func TestNarrowScreens(t *testing.T) {
	t.Parallel()
	const why = "breaker open since 2026-11-21 09:41: the same error 3 times in a row: unknown, exit 3; `muster resume phase.students` closes it"
	src := "campaign \"c\" {}\n" + phase("teachers", 3, "") + phase("students", 40, "  depends_on = [phase.teachers]\n") + phase("figure", 1, "  depends_on = [phase.students]\n")
	for _, width := range []int{0, 60, 80, 90, 100, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			p := plan(t, src)
			pp := p.Phase("students")
			for i := range pp.Kind {
				pp.Kind[i] = planner.HeldKind
				pp.Details[i] = planner.Detail{Text: why}
			}
			p.Budgets = []planner.BudgetCheck{{Name: "the first of them", Limits: state.Amounts{"usd": "1"}}, {Name: "the second one", Limits: state.Amounts{"usd": "1"}}}
			s := screen(t, Human{Style: term.Style{UTF8: true, Width: width}}, p)
			most := min(max(width, 80), 100)
			if width == 0 {
				most = 100
			}
			for _, l := range strings.Split(s, "\n") {
				if term.Width(l) > most {
					t.Errorf("%d columns: %s", term.Width(l), l)
				}
			}
			text := strings.Join(strings.Fields(s), " ")
			for _, want := range []string{why, "critical path: teachers → students → figure", `budget "the first of them"`} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not on\n%s", want, s)
				}
			}
			if two := strings.Contains(text, "the second one"); !two && !strings.Contains(text, "1 more budget") {
				t.Errorf("the second budget is lost\n%s", s)
			}
		})
	}
}

// TestHostsOfAPhase: like jobs on several hosts are one row, and the head says
// how many each gets.
func TestHostsOfAPhase(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("students", 36, ""))
	pp := p.Phase("students")
	one := pp.Placements[1]
	one.Backend, one.Kind, one.Word = "ssh.lab", offer.HostPool, "host"
	for i := range 8 {
		d := one
		d.Pool = fmt.Sprintf("h%d", i)
		if i == 0 {
			pp.Placements[1] = d
			continue
		}
		pp.Placements = append(pp.Placements, d)
	}
	for i := range pp.Place {
		pp.Place[i] = uint16(1 + i%8)
	}
	s := screen(t, Human{Style: utf8}, p)
	if want := "ssh.lab, hosts h0 (5), h1 (5), h2 (5), h3 (5), h4 (4), 3 more"; !strings.Contains(s, want) {
		t.Errorf("not %q on\n%s", want, s)
	}
	if !strings.Contains(s, "+ run         36 × ≤1h") {
		t.Errorf("not one row of 36 on\n%s", s)
	}
}

// TestMissingOutputsAreOneRow: by which outputs are gone, not by file.
func TestMissingOutputsAreOneRow(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("train", 9, ""))
	pp := p.Phases[0]
	for i := range pp.Kind {
		pp.Kind[i] = planner.Missing
		pp.Details[i] = planner.Detail{Text: fmt.Sprintf("output model: out/%d: missing", i), Lacks: []string{"model"}}
	}
	s := screen(t, Human{Style: utf8}, p)
	if strings.Count(s, "? missing") != 1 || !strings.Contains(s, "output model") {
		t.Error(s)
	}
}

// TestMarkdownSaysWhatIsRisky: warnings are in the comment, budgets once.
func TestMarkdownSaysWhatIsRisky(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("train", 9, ""))
	p.Budgets = []planner.BudgetCheck{{Name: "paper", Broken: []string{"p90 is $4"}}}
	p.Diags = diag.List{
		{Severity: diag.Warning, Summary: "jobs are likely to need longer than their walltime", Detail: "5 jobs of phase.train.", In: `phase "train"`},
		{Severity: diag.Warning, Summary: `budget "paper" does not cover this plan`, Detail: "p90 is $4.", In: `budget "paper"`},
	}
	var b strings.Builder
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{"need longer than their walltime. 5 jobs of phase.train.": 1, "p90 is $4": 1, "nine campaigns in ten": 1} {
		if got := strings.Count(b.String(), text); got != n {
			t.Errorf("%q stands there %d times, not %d\n%s", text, got, n, b.String())
		}
	}
}

// TestProblemIsToldWhole: its end says what to do.
func TestProblemIsToldWhole(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("a", 3, ""))
	p.Backends = append(p.Backends, planner.BackendView{Name: "ssh.lab", Problem: "cannot reach gpu-box-that-is-not-there.cs.university.example: no such host; check the name, or add it to ~/.ssh/config"})
	got := screen(t, Human{Style: term.Style{UTF8: true, Width: 80}}, p)
	if words := strings.Join(strings.Fields(got), " "); !strings.Contains(words, "no such host; check the name, or add it to ~/.ssh/config") {
		t.Errorf("it is cut off:\n%s", got)
	}
	for line := range strings.SplitSeq(got, "\n") {
		if term.Width(line) > 80 {
			t.Errorf("wider than the screen: %s", line)
		}
	}
}

// TestALongNameLeavesTheFigures: the text after a name is not cut for it.
func TestALongNameLeavesTheFigures(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	p := plan(t, "campaign \"c\" {}\n"+phase(long, 3, "")+phase("figure", 1, ""))
	for _, style := range []term.Style{{UTF8: true, Width: 80}, {Width: 80}, {UTF8: true, Width: 140}, {UTF8: true}} {
		h := Human{Style: style}
		s := screen(t, h, p)
		for _, want := range []string{"3 × ≤", "3 jobs", "phase.figure"} {
			if !strings.Contains(s, style.Text(want)) {
				t.Errorf("%+v: no %q in\n%s", style, style.Text(want), s)
			}
		}
		if costs := h.costParts(p); !strings.Contains(costs, "CPU-hours") || strings.Contains(costs, long) {
			t.Errorf("%+v:\n%s", style, costs)
		}
	}
}

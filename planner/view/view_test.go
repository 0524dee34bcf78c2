package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

var now = time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)

// plan plans a campaign on this machine.
func plan(t testing.TB, src string, mods ...func(*planner.Input)) *planner.Plan {
	t.Helper()
	c, diags := lang.LoadFiles(map[string][]byte{"test.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}, "ssh": {Type: "ssh"}}})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	in := planner.Input{Campaign: c, Now: now, Pools: []offer.Pool{{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: 4, Idle: 4, Total: 4, Price: offer.Price{Known: true}}}}
	for _, m := range mods {
		m(&in)
	}
	p, more := planner.Make(in)
	if more.HasErrors() {
		t.Fatal(more)
	}
	return p
}

// phase is the source of a phase of n jobs.
func phase(name string, n int, more string) string {
	return fmt.Sprintf("phase %q {\n  grid {\n    axes = { seed = range(%d) }\n  }\n  job {\n    command = \"train ${cell.seed}\"\n    resources {\n      walltime = \"1h\"\n    }\n  }\n%s}\n", name, n, more)
}

func screen(t testing.TB, h Human, p *planner.Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := h.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	utf8  = term.Style{UTF8: true, Width: term.MaxWidth}
	ascii = term.Style{Width: term.MaxWidth}
)

// checkScreen holds what is true of every screen.
func checkScreen(t *testing.T, s string) {
	t.Helper()
	lines := strings.Split(s, "\n")
	if n := len(lines); n > 110 {
		t.Errorf("%d lines are more than a screen bears", n)
	}
	for _, l := range lines {
		if w := term.Width(l); w > term.MaxWidth {
			t.Errorf("%d columns: %s", w, l)
		}
		if strings.HasSuffix(l, " ") {
			t.Errorf("ends in spaces: %q", l)
		}
		for _, r := range l {
			if r < 0x20 || r == 0x7f {
				t.Errorf("a control character: %q", l)
				break
			}
		}
	}
}

func TestScreensStaySmall(t *testing.T) {
	t.Parallel()
	many := "campaign \"many\" {}\n"
	for i := range 300 {
		many += phase(fmt.Sprintf("phase%d", i), 3, "")
	}
	for name, p := range map[string]*planner.Plan{
		"one phase of 100,000 jobs": plan(t, "campaign \"c\" {}\n"+phase("train", 100_000, "")),
		"300 phases":                plan(t, many),
		"a very long name":          plan(t, "campaign \"c\" {}\n"+phase(strings.Repeat("a", 60), 2, "")+phase(strings.Repeat("b", 60), 2, "  depends_on = [phase."+strings.Repeat("a", 60)+"]\n")),
		"hostile texts":             hostile(plan(t, "campaign \"c\" {}\n"+phase("train", 3, ""))),
	} {
		for style, s := range map[string]term.Style{"UTF-8": utf8, "ASCII": ascii} {
			t.Run(name+" "+style, func(t *testing.T) {
				text := screen(t, Human{Style: s}, p)
				checkScreen(t, text)
				if style == "ASCII" && strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f }) && name != "hostile texts" {
					t.Errorf("letters beyond ASCII:\n%s", text)
				}
			})
		}
		t.Run(name+" Markdown", func(t *testing.T) {
			checkMarkdown(t, p)
		})
	}
}

const evil = "\x1b[2J\x1b]0;owned\a`x` ```` | </details><script>alert(1)</script> @everyone [a](http://b)\n# head\r\u202e"

// hostile fills every foreign text of a plan with what would harm a terminal
// or a forge.
func hostile(p *planner.Plan) *planner.Plan {
	p.Reason = evil
	p.Notes = append(p.Notes, evil, strings.Repeat("x", 500))
	for i := range 100 {
		p.Notes = append(p.Notes, fmt.Sprint(evil, i))
		p.Backends = append(p.Backends, planner.BackendView{Name: fmt.Sprintf("ssh.b%d", i), Summary: evil, Problem: evil, Fallback: evil, Facts: "facts of 2026-05"})
		p.Budgets = append(p.Budgets, planner.BudgetCheck{Name: evil, Limits: state.Amounts{"usd": "40"}, Broken: []string{evil}, Warn: []string{strings.Repeat(evil, 100)}})
		p.Forecast.Basis = append(p.Forecast.Basis, evil+fmt.Sprint(i))
		p.Loose = append(p.Loose, planner.Row{Kind: planner.Cancel, Address: "phase.old[\"" + evil + "\"]", Detail: planner.Detail{Text: evil, Destroy: true}})
		p.Transfers = append(p.Transfers, planner.Transfer{Phase: "train", From: "ssh.b1", To: "local.local", Files: 1_000_000, Bytes: -1, After: "old"})
	}
	for i := range 100 {
		p.Diags.Append(diag.Diagnostic{Summary: evil, Detail: strings.Repeat(evil, 50) + fmt.Sprint(i), In: "phase \"" + evil + "\"", Severity: diag.Warning})
	}
	pp := p.Phases[0]
	pp.Hold = evil
	for i := range pp.Kind {
		pp.Kind[i] = planner.HeldKind
		pp.Details[i] = planner.Detail{Text: evil + fmt.Sprint(i), Reasons: []planner.Reason{{Field: "command", Old: evil, New: evil}}}
	}
	return p
}

// outsideFences is the Markdown that a forge interprets.
func outsideFences(s string) string {
	var out []string
	fence := ""
	for _, l := range strings.Split(s, "\n") {
		ticks := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && l == fence:
			fence = ""
		case fence == "":
			out = append(out, l)
		}
	}
	if fence != "" {
		out = append(out, "a fence is left open")
	}
	return codeSpan.ReplaceAllString(strings.Join(out, "\n"), "CODE")
}

// codeSpan is one as this package writes it; nothing inside is interpreted.
var codeSpan = regexp.MustCompile("````` .* `````|`[^`\n]*`")

func checkMarkdown(t *testing.T, p *planner.Plan) {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	if len(s) > 60_000 {
		t.Errorf("%d bytes are more than a comment may have", len(s))
	}
	out := outsideFences(s)
	for _, bad := range []string{"<script", "@everyone", "[a](", "\x1b", "\n# head", "left open", "cut to fit"} {
		if strings.Contains(out, bad) {
			t.Errorf("%q in\n%.3000s", bad, out)
		}
	}
	if open, shut := strings.Count(out, "<details"), strings.Count(out, "</details>"); open != shut {
		t.Errorf("%d details are opened and %d closed\n%s", open, shut, out)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		counts planner.Counts
		want   string
	}{
		{planner.Counts{}, "Nothing to do: the campaign has no jobs."},
		{planner.Counts{Unchanged: 1, Total: 1, Selected: 1}, "Nothing to do: 1 job is done and verified."},
		{planner.Counts{Unchanged: 1234, Total: 1234, Selected: 1234}, "Nothing to do: 1,234 jobs are done and verified."},
		{planner.Counts{Run: 27, Total: 27, Selected: 27}, "Plan: 27 to run, 0 to re-run, 0 to cancel, 0 unchanged."},
		{planner.Counts{Run: 2, Retry: 1, Rerun: 4, Cancel: 5, Unchanged: 6, Held: 7, Total: 25, Selected: 25}, "Plan: 3 to run, 4 to re-run, 5 to cancel, 6 unchanged, 7 held."},
		{planner.Counts{Held: 1, Unchanged: 1, Total: 2, Selected: 2}, "Plan: 0 to run, 0 to re-run, 0 to cancel, 1 unchanged, 1 held."},
		{planner.Counts{Run: 12, Total: 24, Selected: 12}, "Plan: 12 to run, 0 to re-run, 0 to cancel, 0 unchanged.\n12 of 24 jobs selected; the others are left as they are."},
	} {
		if got := summary(&planner.Plan{Counts: c.counts}); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	orphan := planner.Row{Kind: planner.UnknownAt, Address: "o1", Orphan: true}
	for want, rows := range map[string][]planner.Row{
		"Nothing to do: no job runs or waits, and muster rents nothing.": nil,
		"Nothing to do: no job runs or waits; still billed: 1 orphan.":   {orphan},
		"Nothing to do: no job runs or waits; still billed: 2 orphans.":  {orphan, orphan},
	} {
		if got := summary(&planner.Plan{Destroy: true, Loose: rows}); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestUnknownIsNeverZero: without a walltime the figures are unknown, and
// CPU-hours stand where there are no GPU-hours.
func TestUnknownIsNeverZero(t *testing.T) {
	t.Parallel()
	text := screen(t, Human{Style: utf8}, plan(t, "campaign \"c\" {}\nphase \"a\" {\n  job {\n    command = \"true\"\n  }\n}\n"))
	for _, want := range []string{"money          $0.00      $0.00       $0.00", "CPU-hours    unknown    unknown     unknown", "walltime     unknown    unknown           –"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "GPU-hours") {
		t.Errorf("GPU-hours where there are none:\n%s", text)
	}
}

// TestReasonsAreGrouped: what changed is said once for all the jobs it
// changes, also for those whose reasons are not kept.
func TestReasonsAreGrouped(t *testing.T) {
	t.Parallel()
	pp := &planner.PhasePlan{Kind: make([]planner.Kind, 10), Details: map[int]planner.Detail{}}
	for i := range pp.Kind {
		pp.Kind[i] = planner.Rerun
	}
	why := planner.Detail{Reasons: []planner.Reason{{Field: "param.lr", Old: "1", New: "2"}}}
	pp.Details[0], pp.Details[1] = why, why
	if got := group(pp, false); len(got) != 1 || got[0].cells != 10 || got[0].text != "param.lr: 1 → 2" {
		t.Errorf("%+v", got)
	}
	pp.Details[1] = planner.Detail{Text: "asked for by -rerun"}
	if got := group(pp, false); len(got) != 3 || got[0].cells != 8 || got[0].text != "for various reasons: see explain" {
		t.Errorf("%+v", got)
	}
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ unit, text, want string }{
		{"usd", "1234.5", "$1,234.50"}, {"usd", "0", "$0.00"}, {"service_units", "468.866667", "469"}, {"service_units", "2668.933", "2,669"},
		{"gpu_hours", "13.333333", "13.3"}, {"gpu_hours", "60", "60.0"}, {"gpu_hours", "0.0417", "0.042"}, {"gpu_hours", "0.25", "0.25"},
		{"cpu_hours", "0.0001", "<0.001"}, {"cpu_hours", "0", "0.0"}, {"service_units", "3.25", "3.3"}, {"cpu_hours", "12345678.9", "12,345,678.9"},
	} {
		if got := quantity(c.unit, c.text); got != c.want {
			t.Errorf("%s %s: %q, not %q", c.text, c.unit, got, c.want)
		}
	}
	for _, c := range []struct{ unit, text, want string }{{"gpu_hours", "42.67", "42.7 GPU-hours"}, {"usd", "40", "$40.00"}, {"usd", "0", ""}, {"usd", "", ""}, {"gpu_hours", "unknown", ""}} {
		if got := Amount(c.unit, c.text); got != c.want {
			t.Errorf("%s %s: %q, not %q", c.text, c.unit, got, c.want)
		}
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	h := Human{Style: utf8}
	for _, c := range []struct {
		from, to time.Duration // of 40 h
		want     string
	}{
		{0, 40, strings.Repeat("█", 40)},
		{0, 1, "█" + strings.Repeat(" ", 39)},
		{39, 40, strings.Repeat(" ", 39) + "█"},
		{10, 30, strings.Repeat(" ", 10) + strings.Repeat("█", 20) + strings.Repeat(" ", 10)},
	} {
		if got := h.bar([]forecast.Interval{{From: c.from * time.Hour, To: c.to * time.Hour}}, 40*time.Hour); got != "▕"+c.want+"▏" {
			t.Errorf("%d to %d: %q", c.from, c.to, got)
		}
	}
	short := []forecast.Interval{{From: 40*time.Hour - time.Minute, To: 40 * time.Hour}, {From: 0, To: time.Minute}}
	if got, want := h.bar(short, 40*time.Hour), "▕▌"+strings.Repeat(" ", 38)+"▌▏"; got != want {
		t.Errorf("what is short: %q", got)
	}
	if got, want := (Human{Style: ascii}).bar(short, 40*time.Hour), "▕█"+strings.Repeat(" ", 38)+"█▏"; got != want {
		t.Errorf("what is short, in ASCII: %q", got)
	}
}

// TestEverySymbol: each kind of action has a word, and an ASCII form of it.
func TestEverySymbol(t *testing.T) {
	t.Parallel()
	for k := planner.None; k <= planner.Skipped; k++ {
		word := ascii.Text(Word(k))
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r > 0x7f }) {
			t.Errorf("%s: %q", k, word)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := plan(t, "campaign \"c\" {}\n"+phase("train", 3, ""))
	var b bytes.Buffer
	found := diag.List{{Severity: diag.Warning, Summary: "look here"}}
	if err := JSON(&b, p, found, nil); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		planfile.Document
		Valid       bool        `json:"valid"`
		Diagnostics []diag.JSON `json:"diagnostics"`
		Jobs        []planfile.Job
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if doc.FormatVersion != planfile.FormatVersion || !doc.Valid || len(doc.Diagnostics) != 1 || len(doc.Jobs) != 3 || doc.Jobs[2].Action != "run" {
		t.Errorf("%+v", doc)
	}
	b.Reset()
	if err := JSON(&b, p, diag.List{{Summary: "wrong"}}, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"valid":false`) {
		t.Error("a plan with errors is called valid")
	}
}

func TestVerboseShowsEveryJob(t *testing.T) {
	t.Parallel()
	text := screen(t, Human{Style: utf8, Verbose: true}, plan(t, "campaign \"c\" {}\n"+phase("train", 30, "")))
	if n := strings.Count(text, "phase.train[\"seed="); n != 30 {
		t.Errorf("%d of 30 jobs are shown", n)
	}
}

func BenchmarkHuman1M(b *testing.B) {
	p := plan(b, "campaign \"c\" {}\n"+phase("train", 1_000_000, ""))
	for b.Loop() {
		screen(b, Human{Style: utf8}, p)
	}
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/cmd/muster/preview"
	"github.com/muster-run/muster/cmd/muster/selection"
	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/checklist"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
)

type planOutput struct {
	out, jsonInto                     string
	json, markdown, detailed, verbose bool
	scripts                           scriptsFlag
}

// people reports whether the plan is shown as people read it.
func (o planOutput) people() bool { return !o.json && !o.markdown }

// A planPage is a plan as a command shows it.
type planPage struct {
	*workspace
	w *work
	o planOutput
}

// show prints and saves a plan; the error says what to do next.
func (pg planPage) show() error {
	w, o := pg.w, pg.o
	if err := pg.print(); err != nil {
		return err
	}
	if o.jsonInto != "" {
		if err := atomicfile.Output(absolute(o.jsonInto), pg.json); err != nil {
			return fmt.Errorf("write %s: %w", absolute(o.jsonInto), err)
		}
	}
	if w.diags.HasErrors() {
		return command.Failed
	}
	if o.out != "" {
		if err := planfile.Write(absolute(o.out), w.plan, w.meta()); err != nil {
			return err
		}
		switch {
		case o.people() && w.plan.BudgetBroken():
			pg.printf("Saved to %s for review. It cannot be applied: a budget does not cover it.\n", o.out)
		case o.people() && w.plan.Second.Approvals > 1:
			pg.printf("Saved to %s. %s must approve it:\n\n    muster approve %s\n", o.out, units.Count(w.plan.Second.Approvals, "person"), o.out)
		case o.people():
			pg.printf("Saved to %s. To apply exactly this plan:\n\n    muster apply %s\n", o.out, o.out)
		}
	}
	if w.plan.BudgetBroken() {
		return command.Budget
	}
	if o.detailed && (w.plan.Counts.Changes() || w.plan.RefreshOnly && w.plan.Counts.Missing+w.plan.Counts.Altered > 0) {
		return command.Changes
	}
	return nil
}

func (pg planPage) print() error {
	w, o := pg.w, pg.o
	switch {
	case o.json:
		return pg.json(pg.stdout)
	case o.markdown:
		pg.fail(w.diags)
		return view.Markdown(pg.stdout, w.plan)
	}
	var b strings.Builder
	b.WriteByte('\n')
	if err := (view.Human{Style: pg.out, Verbose: o.verbose}).Print(&b, w.plan); err != nil {
		return err
	}
	if _, err := io.WriteString(pg.stdout, b.String()); err != nil {
		return err
	}
	pg.fail(w.diags)
	if o.scripts.on {
		return pg.scripts(o.scripts.address)
	}
	return nil
}

// scripts shows the scripts that a submission would send, and stops before it: ten points of
// every phase that goes to a scheduler's queue.
func (pg planPage) scripts(address string) error {
	w := pg.w
	v := preview.Preview{Campaign: w.campaign, Plan: w.plan, Pools: w.input.Pools, Scripters: plugins.Scripters(w.campaign.Backends)}
	if address != "" {
		jobs, diags := selection.Of(w.campaign, w.input.State, []string{address})
		if err := pg.report(diags); err != nil {
			return err
		}
		v.Whole = jobs.Has
	}
	queues := map[string]checklist.Scheduler{}
	for typ, s := range v.Scripters {
		queues[typ] = s
	}
	text, diags, err := v.Scripts()
	pg.printf("%s", text)
	if err != nil {
		return err
	}
	if err := pg.report(diags); err != nil {
		return err
	}
	s, err := pg.store(w.campaign)
	if err != nil {
		return err
	}
	return view.Human{Style: pg.out}.Checklists(pg.stdout, checklist.Of(w.plan, w.input, s.Location(), queues))
}

func (pg planPage) json(to io.Writer) error { return view.JSON(to, pg.w.plan, pg.w.diags, pg.sources) }

// meta is the data saved with the plan.
func (w *work) meta() planfile.Meta {
	return planfile.Meta{Muster: version, Providers: w.versions, Input: w.input}
}

package main

import (
	"io"
	"os"

	"github.com/muster-run/muster/cmd/muster/chosen"
	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/kept"
	"github.com/muster-run/muster/cmd/muster/preview"
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

func (a *app) showPlan(w *work, o planOutput) error {
	if err := a.printPlan(w, o); err != nil {
		return err
	}
	if o.jsonInto != "" {
		if err := writeFile(a.path(o.jsonInto), func(f *os.File) error { return a.planJSON(f, w) }); err != nil {
			return err
		}
	}
	if w.diags.HasErrors() {
		return command.Failed
	}
	if o.out != "" {
		if err := a.savePlan(a.path(o.out), w); err != nil {
			return err
		}
		switch {
		case o.people() && w.plan.BudgetBroken():
			a.printf("Saved to %s, to look at: it cannot be applied, since a budget does not hold.\n", o.out)
		case o.people():
			a.printf("Saved to %s. To do exactly this:\n\n    muster apply %s\n", o.out, o.out)
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

func (a *app) printPlan(w *work, o planOutput) error {
	switch {
	case o.json:
		return a.planJSON(a.stdout, w)
	case o.markdown:
		a.fail(w.diags)
		return a.planMarkdown(a.stdout, w)
	}
	text, err := a.planText(w, o)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.stdout, text); err != nil {
		return err
	}
	a.fail(w.diags)
	if o.scripts.on {
		return a.printScripts(w, o.scripts.address)
	}
	return nil
}

// printScripts shows what would be submitted, and ends the look before that:
// ten points of every phase that goes to Slurm.
func (a *app) printScripts(w *work, address string) error {
	v := preview.Preview{Campaign: w.campaign, Plan: w.plan, Pools: w.input.Pools}
	if address != "" {
		jobs, diags := chosen.Of(w.campaign, w.input.State, []string{address})
		if err := a.report(diags); err != nil {
			return err
		}
		v.Whole = jobs.Has
	}
	text, diags, err := v.Scripts()
	a.printf("%s", text)
	if err != nil {
		return err
	}
	if err := a.report(diags); err != nil {
		return err
	}
	path, err := statePath(w.campaign)
	if err != nil {
		return err
	}
	return view.Human{Style: a.out}.Checklists(a.stdout, checklist.Of(w.plan, w.input, path))
}

func (a *app) planText(w *work, o planOutput) (string, error) {
	if w.shown != nil {
		return w.shown.Text, nil
	}
	return kept.Text(w.plan, a.out, o.verbose)
}

func (a *app) planMarkdown(to io.Writer, w *work) error {
	if w.shown != nil {
		_, err := io.WriteString(to, w.shown.Markdown)
		return err
	}
	return view.Markdown(to, w.plan)
}

func (a *app) planJSON(to io.Writer, w *work) error {
	if w.shown != nil {
		return view.SavedJSON(to, w.shown.File, w.diags, a.sources)
	}
	return view.JSON(to, w.plan, w.diags, a.sources)
}

func (a *app) savePlan(path string, w *work) error {
	if w.shown != nil {
		return w.shown.File.Write(path)
	}
	return planfile.Write(path, w.plan, w.meta())
}

// meta is what is saved with the plan.
func (w *work) meta() planfile.Meta {
	return planfile.Meta{Muster: version, Providers: w.versions, Input: w.input}
}

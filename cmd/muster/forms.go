package main

import (
	"context"
	"io"

	"github.com/muster-run/muster/cmd/muster/kept"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// asked is who asks for a plan, of what.
func (a *app) asked(p planFlags) kept.Asked {
	return kept.Asked{Load: a.loadOptions(p.varFlags, false), Cache: a.cacheDir(), Now: a.now(), Style: a.out, Refresh: p.refresh, Waiting: a.waiting}
}

// foresee makes the plan that follows an apply, if it is that nothing starts,
// so that it is there when it is asked for.
func (a *app) foresee(ctx context.Context, c *lang.Campaign, s store.Store, v varFlags) {
	f, ok := s.(*file.Store)
	if !ok {
		return
	}
	q := a.asked(planFlags{varFlags: v, refresh: true})
	if seen := kept.Look(ctx, f, q.Refresh); seen != nil {
		q.Stand(ctx, c, seen, !a.warned)
	}
}

// meta is what is saved with the plan.
func (w *work) meta() planfile.Meta {
	return planfile.Meta{Muster: version, Providers: w.versions, Input: w.input}
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

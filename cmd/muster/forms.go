package main

import (
	"io"
	"strings"

	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/planner/view"
	"github.com/muster-run/muster/state/glance"
)

// Forms are how a plan looks in each of the ways it can be asked for: where it
// was made of a glance at the state, or is shown again, they are all there is.
type forms struct {
	text, markdown string
	file           *planfile.File // JSON is made of it, too; nil where nobody asked for it
}

// formsOf are the forms of a plan that was made of a glance.
func (a *app) formsOf(w *work, seen *glance.Glance) (*forms, error) {
	var f forms
	var err error
	if f.text, err = a.screenOf(w.plan, false); err != nil {
		return nil, err
	}
	var markdown strings.Builder
	if err := view.Markdown(&markdown, w.plan); err != nil {
		return nil, err
	}
	f.markdown = markdown.String()
	seen.Number()
	data, err := planfile.Encode(w.plan, w.meta())
	if err != nil {
		return nil, err
	}
	f.file, err = planfile.Decode(data)
	return &f, err
}

// meta is what is saved with the plan.
func (w *work) meta() planfile.Meta {
	return planfile.Meta{Muster: version, Providers: w.versions, Input: w.input}
}

func (a *app) planText(w *work, o planOutput) (string, error) {
	if w.shown != nil {
		return w.shown.text, nil
	}
	return a.screenOf(w.plan, o.verbose)
}

func (a *app) planMarkdown(to io.Writer, w *work) error {
	if w.shown != nil {
		_, err := io.WriteString(to, w.shown.markdown)
		return err
	}
	return view.Markdown(to, w.plan)
}

func (a *app) planJSON(to io.Writer, w *work) error {
	if w.shown != nil {
		return view.SavedJSON(to, w.shown.file, w.diags, a.sources)
	}
	return view.JSON(to, w.plan, w.diags, a.sources)
}

func (a *app) savePlan(path string, w *work) error {
	if w.shown != nil {
		return w.shown.file.Write(path)
	}
	return planfile.Write(path, w.plan, w.meta())
}

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/state"
)

// loadFor loads the campaign with the variables of the saved plan, if one is
// applied.
func (ap *applying) loadFor() (*lang.Campaign, error) {
	if ap.file != nil {
		return ap.loadSaved(ap.file, ap.f.varFlags)
	}
	if ap.f.destroy {
		return ap.lookLoad(ap.f.varFlags)
	}
	return ap.mustLoad(ap.f.varFlags)
}

// loadSaved loads the campaign with the variables of a saved plan. Sensitive
// values are not in the file: they come from where they came from before, or
// from -var and -var-file, which give nothing else.
func (ws *workspace) loadSaved(file *planfile.File, v varFlags) (*lang.Campaign, error) {
	for _, given := range v.given {
		name, _, _ := strings.Cut(given.Var, "=")
		if name = strings.TrimSpace(name); given.File == "" && !slices.Contains(file.Head.Sensitive, name) {
			return nil, command.Usagef("a saved plan is applied as it was reviewed, with its own value of %q: plan again for another one", name)
		}
	}
	path, err := writeVariables(file)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(filepath.Dir(path))
	v.given = append(slices.Clone(v.given), lang.Assignment{File: path})
	c, diags := ws.load(v, false)
	if diags.HasErrors() && len(file.Head.Sensitive) > 0 {
		diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A saved plan holds no sensitive values", Detail: sensitiveNote(file)})
	}
	return c, ws.report(diags)
}

// sensitiveNote names the values that must be given again.
func sensitiveNote(file *planfile.File) string {
	var flags []string
	for _, name := range file.Head.Sensitive {
		flags = append(flags, fmt.Sprintf("-var '%s=…' (or MUSTER_VAR_%s)", name, name))
	}
	return "Give the values that the plan was made with again: " + strings.Join(flags, ", ") + "."
}

// writeVariables writes the values of a saved plan as a file of variables, mode
// 0600, in a folder of its own.
func writeVariables(saved *planfile.File) (string, error) {
	src, err := saved.Variables()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "muster-plan-*")
	if err != nil {
		return "", fmt.Errorf("write the plan's variables: %w", err)
	}
	path := filepath.Join(dir, "saved.mustervars.hcl")
	if err := os.WriteFile(path, src, 0o600); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("write the plan's variables: %w", err)
	}
	return path, nil
}

// savedPlan reads a plan that was reviewed and checks that it still holds.
func (ap *applying) savedPlan(ctx context.Context, c *lang.Campaign, st *state.State) (*work, error) {
	ap.allowSecrets(c)
	ap.meetPlaces(c, st)
	w, err := ap.planToStart(ctx, c, st, savedFlags(ap.file, ap.f.planFlags))
	if err != nil {
		return nil, err
	}
	if err := ap.trustLeft(ap.f); err != nil {
		return w, err
	}
	diags := ap.file.Check(c, st, w.input.Quotes, w.input.Now)
	diags.Append(ap.file.CheckProviders(w.versions)...)
	plan, more := ap.file.Bind(c)
	diags.Append(more...)
	diags.Append(ap.tryCommands(ctx, w, func(trust.Item) bool { return true })...) // the plan was approved
	if !diags.HasErrors() {
		diags.Append(planfile.Reprice(plan, w.plan, c.Policy)...)
	}
	err = ap.report(diags)
	if err == nil {
		err = ap.approvals(st)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	ap.file.Progress(plan, st)
	if w.plan = plan; plan.BudgetBroken() {
		if !ap.f.json {
			ap.printf("%s\n", term.Fold(budgetStops, ap.out.Width))
		}
		return w, command.Budget
	}
	return w, nil
}

// savedFlags repeats the options a saved plan was made with.
func savedFlags(file *planfile.File, p planFlags) planFlags {
	o := file.Options()
	p.targets, p.rerun, p.accept, p.release = o.Targets, o.Rerun, o.Accept, o.Release
	p.destroy, p.reason = o.Destroy, o.Reason
	return p
}

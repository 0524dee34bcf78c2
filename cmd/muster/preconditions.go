package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
)

const (
	commandsTake = 5 * time.Minute // at most, all preconditions of a plan together
	linesShown   = 5               // of the output of a failed command
)

// tryCommands runs, on this machine, the commands of preconditions of the jobs that a
// plan starts, each text once, as far as they are allowed. It stops at the first that
// fails: nothing is sent then.
func (ws *workspace) tryCommands(ctx context.Context, w *work, allowed func(trust.Item) bool) (diags diag.List) {
	ctx, stop := context.WithTimeout(ctx, commandsTake)
	defer stop()
	if w.tried == nil {
		w.tried = map[string]bool{}
	}
	for _, pp := range w.plan.Phases {
		for k := range pp.Phase.Preconditions {
			if q := &pp.Phase.Preconditions[k]; q.RunsHere() && !diags.HasErrors() {
				diags.Append(ws.tryCommand(ctx, w, pp, q, allowed)...)
			}
		}
	}
	return diags
}

// tryCommand runs a precondition's command for the jobs of a phase that start.
func (ws *workspace) tryCommand(ctx context.Context, w *work, pp *planner.PhasePlan, q *lang.Precondition, allowed func(trust.Item) bool) diag.List {
	for i, kind := range pp.Kind {
		if !kind.Starts() {
			continue
		}
		text, ds := q.Command(i)
		if len(ds) > 0 {
			return ds
		}
		if w.tried[text] || !allowed(trust.OfCommand(ws.dir, text)) {
			continue
		}
		w.tried[text] = true
		if why := ws.try(ctx, text); why != "" {
			return diag.List{{Summary: "A precondition does not hold", Detail: strings.TrimSpace(q.Message + "\n\n" + why), Subject: q.Range().Ptr(), Address: pp.Phase.Address(i)}}
		}
	}
	return nil
}

// try runs a command in the campaign's folder and says why it failed.
func (ws *workspace) try(ctx context.Context, text string) string {
	defer ws.slow("Running " + term.Fit(term.CleanLine(text), 60) + "…")()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = ws.dir, &out, &out
	err := subprocess.Run(cmd)
	if err == nil {
		return ""
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the preconditions' commands took more than %s", commandsTake)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	lines = lines[max(0, len(lines)-linesShown):]
	for i := range lines {
		lines[i] = term.Fit(term.CleanLine(lines[i]), 160)
	}
	why := fmt.Sprintf("%s: %v\n\n    %s", term.CleanLine(text), err, strings.Join(lines, "\n    "))
	if ws.guard.Hide != nil {
		why = ws.guard.Hide(why)
	}
	return why
}

package planner

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
)

// submitters hand work to a scheduler: Slurm's sbatch, PBS's and Grid Engine's
// qsub, LSF's bsub, HTCondor's condor_submit. A word of a command counts where
// it may be a program's name, with or without its folder.
var submitters = regexp.MustCompile("(?:^|[\\s;&|({`\"'/])(sbatch|qsub|bsub|condor_submit)(?:$|[\\s;&|)}`\"'])")

// propagates warns of a job that submits jobs by itself, or whose script does:
// muster can neither count nor stop what that starts, and one such chain that
// fails at once starts thousands. Whoever means it saves the plan and applies
// the file.
func (m *maker) propagates(w *work, r lang.Rendered) {
	what, found := "Its command", submitters.FindStringSubmatch(r.Shell+"\n"+r.Setup+"\n"+strings.Join(r.Argv, "\n"))
	for _, s := range m.in.Observed.Scripts[w.p.Name] {
		if found == nil {
			what, found = "Its script "+s.Name, submitters.FindStringSubmatch(s.Text)
		}
	}
	if found == nil || w.propagates {
		return
	}
	w.propagates = true
	where := "phase." + w.p.Name
	m.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "a job submits jobs by itself", Address: where, Subject: w.p.Range.Ptr(), In: fmt.Sprintf("phase %q", w.p.Name),
		Detail: fmt.Sprintf("%s runs %s. What that starts is in no budget, no cap and no state, and `muster cancel` does not reach it. Make it a phase of its own, fed by this one.", what, found[1])})
	m.plan.Asks = append(m.plan.Asks, where+" runs "+found[1]+" itself, beyond what muster can count or stop")
}

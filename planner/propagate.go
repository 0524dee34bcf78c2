package planner

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/observed"
)

// submitters hand work to a scheduler: Slurm's sbatch, PBS's and Grid Engine's
// qsub, LSF's bsub, HTCondor's condor_submit. A word of a command counts where
// it may be a program's name, with or without its folder.
var submitters = lazyregexp.New("(?:^|[\\s;&|({`\"'/])(sbatch|qsub|bsub|condor_submit)(?:$|[\\s;&|)}`\"'])")

// propagates warns of a job, or a script of its command, that submits jobs by
// itself: muster can neither count nor stop them, and one such chain that fails at
// once starts thousands. Whoever means it saves the plan and applies the file.
func propagates(p *lang.Phase, r lang.Rendered, scripts []observed.Script) (out report, does bool) {
	what, found := "Its command", submitters.FindStringSubmatch(r.Shell+"\n"+r.Setup+"\n"+strings.Join(r.Argv, "\n"))
	for _, s := range scripts {
		if found == nil {
			what, found = "Its script "+s.Name, submitters.FindStringSubmatch(s.Text)
		}
	}
	if found == nil {
		return out, false
	}
	where := "phase." + p.Name
	out.diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A job submits jobs by itself", Address: where, Subject: p.Range.Ptr(), In: fmt.Sprintf("phase %q", p.Name),
		Detail: fmt.Sprintf("%s runs %s. Jobs that it starts are in no budget, no cap and no state, and `muster cancel` does not reach them. Make it a phase of its own, fed by this one.", what, found[1])})
	out.asks = append(out.asks, where+" runs "+found[1]+" itself, beyond what muster can count or stop")
	return out, true
}

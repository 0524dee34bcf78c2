package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
)

// named are roots that mean nothing without a name after them.
var named = map[string]bool{"input": true, "input_file": true, "output": true, "metric": true, "path": true, "backend": true, "job": true}

// elsewhere says of names that mean something, but not here.
var elsewhere = map[string]string{
	"checkpoint": "The phase has no checkpoint block. Add one: checkpoint { path = \"…\" }.",
	"secret":     "A secret is a variable of the job's environment, and its value is in no expression. In a shell write $NAME.",
	"metric":     "A metric is known when its job has run: the condition of a smoke's expect reads metric.NAME, a result phase.NAME.metric.M.",
	"phase":      "Only results read phase.NAME.metric.M and phase.NAME.output.O of other phases; a job reads another phase's file through an input block.",
	"shape":      "shape is known in the rules of the policy block.",
	"cell":       "There is no cell here: cells are those of a phase's grid, in its job, params and preconditions.",
	"param":      "Params are a phase's, and known in its job, resources and preconditions.",
	"each":       "A job's own values are cell.AXIS, its key is cell.key.",
	"count":      "A job's own values are cell.AXIS, its key is cell.key.",
	"self":       "A job's own values are cell.AXIS, param.NAME and output.NAME.",
	"grid":       "The value of an axis is cell.AXIS.",
	"resources":  "A job's resources are backend.cpus and backend.gpus, and MUSTER_MEMORY in its environment.",
	"job":        "A job's own values are cell.AXIS, param.NAME and output.NAME; its address is MUSTER_ADDRESS in its environment. job.scratch, a folder on the disk of its node, needs a scratch block in the job; job.hosts, job.master, job.nodes, job.port and job.rank need a launcher.",
	"axis":       "The value of an axis is cell.AXIS.",
	"env":        "Variables of muster's own environment are not read by expressions, so that a plan is the same everywhere. Declare a variable block and set MUSTER_VAR_NAME; in a shell write $NAME.",
	"terraform":  "The campaign's folder is path.workdir in a job; other names of Terraform's own mean nothing here.",
}

// changing are functions that muster leaves out: their value is another at
// every plan, and with it every job.
var changing = map[string]string{
	"timestamp":     "a plan must not depend on when it is made. In a shell write $(date).",
	"plantimestamp": "a plan must not depend on when it is made. In a shell write $(date).",
	"uuid":          "a plan must not depend on when it is made. cell.key distinguishes jobs.",
	"random":        "a plan must not depend on when it is made. seeds(n, base) makes seeds that stay.",
	"env":           "a plan must not depend on where it is made. Declare a variable block and set MUSTER_VAR_NAME.",
	"getenv":        "a plan must not depend on where it is made. Declare a variable block and set MUSTER_VAR_NAME.",
}

// people's words for roots.
func noun(root string) string {
	if root == "var" {
		return "variable"
	}
	return root
}

func (r *rewriter) unknownName(n *hclsyntax.ScopeTraversalExpr, root, name string, names []string) {
	kind := noun(root)
	if root == "checkpoint" {
		r.ds.Errorat(n.SrcRange, "Unknown name", "${checkpoint} is the path; the job's environment has the rest: MUSTER_CHECKPOINT_INTERVAL (seconds), MUSTER_RESTART.")
		return
	}
	r.ds.Errorat(n.SrcRange, "Unknown "+kind, "There is no %s named %q; %s", kind, name, suggestion(name, slices.Sorted(slices.Values(names)), kind+"s are"))
}

func (r *rewriter) unknownRoot(n *hclsyntax.ScopeTraversalExpr, root string) {
	known := r.scope.roots()
	detail := fmt.Sprintf("There is no value named %q here; ", root)
	if full := r.scope.member(root); full != "" {
		detail += fmt.Sprintf("did you mean %s?", full)
	} else if s := diag.Suggest(root, known); s != "" {
		detail += fmt.Sprintf("did you mean %q?", s)
	} else {
		detail += "expressions here begin with " + strings.Join(known, ", ") + "."
	}
	switch {
	case elsewhere[root] != "":
		detail = elsewhere[root]
	case r.inTemplate && len(n.Traversal) == 1 && r.negated == n:
		detail += fmt.Sprintf(" For the shell's own expansion write $${!%s}.", root)
	case !r.inTemplate && strings.HasPrefix(detail, "There is no value") && strings.HasSuffix(detail, "."):
		detail += " A text is written in quotes."
	case r.inTemplate && len(n.Traversal) == 1:
		detail += fmt.Sprintf(" For the shell's own variable write $${%s}.", root)
	}
	r.ds.Errorat(n.SrcRange, fmt.Sprintf("Unknown name %q", clipName(root)), "%s", detail)
}

// member finds a bare name behind one of the roots: N for cell.N.
func (s *Scope) member(name string) string {
	if s.Grid != nil && s.Grid.AxisIndex(name) >= 0 {
		return "cell." + name
	}
	if _, ok := s.Params[name]; ok {
		return "param." + name
	}
	for _, root := range []string{"input", "output", "metric"} {
		if slices.Contains(s.Symbols[root], name) {
			return root + "." + name
		}
	}
	r := rewriter{scope: s}
	for _, root := range []string{"var", "local"} {
		if slices.Contains(r.names(root), name) {
			return root + "." + name
		}
	}
	return ""
}

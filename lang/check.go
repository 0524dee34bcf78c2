package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/backends"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/providers/offer"
)

// A checker compares jobs with one another, and checks the inputs of their
// templates.
type checker struct {
	*phases
	dir      string // the campaign's
	backends []*Backend
	schemas  map[string]offer.Schema
}

func (ck *checker) check() {
	for _, p := range ck.order {
		if p.failed || !p.expanded || !p.ok && p.full {
			continue
		}
		ck.unreadAxes(p)
		ck.untakenOutputs(p)
		ck.exposed(p)
		if p.ok {
			ck.splices(p)
			ck.longLists(p)
		}
	}
	for _, p := range ck.order {
		ck.needsWorkdir(p)
	}
	ck.uniqueLabels()
	ck.uniquePaths()
}

// needsWorkdir reports remote candidates without a workdir in a phase with a
// source: there the current directory is a copy, and outputs need a place.
func (ck *checker) needsWorkdir(p *phaseBuild) {
	if p.Source == nil {
		return
	}
	for _, b := range ck.backends {
		if slices.Contains(slices.Concat(p.Candidates, Beyond(p.Phase)), b.Address()) && b.Workdir == "" && ck.schemas[b.Type].Can.Remote {
			ck.Perhaps.Errorat(b.Range, "workdir is missing", "phase.%s runs on backend.%s with a source, so its current directory there is a read-only copy. Write workdir = \"/…\" in the backend: the folder that outputs go to.", p.Name, b.Address())
		}
	}
}

// unreadAxes warns of axes that make jobs which differ in nothing.
func (ck *checker) unreadAxes(p *phaseBuild) {
	read := map[int]bool{}
	mark := func(ts ...*expr.Template) {
		for _, t := range ts {
			if t != nil {
				for _, a := range t.Axes() {
					read[a] = true
				}
			}
		}
	}
	mark(p.Phase.job.label)
	for _, f := range p.Phase.job.form {
		mark(f.site()...)
		mark(f.outputs...)
		mark(f.checkpoint)
		mark(f.asked.Templates...)
	}
	mark(p.matched...)
	for _, in := range p.Raw {
		mark(in.path)
	}
	for _, in := range p.Inputs {
		for _, axis := range in.edge.j.On() {
			if a := p.Grid.AxisIndex(axis); a >= 0 {
				read[a] = true
			}
		}
	}
	for a, axis := range p.Grid.Axes {
		if !read[a] && !slices.Contains(p.Grid.Repeat, axis.Name) {
			at := p.b.Range
			if e := p.b.Expr("grid"); e != nil {
				at = e.Range()
			} else if g := p.b.One("grid"); g != nil {
				at = g.Range
			}
			ck.Perhaps.Warnat(at, "An axis is not read", "No expression of the job in phase.%s reads cell.%s, so jobs that differ only in it do the same work. Use it, take it out of the grid, or, if the jobs are independent samples, write repeat = [%q] in the grid.",
				p.Name, axis.Name, axis.Name)
		}
	}
}

// exposed warns of sensitive values that a job's script would hold.
func (ck *checker) exposed(p *phaseBuild) {
	for _, f := range p.Phase.job.form {
		for _, t := range f.site() {
			for _, s := range t.Sensitive() {
				ck.Perhaps.Warnat(s.Range, "A sensitive value in a job's script", "%s is sensitive, and the script of phase.%s on the backend would contain it; in a command, process lists would show it. Use a secret block, and read it as $NAME.", s, p.Name)
			}
		}
	}
}

// untakenOutputs reports outputs whose path the job cannot know: in a smoke it
// is another one than in a run, and with a source the current directory is a
// read-only copy.
func (ck *checker) untakenOutputs(p *phaseBuild) {
	if p.Smoke == nil && p.Source == nil || p.Smoke != nil && p.Smoke.Isolated {
		return
	}
	taken := map[string]bool{}
	for _, t := range p.Phase.job.form[Run].site() {
		for _, s := range t.Symbols() {
			if s.Root == "output" {
				taken[s.Name] = true
			}
		}
	}
	for _, o := range p.Outputs {
		if taken[o.Name] {
			continue
		}
		why, out := "a smoke writes elsewhere than a run, and the command must be told where", " If the program keeps smokes and runs apart by itself, write isolated = true in smoke."
		if p.Smoke == nil {
			why, out = "with a source the current directory is a read-only copy, and outputs go to the workdir", ""
		}
		ck.Perhaps.Errorat(o.Range, "An output that the job does not take", "No expression of the job in phase.%s reads ${output.%s}: %s. Use ${output.%s} where the command names the path.%s", p.Name, o.Name, why, o.Name, out)
	}
}

// longList is how much of a list may be spliced into a command unremarked:
// half of the usual limit of one argument (MAX_ARG_STRLEN, execve(2)).
const longList = 64 << 10 // bytes

// longLists warns of lists too long for a command line.
func (ck *checker) longLists(p *phaseBuild) {
	for _, in := range p.Inputs {
		if !in.List() || !p.splicesInput(in.Name) {
			continue
		}
		from := ck.byName[in.From.Name]
		if !from.ok || from.failed {
			continue
		}
		worst, cell := 0, 0
		for g := range in.Groups() {
			if n := ck.listBytes(from, in, in.Members(g)); n > worst {
				worst, cell = n, g
			}
		}
		if worst > longList {
			for i := range p.Len() {
				if in.GroupOf(i) == cell {
					cell = i
					break
				}
			}
			ck.Perhaps.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "A long list in a command", Subject: in.Range.Ptr(), Address: p.Address(cell),
				Detail: fmt.Sprintf("${input.%s} puts about %s of paths into the command of %s. Use ${input_file.%s}, a file with one path a line.", in.Name, units.FormatSize(int64(worst)), p.Address(cell), in.Name)})
		}
	}
}

func (p *phaseBuild) splicesInput(name string) bool {
	for _, t := range p.Phase.job.form[Run].site() {
		for _, s := range t.Symbols() {
			if s.Root == "input" && s.Name == name {
				return true
			}
		}
	}
	return false
}

// listBytes is about how long the paths of some producers are. A path is no
// longer than an axis text or two more than its neighbours', so that a few
// tell whether all need be looked at.
func (ck *checker) listBytes(from *phaseBuild, in *Input, members []int) int {
	k := slices.IndexFunc(from.Outputs, func(o *Output) bool { return o.Name == in.Output })
	t := from.Phase.job.form[Run].outputs[k]
	if t == nil || len(members) == 0 {
		return 0
	}
	const roughly = 200 // bytes of one path, when there are few
	each := 1 + len(ck.workdirOf(from)) + 1
	if len(members)*(each+roughly) < longList {
		return 0
	}
	n := len(members) * each
	var buf []byte
	for _, m := range members {
		buf = t.AppendText(buf[:0], m)
		n += len(buf)
	}
	return n
}

// workdirOf is the workdir of a phase's first candidate.
func (ck *checker) workdirOf(p *phaseBuild) string { return ck.workdirs(p)[0] }

// workdirs are the workdirs of a phase's candidates.
func (ck *checker) workdirs(p *phaseBuild) []string {
	candidates := p.Candidates
	if len(candidates) == 0 {
		candidates = []string{backends.Local}
	}
	var dirs []string
	for _, address := range candidates {
		for _, b := range ck.backends {
			if b.Address() == address {
				dirs = append(dirs, ck.workdir(b))
			}
		}
	}
	if len(dirs) == 0 {
		return []string{ck.dir}
	}
	return dirs
}

func (ck *checker) workdir(b *Backend) string { return strings.TrimRight(b.WorkdirOf(ck.dir), "/") }

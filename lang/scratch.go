package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Scratch is which files of a job are on the disk of its node while it runs.
type Scratch struct {
	In  []string // names of inputs, sorted
	Out []string // names of outputs, sorted
}

// scratch reads a scratch block.
func (pr *phaseReader) scratch(p *phaseBuild) *Scratch {
	b := p.job.One("scratch")
	if b == nil {
		return nil
	}
	return &Scratch{In: pr.staged(p, b, "stage_in", "input"), Out: pr.staged(p, b, "stage_out", "output")}
}

// staged reads the names of files of a kind from a list of a scratch block.
func (pr *phaseReader) staged(p *phaseBuild, b *syntax.Block, list, kind string) (names []string) {
	var known []string
	for _, f := range p.job.All(kind) {
		known = append(known, f.Name())
	}
	for _, ref := range pr.References(b, list) {
		name := strings.Join(ref.Parts[min(1, len(ref.Parts)):], ".")
		switch {
		case len(ref.Parts) < 2 || ref.Parts[0] != kind:
			pr.Sure.Errorat(ref.At, "Not an "+kind, "%s names %ss of the job, [%s.NAME]; %s was found.", list, kind, kind, wording.Clip(pr.Source.Text(ref.At)))
		case !slices.Contains(known, name):
			pr.Perhaps.Errorat(ref.At, "Unknown "+kind, "The job has no %s %q%s", kind, wording.Clip(name), wording.DidYouMean(name, known))
		case kind == "output" && pr.sharedOutput(p, name):
			pr.Sure.Errorat(ref.At, "A shared output cannot be staged", "Several jobs write output %q, and each would replace it with its own copy. Let the command write it in place, or give each job a path of its own.", name)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (pr *phaseReader) sharedOutput(p *phaseBuild, name string) bool {
	return slices.ContainsFunc(p.Outputs, func(o *Output) bool { return o.Name == name && o.Shared })
}

// onNodeDisk reports whether a path is where a cluster's nodes have a disk of their own.
func onNodeDisk(file string) bool {
	return slices.ContainsFunc([]string{"/local/", "/tmp/", "/var/tmp/", "/dev/shm/", "$"}, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// jobNames are the names under job.* in the expressions of a phase's jobs.
func (p *Phase) jobNames(launched bool) (names []string) {
	if p.Scratch != nil {
		names = append(names, "scratch")
	}
	if launched {
		names = append(names, slices.Sorted(maps.Keys(offer.JobMarks))...)
	}
	return names
}

// stagedIn reports whether an input is copied to the node's disk.
func (p *Phase) stagedIn(name string) bool {
	return p.Scratch != nil && slices.Contains(p.Scratch.In, name)
}

// stagedOut reports whether the command writes an output on the node's disk.
func (p *Phase) stagedOut(name string) bool {
	return p.Scratch != nil && slices.Contains(p.Scratch.Out, name)
}

// inputFiles are the paths of an input as the command reads it.
func (r *renderer) inputFiles(name string) []string {
	files := r.site.Input(name)
	if !r.p.stagedIn(name) {
		return files
	}
	copies := make([]string, len(files))
	for i, f := range files {
		copies[i] = offer.ScratchInput(offer.ScratchMark, name, i, len(files), f)
	}
	return copies
}

// outputFile is the path of output k as the command writes it.
func (r *renderer) outputFile(k int) string {
	o, file := r.p.Outputs[k], r.outputPath(k)
	if r.p.stagedOut(o.Name) {
		return offer.ScratchOutput(offer.ScratchMark, o.Name, reachable(o.Kind, file))
	}
	return below(r.site.Workdir, reachable(o.Kind, file))
}

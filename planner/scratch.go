package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// nodeDisks are folders of a cluster's nodes that are their own, on any site.
var nodeDisks = []string{"/tmp", "/var/tmp", "/dev/shm"}

// keptFiles refuses jobs that would leave results or a checkpoint on the disk of
// their node, where they are gone when the job ends, and those whose files are
// staged on one node of several.
func keptFiles(fs *facts, ps phases) (out diag.List) {
	for _, w := range ps.drafts {
		seen := map[int]bool{}
		for i, k := range w.pp.Kind {
			at := int(w.pp.Place[i])
			if !k.Starts() || at == 0 || seen[at] {
				continue
			}
			seen[at] = true
			if d := fs.leftBehind(w, i, w.pp.Placements[at]); d != nil {
				out.Append(*d)
				break
			}
		}
	}
	return out
}

// leftBehind reports a problem of the files of a job where it is to run.
func (fs *facts) leftBehind(w *draft, i int, d place.Decision) *diag.Diagnostic {
	wrong := func(at hcl.Range, summary, format string, args ...any) *diag.Diagnostic {
		return &diag.Diagnostic{Severity: diag.Error, Summary: summary, Address: w.p.Address(i), In: fmt.Sprintf("phase %q", w.p.Name), Subject: &at, Detail: fmt.Sprintf(format, args...)}
	}
	if s := w.p.Scratch; s != nil && len(s.In)+len(s.Out) > 0 && d.Shape.Nodes > 1 {
		return wrong(w.p.Range, "Files are staged on one node of several", "%s runs on %d nodes, and stage_in and stage_out copy files on the first. Leave both out, and have the command copy what each node needs.", w.p.Address(i), d.Shape.Nodes)
	}
	k := slices.IndexFunc(fs.in.Pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
	if k < 0 || fs.in.Pools[k].Kind != offer.QueuePool {
		return nil
	}
	pool, workdir := &fs.in.Pools[k], ""
	if b := fs.backend(d.Backend); b != nil {
		workdir = b.WorkdirOf("")
	}
	if onNodeDisk(pool, workdir, workdir) {
		return wrong(w.p.Range, "Results on the disk of a node", "The workdir of backend.%s is %s, on the disk of its nodes, where it is gone when a job ends. Choose a folder that all nodes see; for fast files a job has a scratch block.", d.Backend, workdir)
	}
	if c := w.p.Checkpoint; c != nil && onNodeDisk(pool, workdir, w.p.CheckpointPath(i, workdir)) {
		return wrong(c.Range, "A checkpoint on the disk of a node", "The checkpoint of %s is %s, on the disk of its node of backend.%s: the launch that resumes would not find it. Write it below the workdir.", w.p.Address(i), w.p.CheckpointPath(i, workdir), d.Backend)
	}
	return nil
}

// onNodeDisk reports whether a file is on the disk of a pool's nodes.
func onNodeDisk(p *offer.Pool, workdir, file string) bool {
	below := func(dir string) bool { return dir != "" && (file == dir || strings.HasPrefix(file, dir+"/")) }
	return below(p.Scratch) || !below(workdir) && slices.ContainsFunc(nodeDisks, below)
}

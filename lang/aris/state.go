package aris

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/units"
)

// A queueState is the record of jobs in a queue_state.json.
type queueState struct{ byStatus map[string][]string }

// isState distinguishes a queue_state.json from a manifest: its jobs have a status.
func isState(root *node) bool {
	jobs := root.get("jobs")
	if root.get("meta") == nil || jobs == nil {
		return false
	}
	return slices.ContainsFunc(jobs.items, func(n *node) bool { return n.get("status") != nil }) || len(jobs.items) == 0
}

// adopted are completed jobs whose outputs are declared.
const adopted = "completed, with outputs"

// outcomes say what becomes of each status. A job is done when its outputs
// are verified, never because another program says so.
var outcomes = []struct{ status, what string }{
	{adopted, "is adopted by an import block, once muster has opened its outputs: the first plan shows which"},
	{"completed", "names no output that muster could open, so it runs again; remove it from the list to keep its files"},
	{"running", "cannot be adopted, because a screen session shows neither its end nor its files: let it end, or quit it, before the first apply"},
	{"pending", "has not started: it runs as any other"},
	{"failed_oom", "starts again, with all its attempts"},
	{"failed_other", "needs a decision: see its log before it runs again"},
	{"stuck", "needs a decision: see its log before it runs again"},
}

// queueState reads a queue_state.json as the manifest it was made from, as far
// as it is remembered, and says what becomes of each job's status.
func (r *reader) queueState(root *node) *manifest {
	r.keys(root, "A queue state", "meta", "phases", "jobs")
	m := &manifest{delay: defaultDelay, attempts: defaultAttempts, state: &queueState{byStatus: map[string][]string{}}}
	if meta := root.get("meta"); meta != nil && r.keys(meta, "meta", "project", "started", "host", "manifest_path") {
		m.project = r.word(meta.get("project"))
		if r.whole {
			return r.stateJobs(m, root)
		}
		r.warn(root.at, "A state without its manifest", "A queue_state.json does not hold cwd, conda, gpus, ssh and oom_retry. Convert the manifest itself where there is one (%s).",
			or(clip(r.word(meta.get("manifest_path"))), "its path is not recorded"))
	}
	return r.stateJobs(m, root)
}

func (r *reader) stateJobs(m *manifest, root *node) *manifest {
	for _, it := range root.get("phases").elements() {
		if !r.keys(it, "A phase", "name", "depends_on", "status") {
			continue
		}
		m.phases = append(m.phases, &phase{name: r.word(it.get("name")), at: it.at, dependsOn: it.get("depends_on").elements()})
	}
	for _, it := range root.get("jobs").elements() {
		r.stateJob(m, it)
	}
	m.phases = slices.DeleteFunc(m.phases, func(p *phase) bool { return len(p.jobs) == 0 })
	if len(m.phases) == 0 && !r.ds.HasErrors() {
		r.ds.Errorat(root.at, "The state holds no jobs", "Nothing would run.")
	}
	r.statuses(m, root.at)
	r.names(m)
	return m
}

func (r *reader) stateJob(m *manifest, it *node) {
	if !r.keys(it, "A job", "id", "phase", "cmd", "expected_output", "status", "gpu", "screen_name", "pid", "attempts", "started", "started_ts", "completed", "error", "log_file", "exit_file") {
		return
	}
	name := or(r.word(it.get("phase")), "jobs")
	i := slices.IndexFunc(m.phases, func(p *phase) bool { return p.name == name })
	if i < 0 {
		i = len(m.phases)
		m.phases = append(m.phases, &phase{name: name, at: it.at})
	}
	kept := &node{kind: mapping, at: it.at}
	for _, mb := range it.keys {
		if slices.Contains([]string{"id", "cmd", "expected_output"}, mb.key.text) {
			kept.keys = append(kept.keys, mb)
		}
	}
	status := or(r.word(it.get("status")), "pending")
	if j := r.job(kept, "A job"); j != nil {
		j.done = status == "completed" && len(j.outputs) > 0
		m.phases[i].jobs = append(m.phases[i].jobs, j)
		if j.done {
			status = adopted
		}
	}
	m.state.byStatus[status] = append(m.state.byStatus[status], or(r.word(it.get("id")), "a job without an id"))
}

// statuses tells what each job was when the state was written.
func (r *reader) statuses(m *manifest, at hcl.Range) {
	rest := m.state.byStatus
	tell := func(status, what string) {
		ids := rest[status]
		if len(ids) == 0 {
			return
		}
		const shown = 20 // ids in a comment
		names := strings.Join(ids[:min(len(ids), shown)], ", ")
		if len(ids) > shown {
			names += fmt.Sprintf(" and %d more", len(ids)-shown)
		}
		text := fmt.Sprintf("%s %s: each %s (%s)", units.Count(len(ids), "job"), status, what, oneLine(names))
		if r.note("%s", text); status != "pending" && status != adopted {
			r.ds.Warnat(at, "The queue's progress is not carried over", "%s.", text)
		}
	}
	for _, o := range outcomes {
		tell(o.status, o.what)
		delete(rest, o.status)
	}
	var others []string
	for s := range rest {
		others = append(others, s)
	}
	slices.Sort(others)
	for _, s := range others {
		tell(s, "has a status that the queue does not document, and runs as any other")
	}
}

// completeFrom fills in, from the manifest of a queue state, the fields that the state
// does not have.
func (r *reader) completeFrom(m *manifest, src []byte) {
	root, ds := read("manifest.json", src)
	r.ds.Append(ds...)
	if ds.HasErrors() {
		return
	}
	h := r.header(root)
	h.project, h.state, h.phases = or(h.project, m.project), m.state, m.phases
	*m = *h
}

package aris

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
)

// Defaults of the queue, where a manifest says nothing; build_manifest and
// queue_manager agree on them.
const (
	defaultDelay    = 120 // seconds from an out-of-memory failure to the next launch
	defaultAttempts = 3   // launches, the first included
)

// A manifest is the content of the file, names resolved and values checked,
// but before it is put into the words of a campaign.
type manifest struct {
	project       string
	cwd           string
	conda, hook   string
	ssh           *node
	gpus          []int
	maxParallel   int
	freeMiB       int
	delay         int
	attempts      int
	defaultCmd    *node
	preconditions []*node
	analyze       *node
	phases        []*phase
	state         *queueState // of a queue_state.json
}

// A phase of the manifest, whichever of the three shapes it was written in.
type phase struct {
	name          string // as written
	id            string // fit for phase.ID
	at            hcl.Range
	dependsOn     []*node
	axes          []axis
	template      *job // with axes, or alone
	jobs          []*job
	preconditions []*node
}

type axis struct {
	name, id string
	values   []value
	at       hcl.Range
}

// A job is one entry of jobs, or a template.
type job struct {
	at      hcl.Range
	id      *node
	cmd     *node
	args    *node
	outputs []*node
	done    bool // by the word of a queue state
}

// A reader checks a manifest and collects diagnostics.
type reader struct {
	name  string
	ds    *diag.List
	notes []string // for the campaign's comment
	lines bool     // it is queue lines
	whole bool     // a queue state has its manifest beside it
}

// note puts a remark into the campaign's comment only.
func (r *reader) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.notes, s) {
		r.notes = append(r.notes, s)
	}
}

// warn reports a value that changed on the way, and puts it into the campaign's comment, too.
func (r *reader) warn(at hcl.Range, summary, detail string, args ...any) {
	r.ds.Warnat(at, summary, detail, args...)
	r.note("line %d: %s. %s", at.Start.Line, summary, fmt.Sprintf(detail, args...))
}

// keys reports keys that a mapping should not have.
func (r *reader) keys(n *node, what string, known ...string) bool {
	if n.kind != mapping {
		r.ds.Errorat(n.at, "A mapping is needed", "%s is a mapping, KEY: VALUE; this is %s.", what, n.kind)
		return false
	}
	for _, m := range n.keys {
		if slices.Contains(known, m.key.text) {
			continue
		}
		hint := "It is not carried over."
		if s := diag.Suggest(m.key.text, known); s != "" {
			hint = fmt.Sprintf("Did you mean %q? It is not carried over.", s)
		}
		r.warn(m.key.at, "Unknown key", "%s has no key %q. %s", what, clip(m.key.text), hint)
	}
	return true
}

// word is a single value as text.
func (r *reader) word(n *node) string {
	if n == nil {
		return ""
	}
	if n.kind != scalar {
		r.ds.Errorat(n.at, "A single value is needed", "This is %s. Write one text.", n.kind)
	}
	return strings.TrimSpace(n.text)
}

func (r *reader) manifest(root *node) *manifest {
	if isState(root) {
		return r.queueState(root)
	}
	m := r.header(root)
	r.phases(m, root)
	return m
}

// header reads the fields of a manifest for all its jobs.
func (r *reader) header(root *node) *manifest {
	r.keys(root, "A manifest", "project", "cwd", "conda", "conda_hook", "ssh", "gpus", "max_parallel", "gpu_free_threshold_mib", "oom_retry",
		"default_cmd", "preconditions", "jobs", "grid", "template", "phases", "analyze_on_complete")
	m := &manifest{
		project: r.word(root.get("project")), cwd: r.word(root.get("cwd")), conda: r.word(root.get("conda")), hook: r.word(root.get("conda_hook")),
		ssh: root.get("ssh"), gpus: r.gpus(root.get("gpus")), defaultCmd: root.get("default_cmd"), preconditions: r.preconditions(root),
		analyze: root.get("analyze_on_complete"), delay: defaultDelay, attempts: defaultAttempts,
	}
	m.maxParallel, _ = r.integer(root.get("max_parallel"), "max_parallel", 1)
	m.freeMiB, _ = r.integer(root.get("gpu_free_threshold_mib"), "gpu_free_threshold_mib", 0)
	if retry := root.get("oom_retry"); retry != nil && r.keys(retry, "oom_retry", "delay", "max_attempts") {
		if n, ok := r.integer(retry.get("delay"), "delay", 0); ok {
			m.delay = n
		}
		if n, ok := r.integer(retry.get("max_attempts"), "max_attempts", 0); ok {
			m.attempts = max(1, n)
		}
	}
	return m
}

func (r *reader) gpus(n *node) (out []int) {
	if n == nil {
		return nil
	}
	items := n.items
	if n.kind != list {
		r.ds.Errorat(n.at, "Invalid gpus", "gpus is a list of indexes such as [0, 1, 2]; this is %s.", n.kind)
		return nil
	}
	for _, it := range items {
		if i, ok := r.integer(it, "GPU index", 0); ok && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	if len(items) == 0 {
		r.ds.Errorat(n.at, "Invalid gpus", "The list is empty, so no job could start. Name the GPUs, or leave gpus out for all of them.")
	}
	return out
}

// preconditions are checkpoint_exists with a path; other types are reported.
func (r *reader) preconditions(in *node) (out []*node) {
	n := in.get("preconditions")
	if n == nil {
		return nil
	}
	if n.kind != list {
		r.ds.Errorat(n.at, "Invalid preconditions", "preconditions is a list of {type: checkpoint_exists, path: …}; this is %s.", n.kind)
		return nil
	}
	for _, it := range n.items {
		if !r.keys(it, "A precondition", "type", "path") {
			continue
		}
		path, typ := it.get("path"), it.get("type")
		switch {
		case typ != nil && !slices.Contains([]string{"checkpoint_exists", "file_exists"}, typ.text):
			r.warn(typ.at, "Unknown type of precondition", "%q is not checkpoint_exists; it is not carried over.", clip(typ.text))
		case path == nil || path.kind != scalar || path.text == "":
			r.ds.Errorat(it.at, "A precondition needs a path", "Write {type: checkpoint_exists, path: FILE}.")
		default:
			out = append(out, path)
		}
	}
	return out
}

package batch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A batch is jobs that are submitted together: one array, or one job.
type batch struct {
	Name    string    `json:"name"` // the scheduler's job name, which its queue and its accounting keep everywhere
	Seq     int       `json:"seq"`  // in the order of submission
	Phase   string    `json:"phase"`
	Pool    string    `json:"pool,omitempty"`
	Limit   int       `json:"limit,omitempty"`  // of jobs of the phase at once
	Cap     int       `json:"cap,omitempty"`    // its share of that
	Behind  string    `json:"behind,omitempty"` // the batch that ends before this one begins
	Of      string    `json:"of,omitempty"`     // the batch that it is a part of; see split
	Array   bool      `json:"array"`
	Packed  bool      `json:"packed,omitempty"` // its jobs share one job of the scheduler
	Slots   int       `json:"slots,omitempty"`  // of a pack: how many run beside one another, the others in turns; 0 = all
	Made    time.Time `json:"made"`
	Indexes []int     `json:"-"`

	dir  node.Batch
	jobs map[int]*job
	// id is the scheduler's, "" until it is known; tried is when a submission
	// was begun whose outcome is not known.
	id           string
	tried        time.Time
	held         string    // why muster holds it; "" = it does not
	limitChecked time.Time // when the scheduler was asked for its share
	wide         bool      // each element waits for the dependencies of all; see tellEach
}

// A job is one token and its latest status.
type job struct {
	token    string
	address  string
	smoke    bool   // it is the smoke of that address
	result   string // result hash
	of       string // whose breaker may stop it, as providers.Job.StoppedAs has it
	digest   string
	after    []string
	base     int // attempt of its first start
	walltime time.Duration
	scales   bool // its retry policy requests more resources
	batch    *batch
	index    int
	// unlaunchable says that the node could not start its script.
	unlaunchable bool

	last         offer.Observation
	ended        bool                 // for good
	absentSince  time.Time            // when it left the queue without a record of its end; zero = it has not
	absentLooks  int                  // at the queue, since then
	absenceNoted bool                 // the spool says that neither queue nor accounting has it
	other        *scheduler.ElementID // place of the launch that claimed its token, if not that of its batch; see claimant
	pendingEnds  []pendingEnd         // of earlier launches, which are not reported yet; see settle
	later        []offer.Observation  // that are held back until then
}

// cancelled is the end of a job that did not run.
func (j *job) cancelled(reason string, cause offer.Cause) offer.Observation {
	o := j.last
	o.Status, o.Reason, o.Cause, o.Ended, o.Class = offer.Cancelled, reason, cause, time.Now(), ""
	return o
}

// jobsOf names jobs to the scheduler: a whole array by its id, else its elements.
func jobsOf(list []*job) (out []scheduler.Jobs) {
	by := map[*batch][]int{}
	var order []*batch
	for _, j := range list {
		if j.batch.id == "" {
			continue
		}
		if by[j.batch] == nil {
			order = append(order, j.batch)
		}
		by[j.batch] = append(by[j.batch], j.index)
	}
	for _, k := range order {
		slices.Sort(by[k])
		if !k.Array || len(by[k]) == len(k.Indexes) {
			out = append(out, scheduler.Jobs{ID: k.id})
			continue
		}
		out = append(out, scheduler.Jobs{ID: k.id, Indexes: by[k]})
	}
	return out
}

// waitingOf names jobs to a scheduler for a hold, a release or a change of those
// that wait: whole arrays where it cannot do that to elements.
func waitingOf(list []*job, can scheduler.Elements) []scheduler.Jobs {
	out := jobsOf(list)
	if !can.Apart {
		for i := range out {
			out[i].Indexes = nil
		}
	}
	return out
}

// elements lists the scheduler's abilities for single jobs of a batch: none for
// those of a pack, which are one job to it.
func (b *batch) elements(n scheduler.Notation) scheduler.Elements {
	if b.Packed {
		return scheduler.Elements{}
	}
	return n.Elements()
}

// stage is how far a batch has come.
func (b *batch) stage() offer.Stage {
	switch {
	case b.id == "":
		return offer.Accepted
	case b.held != "":
		return offer.Submitted
	}
	return offer.Released
}

// at is the job at an index of the scheduler's; of a pack, which has none, one that
// has not ended.
func (b *batch) at(index int) *job {
	if b.Array {
		return b.jobs[index]
	}
	for _, i := range b.Indexes {
		if j := b.jobs[i]; j != nil && !j.ended {
			return j
		}
	}
	return b.jobs[0]
}

// over reports whether all jobs of a batch have ended.
func (b *batch) over() bool {
	for _, j := range b.jobs {
		if !j.ended {
			return false
		}
	}
	return true
}

// like is one of a batch's jobs; nil = none can be read.
func (b *batch) like() *providers.Job {
	if len(b.Indexes) == 0 {
		return nil
	}
	spec, err := b.dir.Job(b.Indexes[0])
	if err != nil {
		return nil
	}
	return spec
}

// waiting reports why the jobs of a batch wait on the spool, of those that do not
// say so yet.
func (b *batch) waiting(why string) (list []offer.Observation) {
	for _, i := range b.Indexes {
		if j := b.jobs[i]; j != nil && !j.ended && j.last.Reason != why {
			o := j.last
			o.Status, o.Reason, o.Cause, o.Stage, o.HeldBy = offer.Queued, why, "", offer.Accepted, ""
			list = append(list, o)
		}
	}
	return list
}

// request is the request for a batch's script, of which like is one job.
// Dependencies and programs are added at submission.
func (b *batch) request(like *providers.Job, campaign, spool string) scheduler.Request {
	r := scheduler.Request{Name: b.Name, Pool: b.Pool, Array: b.Array, Indexes: b.Indexes, Cap: b.Cap, Dir: string(b.dir), Job: like, Count: len(b.Indexes),
		Campaign: campaign, Spool: spool}
	if b.Packed {
		r.Job, r.Pack = together(like, len(b.Indexes)), b.Indexes
	}
	return r
}

// together is the scheduler's job of n jobs of a pack: as large as those that run beside
// one another, and as long as their turns.
func together(like *providers.Job, n int) *providers.Job {
	all := *like
	shape := like.Shape.Together(n)
	beside := shape.Beside()
	all.Shape.CPUs, all.Shape.GPUs, all.Shape.Memory = beside*max(like.Shape.CPUs, 1), beside*like.Shape.GPUs, int64(beside)*like.Shape.Memory
	all.Shape.Pack, all.Shape.Slots, all.Shape.Walltime = shape.Pack, shape.Slots, shape.Lasts()
	return &all
}

// beside is how many of n jobs of a batch may run at once.
func (b *batch) beside(n int) int {
	if b.Packed && b.Slots > 0 {
		return min(n, b.Slots)
	}
	return n
}

// turns reports whether jobs of a batch wait for others of it in one job of the
// scheduler.
func (b *batch) turns() bool { return b.Packed && b.beside(len(b.jobs)) < len(b.jobs) }

// ahead is a batch as jobs depend on it.
func (b *batch) ahead() arrays.Ahead {
	return arrays.Ahead{Name: b.Name, Seq: b.Seq, ID: b.id, Array: b.Array, Packed: b.Packed, Jobs: len(b.Indexes)}
}

// part is the number of a part of another batch, from 1; 0 = it is a whole batch.
func (b *batch) part() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(b.Name, b.Of+"-"))
	return n
}

// write puts a batch on the spool, as a whole: from then on a new muster finds it.
func (b *batch) write(elements []node.Element, secrets map[string][]byte, most scheduler.Bounds) error {
	aside := string(b.dir) + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	tmp := node.Batch(aside)
	if err := tmp.Write(elements); err != nil {
		return err
	}
	if err := tmp.WriteBounds(most); err != nil {
		return err
	}
	for token, text := range secrets {
		if err := tmp.WriteSecrets(token, text); err != nil {
			return err
		}
	}
	head, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(aside, "batch.json"), append(head, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(aside, string(b.dir))
}

// loadBatch reads a batch back.
func loadBatch(dir string) (*batch, []node.Element, error) {
	head, err := os.ReadFile(filepath.Join(dir, "batch.json"))
	if err != nil {
		return nil, nil, err
	}
	b := &batch{dir: node.Batch(dir), jobs: map[int]*job{}}
	if err := json.Unmarshal(head, b); err != nil {
		return nil, nil, fmt.Errorf("batch %s: %w", dir, err)
	}
	elements, err := b.dir.Read()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range elements {
		b.Indexes = append(b.Indexes, e.Index)
	}
	b.readLimit()
	b.id, b.held, b.wide = b.dir.Noted("id"), b.dir.Noted("held"), b.dir.Noted("wide") != ""
	if t, err := time.Parse(time.RFC3339Nano, b.dir.Noted("tried")); err == nil {
		b.tried = t
	}
	return b, elements, nil
}

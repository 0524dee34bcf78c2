package scheduler

import (
	"slices"
	"strings"
	"time"
)

// An ElementID names one job, or one element of an array.
type ElementID struct {
	Array string // id of the array, or of the job itself
	Index int    // -1: no element
}

// Jobs are a job, an array, or elements of one.
type Jobs struct {
	ID      string
	Indexes []int // in order; nil = all of it
}

// Whole are jobs and arrays by their ids.
func Whole(ids ...string) (list []Jobs) {
	for _, id := range ids {
		list = append(list, Jobs{ID: id})
	}
	return list
}

// Of are the jobs of rows: elements of one array together, single jobs first.
func Of(rows []Entry) (list []Jobs) {
	by := map[string][]int{}
	var arrays []string
	for _, r := range rows {
		if r.Index < 0 {
			list = append(list, Jobs{ID: r.Array})
			continue
		}
		if by[r.Array] == nil {
			arrays = append(arrays, r.Array)
		}
		by[r.Array] = append(by[r.Array], r.Index)
	}
	slices.Sort(arrays)
	for _, id := range arrays {
		slices.Sort(by[id])
		list = append(list, Jobs{ID: id, Indexes: by[id]})
	}
	return list
}

// A Change is a change of jobs that wait, or were just requeued: Depend, Label,
// Throttle, StartIn, More, Avoid or Requeueable.
type Change interface{ change() }

// Depend replaces the dependencies of a job. scontrol update Dependency=; qalter
// -W depend=.
type Depend []Dependency

// Throttle is how many elements of an array may run at once; 0 = all. scontrol
// update ArrayTaskThrottle=; qalter -Wmax_run_subjobs=.
type Throttle int

// StartIn is the least time from now that a job waits; 0 = none. scontrol update
// StartTime=; qalter -a.
type StartIn time.Duration

// More is memory and time in place of a job's own. scontrol update
// MinMemoryNode= and TimeLimit=; qalter -l.
type More struct {
	Memory   int64         // bytes of one node; 0 = as before
	Walltime time.Duration // 0 = as before
}

// Avoid are nodes that a job must not use, as the scheduler lists them. scontrol
// update ExcNodeList=.
type Avoid string

// Requeueable says whether a job may be put back into the queue. scontrol update
// Requeue=; qalter -r.
type Requeueable bool

func (Depend) change()      {}
func (Label) change()       {}
func (Throttle) change()    {}
func (StartIn) change()     {}
func (More) change()        {}
func (Avoid) change()       {}
func (Requeueable) change() {}

// A Label is a text that the scheduler keeps with a job and shows in its queue:
// Slurm's comment. A scheduler whose users cannot change it later refuses that
// change; Held then means nothing for released jobs.
type Label string

// Held is the label of jobs that muster submits held, until it has released them.
const Held Label = "held by muster until all of its campaign is in"

// LabelOf is the label of a phase's jobs. That of phase "" is the prefix of all of
// a campaign's labels.
func LabelOf(campaign, phase string) Label { return Label("muster " + campaign + " phase." + phase) }

// A Dependency is a job, or elements, that a job waits for.
type Dependency struct {
	Kind    DependencyKind
	ID      string
	Indexes []int // elements; nil = the job, or all of the array
}

// A DependencyKind is when a dependency is fulfilled. sbatch(1), --dependency;
// qsub(1B), -W depend.
type DependencyKind string

const (
	// AfterOK waits until jobs have completed with status 0.
	AfterOK DependencyKind = "afterok"
	// AfterAny waits until jobs have ended, however.
	AfterAny DependencyKind = "afterany"
	// AfterLike lets each element wait for the element of its own index. PBS has no
	// such dependency.
	AfterLike DependencyKind = "aftercorr"
)

// Terms are dependencies as both sbatch --dependency and qsub -W depend take them.
func Terms(n Notation, list []Dependency) string {
	terms := make([]string, len(list))
	for i, d := range list {
		term := string(d.Kind)
		if d.Indexes == nil {
			term += ":" + d.ID
		}
		for _, index := range d.Indexes {
			term += ":" + n.ID(ElementID{d.ID, index})
		}
		terms[i] = term
	}
	return strings.Join(terms, ",")
}

// clockMargin is by how much the clocks of two machines may differ.
const clockMargin = time.Minute

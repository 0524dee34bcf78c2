package arrays

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// An Ahead is an array, or a single job, that other jobs depend on.
type Ahead struct {
	Name  string
	Seq   int // in the order of submission
	ID    string
	Array bool
	// Packed says that its jobs are one job of the scheduler, which ends well if all
	// of them do.
	Packed bool
	Jobs   int
}

// An Element is one job of an Ahead.
type Element struct {
	Of    Ahead
	Index int
}

// Edges are the dependencies of a group of jobs.
type Edges struct {
	Common []scheduler.Dependency   // the dependencies of all
	Index  []int                    // the index that each job takes so that AfterLike matches
	Each   [][]scheduler.Dependency // where neither will do, the dependencies of each job; nil = Common has all
}

// Preds are the elements that a job depends on.
type Preds map[Ahead][]int

// Depend works out a group's dependencies: AfterOK on all or some elements of an
// array, AfterLike between like elements if the scheduler has that. Where it
// has no dependencies on some elements, all wait until the array has ended. open
// returns the element of a token that has not completed; own are the jobs'
// indexes, nil while they can still be chosen.
func Depend(jobs []*providers.Job, own []int, can scheduler.Elements, open func(token string) (Element, bool)) Edges {
	all, over := predecessors(jobs, open)
	e := Edges{}
	var rest []Ahead
	for _, b := range slices.SortedFunc(maps.Keys(over), func(a, b Ahead) int { return cmp.Or(a.Seq-b.Seq, strings.Compare(a.Name, b.Name)) }) {
		switch {
		case (!can.Apart || b.Packed) && !(sameOf(all, b) && wholly(b, all[0][b])):
			e.Common = append(e.Common, scheduler.Dependency{Kind: scheduler.AfterAny, ID: b.ID})
		case sameOf(all, b):
			e.Common = append(e.Common, Afterok(b, all[0][b]))
		case can.AfterLike && own != nil && b.Array && followed(all, b, own):
			e.Common = append(e.Common, scheduler.Dependency{Kind: scheduler.AfterLike, ID: b.ID})
		case can.AfterLike && own == nil && e.Index == nil && b.Array && matches(all, b):
			for i := range jobs {
				e.Index = append(e.Index, all[i][b][0])
			}
			e.Common = append(e.Common, scheduler.Dependency{Kind: scheduler.AfterLike, ID: b.ID})
		case e.Index != nil && b.Array && followed(all, b, e.Index):
			e.Common = append(e.Common, scheduler.Dependency{Kind: scheduler.AfterLike, ID: b.ID})
		default:
			rest = append(rest, b)
		}
	}
	if len(rest) == 0 {
		return e
	}
	// Until each element has its own, all wait for all.
	fixed := slices.Clone(e.Common)
	for _, b := range rest {
		e.Common = append(e.Common, scheduler.Dependency{Kind: scheduler.AfterOK, ID: b.ID})
	}
	for i := range jobs {
		terms := slices.Clone(fixed)
		for k, t := range terms {
			if t.Kind == scheduler.AfterLike { // alone, it has no like element
				for b := range over {
					if b.ID == t.ID {
						terms[k] = Afterok(b, all[i][b])
					}
				}
			}
		}
		for _, b := range rest {
			if list := all[i][b]; len(list) > 0 {
				terms = append(terms, Afterok(b, list))
			}
		}
		e.Each = append(e.Each, terms)
	}
	return e
}

// predecessors lists the jobs for which each job waits, by the array that has
// them.
func predecessors(jobs []*providers.Job, open func(token string) (Element, bool)) (all []Preds, over map[Ahead]bool) {
	all = make([]Preds, len(jobs))
	over = map[Ahead]bool{}
	for i, j := range jobs {
		all[i] = Preds{}
		for _, t := range j.After {
			if p, ok := open(t); ok {
				all[i][p.Of] = append(all[i][p.Of], p.Index)
				over[p.Of] = true
			}
		}
		for _, list := range all[i] {
			slices.Sort(list)
		}
	}
	return all, over
}

// Also adds a dependency of all jobs.
func (e *Edges) Also(d scheduler.Dependency) {
	e.Common = append(e.Common, d)
	for i := range e.Each {
		e.Each[i] = append(e.Each[i], d)
	}
}

// sameOf reports whether all jobs depend on the same elements of a batch.
func sameOf(all []Preds, b Ahead) bool {
	for _, p := range all {
		if !slices.Equal(p[b], all[0][b]) {
			return false
		}
	}
	return true
}

// matches reports whether each job depends on one element, no two on the same.
func matches(all []Preds, b Ahead) bool {
	seen := map[int]bool{}
	for _, p := range all {
		if len(p[b]) != 1 || seen[p[b][0]] {
			return false
		}
		seen[p[b][0]] = true
	}
	return true
}

// followed reports whether each job depends on the element of its own index.
func followed(all []Preds, b Ahead, index []int) bool {
	for i, p := range all {
		if len(p[b]) != 1 || p[b][0] != index[i] {
			return false
		}
	}
	return true
}

// wholly reports whether elements are all of a batch.
func wholly(b Ahead, indexes []int) bool {
	return !b.Array && !b.Packed || len(indexes) == b.Jobs
}

// Afterok names the elements of a batch, or all of it in one. A pack's exit says nothing about
// single jobs, so that the waiting job only waits for its end, and looks at its start how they
// ended.
func Afterok(b Ahead, indexes []int) scheduler.Dependency {
	d := scheduler.Dependency{Kind: scheduler.AfterOK, ID: b.ID}
	switch {
	case wholly(b, indexes):
	case b.Packed:
		d.Kind = scheduler.AfterAny
	default:
		d.Indexes = indexes
	}
	return d
}

package arrays

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
)

// An Ahead is an array, or a single job, that others come after.
type Ahead struct {
	Name  string
	Seq   int // in the order of submission
	ID    string
	Array bool
	Jobs  int
}

// An Element is one job of what is ahead.
type Element struct {
	Of    Ahead
	Index int
}

// Edges say what the jobs of a group come after.
type Edges struct {
	Common []string // what all come after: dependency terms
	Index  []int    // the index that each job takes so that aftercorr matches
	Each   []string // where neither will do, the dependency of each job; nil = Common says all
}

// Preds are the elements that a job comes after.
type Preds map[Ahead][]int

// Depend works out how a group's edges are told to Slurm. sbatch(1),
// --dependency: afterok for all or some elements of an array, aftercorr for
// element to like element. open gives what a token has yet to wait for; own
// are the jobs' indexes, nil while they may still be chosen.
func Depend(jobs []*providers.Job, own []int, open func(token string) (Element, bool)) Edges {
	all := make([]Preds, len(jobs))
	over := map[Ahead]bool{}
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
	e := Edges{}
	var rest []Ahead
	for _, b := range slices.SortedFunc(maps.Keys(over), func(a, b Ahead) int { return cmp.Or(a.Seq-b.Seq, strings.Compare(a.Name, b.Name)) }) {
		switch {
		case sameOf(all, b):
			e.Common = append(e.Common, Afterok(b, all[0][b]))
		case own != nil && b.Array && followed(all, b, own):
			e.Common = append(e.Common, "aftercorr:"+b.ID)
		case own == nil && e.Index == nil && b.Array && matches(all, b):
			for i := range jobs {
				e.Index = append(e.Index, all[i][b][0])
			}
			e.Common = append(e.Common, "aftercorr:"+b.ID)
		case e.Index != nil && b.Array && followed(all, b, e.Index):
			e.Common = append(e.Common, "aftercorr:"+b.ID)
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
		e.Common = append(e.Common, "afterok:"+b.ID)
	}
	for i := range jobs {
		terms := slices.Clone(fixed)
		for k, t := range terms {
			if id, ok := strings.CutPrefix(t, "aftercorr:"); ok { // alone, it has no like element
				for b := range over {
					if b.ID == id {
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
		e.Each = append(e.Each, strings.Join(terms, ","))
	}
	return e
}

// Also adds a term to what all come after.
func (e *Edges) Also(term string) {
	e.Common = append(e.Common, term)
	for i, d := range e.Each {
		e.Each[i] = d + "," + term
	}
}

// sameOf reports whether all jobs come after the same elements of a batch.
func sameOf(all []Preds, b Ahead) bool {
	for _, p := range all {
		if !slices.Equal(p[b], all[0][b]) {
			return false
		}
	}
	return true
}

// matches reports whether each job comes after one element, no two after the same.
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

// followed reports whether a batch's elements go with indexes that are given.
func followed(all []Preds, b Ahead, index []int) bool {
	for i, p := range all {
		if len(p[b]) != 1 || p[b][0] != index[i] {
			return false
		}
	}
	return true
}

// Afterok names the elements of a batch, or all of it in one.
func Afterok(b Ahead, indexes []int) string {
	if !b.Array || len(indexes) == b.Jobs {
		return "afterok:" + b.ID
	}
	var s strings.Builder
	s.WriteString("afterok")
	for _, i := range indexes {
		s.WriteString(":" + b.ID + "_" + strconv.Itoa(i))
	}
	return s.String()
}

package login

import (
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// An edge set says what the jobs of a group come after, by batch.
type edges struct {
	// common is what all of the group come after; index is, for each job, the
	// index it takes so that aftercorr matches; each is, where neither will do,
	// what each job comes after on its own.
	common []string // dependency terms
	index  []int
	each   []string // dependency of each job; nil = common says all
}

// preds are the elements that a job comes after, by batch.
type preds map[*batch][]int

// depend works out how a group's edges are told to Slurm. sbatch(1),
// --dependency: afterok for all or some elements of an array, aftercorr for
// element to like element. open gives what a token has yet to wait for; own
// are the jobs' indexes, nil while they may still be chosen.
func depend(jobs []*providers.Job, own []int, open func(token string) *job) edges {
	all := make([]preds, len(jobs))
	over := map[*batch]bool{}
	for i, j := range jobs {
		all[i] = preds{}
		for _, t := range j.After {
			if p := open(t); p != nil {
				all[i][p.batch] = append(all[i][p.batch], p.index)
				over[p.batch] = true
			}
		}
		for _, list := range all[i] {
			slices.Sort(list)
		}
	}
	e := edges{}
	var rest []*batch
	for _, b := range slices.SortedFunc(maps.Keys(over), func(a, b *batch) int { return a.Seq - b.Seq }) {
		switch {
		case sameOf(all, b):
			e.common = append(e.common, afterok(b, all[0][b]))
		case own != nil && b.Array && followed(all, b, own):
			e.common = append(e.common, "aftercorr:"+b.id)
		case own == nil && e.index == nil && b.Array && matches(all, b):
			for i := range jobs {
				e.index = append(e.index, all[i][b][0])
			}
			e.common = append(e.common, "aftercorr:"+b.id)
		case e.index != nil && b.Array && followed(all, b, e.index):
			e.common = append(e.common, "aftercorr:"+b.id)
		default:
			rest = append(rest, b)
		}
	}
	if len(rest) == 0 {
		return e
	}
	// Until each element has its own, all wait for all.
	fixed := slices.Clone(e.common)
	for _, b := range rest {
		e.common = append(e.common, "afterok:"+b.id)
	}
	for i := range jobs {
		terms := slices.Clone(fixed)
		for k, t := range terms {
			if id, ok := strings.CutPrefix(t, "aftercorr:"); ok { // alone, it has no like element
				for b := range over {
					if b.id == id {
						terms[k] = afterok(b, all[i][b])
					}
				}
			}
		}
		for _, b := range rest {
			if list := all[i][b]; len(list) > 0 {
				terms = append(terms, afterok(b, list))
			}
		}
		e.each = append(e.each, strings.Join(terms, ","))
	}
	return e
}

// also adds a term to what all come after.
func (e *edges) also(term string) {
	e.common = append(e.common, term)
	for i, d := range e.each {
		e.each[i] = d + "," + term
	}
}

// sameOf reports whether all jobs come after the same elements of a batch.
func sameOf(all []preds, b *batch) bool {
	for _, p := range all {
		if !slices.Equal(p[b], all[0][b]) {
			return false
		}
	}
	return true
}

// matches reports whether each job comes after one element, no two after the same.
func matches(all []preds, b *batch) bool {
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
func followed(all []preds, b *batch, index []int) bool {
	for i, p := range all {
		if len(p[b]) != 1 || p[b][0] != index[i] {
			return false
		}
	}
	return true
}

// afterok names the elements of a batch, or all of it in one.
func afterok(b *batch, indexes []int) string {
	if !b.Array || len(indexes) == len(b.Indexes) {
		return "afterok:" + b.id
	}
	var s strings.Builder
	s.WriteString("afterok")
	for _, i := range indexes {
		s.WriteString(":" + b.id + "_" + cluster.FormatIndexes([]int{i}))
	}
	return s.String()
}

// Package arrays decides how jobs go to a batch scheduler: which jobs form one
// array, which arrays an array waits for, and its share of a phase's limit. It is
// a package of its own because these are algorithms over values, without a spool
// or a scheduler, and are tested as such.
package arrays

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
)

// likeness is common to the jobs of one array: everything that the directives of
// its script say.
func likeness(j *providers.Job, level int) string {
	b, err := json.Marshal([]any{j.Phase, j.Pool, j.Shape, j.Options, j.Cap, j.Checkpoint.Signal, j.Checkpoint.Grace, max(j.Retry.Max, 1) > 1, j.Smoke, j.Workdir, len(j.Setup) > 0, level, j.Pack})
	if err != nil {
		panic("bug: a job cannot be marshalled: " + err.Error())
	}
	return string(b)
}

// Gather groups like jobs, dependencies first, and cuts the groups to the length
// of an array; most <= 0 is any length. The jobs of a pack are a group, whole. known names the batch of an earlier
// request's token.
func Gather(jobs []*providers.Job, most int, known func(token string) string) [][]*providers.Job {
	levels := depths(jobs)
	of := map[string]string{} // token: its group's number
	where := func(token string) string {
		if g, ok := of[token]; ok {
			return g
		}
		return known(token)
	}
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(levels[a], levels[b]) })
	var out [][]*providers.Job
	for len(order) > 0 {
		level := levels[order[0]]
		var kinds [][]*providers.Job
		by := map[string]int{}
		for len(order) > 0 && levels[order[0]] == level {
			j := jobs[order[0]]
			order = order[1:]
			key := likeness(j, level)
			at, ok := by[key]
			if !ok {
				at = len(kinds)
				by[key], kinds = at, append(kinds, nil)
			}
			kinds[at] = append(kinds[at], j)
		}
		for _, like := range kinds {
			parts, n := [][]*providers.Job{like}, len(like)
			if like[0].Pack == "" {
				parts = ByUpstream(like, where)
				if most > 0 {
					n = most
				}
			}
			for _, part := range parts {
				for cut := range slices.Chunk(part, n) {
					for _, j := range cut {
						of[j.Token] = "#" + strconv.Itoa(len(out))
					}
					out = append(out, cut)
				}
			}
		}
	}
	return out
}

// ByUpstream divides like jobs by the arrays that they depend on, where each part
// can then depend on like elements in one submission. Otherwise each element would
// need a change of its own.
func ByUpstream(jobs []*providers.Job, where func(token string) string) [][]*providers.Job {
	type part struct {
		jobs []*providers.Job
		seen map[string]bool
		same bool // all come after the same
		each bool // no two come after the same
	}
	var parts []*part
	by, own := map[string]*part{}, map[string]bool{}
	for _, j := range jobs {
		var up []string
		for _, t := range j.After {
			if g := where(t); g != "" {
				up = append(up, g)
			}
		}
		once := len(up)
		slices.Sort(up)
		up = slices.Compact(up)
		key, tokens := strings.Join(up, " "), strings.Join(j.After, " ")
		p := by[key]
		if p == nil {
			p = &part{seen: map[string]bool{}, same: true, each: true}
			by[key], parts = p, append(parts, p)
		}
		p.same = p.same && (len(p.jobs) == 0 || p.seen[tokens])
		p.each = p.each && len(up) == once && !p.seen[tokens]
		p.jobs, p.seen[tokens] = append(p.jobs, j), true
		own[tokens] = true
	}
	if len(parts) >= len(own) || slices.ContainsFunc(parts, func(p *part) bool { return !p.same && !p.each }) {
		return [][]*providers.Job{jobs}
	}
	var out [][]*providers.Job
	for _, p := range parts {
		out = append(out, p.jobs)
	}
	return out
}

// depths is for each job the length of the longest chain of dependencies before
// it.
func depths(jobs []*providers.Job) []int {
	at := make(map[string]int, len(jobs))
	for i, j := range jobs {
		at[j.Token] = i
	}
	out := make([]int, len(jobs))
	done := make([]bool, len(jobs))
	var visit func(i int) int
	visit = func(i int) int {
		if done[i] {
			return out[i]
		}
		done[i] = true // a cycle ends here, rather than never
		for _, t := range jobs[i].After {
			if k, ok := at[t]; ok {
				out[i] = max(out[i], visit(k)+1)
			}
		}
		return out[i]
	}
	for i := range jobs {
		visit(i)
	}
	return out
}

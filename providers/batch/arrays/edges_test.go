package arrays

import (
	"fmt"
	"slices"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// plain writes ids as Slurm does.
type plain struct{ scheduler.Notation }

func (plain) ID(p scheduler.ElementID) string { return fmt.Sprintf("%s_%d", p.Array, p.Index) }

// TestDepend: what a group comes after is told in one term for all where Slurm
// has one, like element after like element where indexes can be made to match,
// and else of each job on its own.
func TestDepend(t *testing.T) {
	// Requirement: DEP-01
	t.Parallel()
	a, single := Ahead{Name: "a", Seq: 1, ID: "10", Array: true, Jobs: 3}, Ahead{Name: "s", Seq: 2, ID: "11", Jobs: 1}
	open := func(token string) (Element, bool) {
		switch token {
		case "s":
			return Element{Of: single}, true
		case "done":
			return Element{}, false
		}
		return Element{Of: a, Index: int(token[1] - '0')}, true
	}
	for name, tt := range map[string]struct {
		after  [][]string // of each job
		own    []int
		common string
		index  []int
		each   []string
		unlike bool // the scheduler has no AfterLike
		whole  bool // nor dependencies on elements
	}{
		"nothing left":           {[][]string{{"done"}, {"done"}}, nil, "[]", nil, nil, false, false},
		"all after all":          {[][]string{{"a2", "a0", "a1"}, {"a0", "a1", "a2"}}, nil, "[afterok:10]", nil, nil, false, false},
		"all after some":         {[][]string{{"a2", "a0"}, {"a0", "a2"}}, nil, "[afterok:10_0:10_2]", nil, nil, false, false},
		"like after like":        {[][]string{{"a2"}, {"a0"}}, nil, "[aftercorr:10]", []int{2, 0}, nil, false, false},
		"like after like, given": {[][]string{{"a2"}, {"a0"}}, []int{2, 0}, "[aftercorr:10]", nil, nil, false, false},
		"other indexes, given":   {[][]string{{"a2"}, {"a0"}}, []int{0, 1}, "[afterok:10]", nil, []string{"afterok:10_2", "afterok:10_0"}, false, false},
		"two after one":          {[][]string{{"a0"}, {"a0"}, {"a1"}}, nil, "[afterok:10]", nil, []string{"afterok:10_0", "afterok:10_0", "afterok:10_1"}, false, false},
		"and one for all":        {[][]string{{"a1", "s"}, {"a0", "s"}}, nil, "[aftercorr:10 afterok:11]", []int{1, 0}, nil, false, false},
		"one for some":           {[][]string{{"a1", "s"}, {"a0"}}, nil, "[aftercorr:10 afterok:11]", []int{1, 0}, []string{"afterok:10_1,afterok:11", "afterok:10_0"}, false, false},
		"like after like, where there is no term for it": {[][]string{{"a2"}, {"a0"}}, nil, "[afterok:10]", nil, []string{"afterok:10_2", "afterok:10_0"}, true, false},
		"all after all, of whole arrays":                 {[][]string{{"a2", "a0", "a1"}, {"a0", "a1", "a2"}}, nil, "[afterok:10]", nil, nil, true, true},
		"all after some, of whole arrays":                {[][]string{{"a2", "a0"}, {"a0", "a2"}}, nil, "[afterany:10]", nil, nil, true, true},
		"like after like, of whole arrays":               {[][]string{{"a2"}, {"a0"}}, nil, "[afterany:10]", nil, nil, true, true},
		"one for some, which all then await":             {[][]string{{"a1", "s"}, {"a0"}}, nil, "[afterany:10 afterany:11]", nil, nil, true, true},
		"one after one, which is no array":               {[][]string{{"s"}}, nil, "[afterok:11]", nil, nil, true, true},
		"one after an element of whole array":            {[][]string{{"a1"}}, nil, "[afterany:10]", nil, nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var jobs []*providers.Job
			for _, after := range tt.after {
				jobs = append(jobs, &providers.Job{After: after})
			}
			e := Depend(jobs, tt.own, scheduler.Elements{AfterLike: !tt.unlike, Apart: !tt.whole}, open)
			var common, each []string
			for _, d := range e.Common {
				common = append(common, scheduler.Terms(plain{}, []scheduler.Dependency{d}))
			}
			for _, list := range e.Each {
				each = append(each, scheduler.Terms(plain{}, list))
			}
			if fmt.Sprint(common) != tt.common || !slices.Equal(e.Index, tt.index) || !slices.Equal(each, tt.each) {
				t.Errorf("common %v, index %v, each %q", common, e.Index, each)
			}
		})
	}
}

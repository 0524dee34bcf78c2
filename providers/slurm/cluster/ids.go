package cluster

import (
	"fmt"
	"maps"
	"slices"
)

// ID is a row's job as Slurm prints it.
func (r QueueRow) ID() string {
	if r.Index < 0 {
		return r.Array
	}
	return fmt.Sprintf("%s_%d", r.Array, r.Index)
}

// IDs names rows as scancel takes them.
func IDs(rows []QueueRow) (ids []string) {
	by := map[string][]int{}
	for _, r := range rows {
		if r.Index < 0 {
			ids = append(ids, r.Array)
			continue
		}
		by[r.Array] = append(by[r.Array], r.Index)
	}
	for _, array := range slices.Sorted(maps.Keys(by)) {
		ids = append(ids, fmt.Sprintf("%s_[%s]", array, FormatIndexes(slices.Sorted(slices.Values(by[array])))))
	}
	return ids
}

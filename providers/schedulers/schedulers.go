// Package schedulers lists the batch schedulers that muster supports, one line
// each.
package schedulers

import (
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/pbs"
	"github.com/muster-run/muster/providers/slurm"
)

// Types are all of them.
var Types = []scheduler.Type{slurm.Type{}, pbs.Type{}}

// Nodes are all of them, as the scripts of their jobs see them.
func Nodes() (list []scheduler.Node) {
	for _, t := range Types {
		list = append(list, t.Node())
	}
	return list
}

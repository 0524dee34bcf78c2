package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Notation is how PBS writes ids, and what its parts are called.
type Notation struct{}

// ID is a job as qstat prints it: "7.server", "7[3].server". The id of an array is
// "7[].server".
func (Notation) ID(p scheduler.ElementID) string {
	if p.Index < 0 {
		return p.Array
	}
	return strings.Replace(p.Array, "[]", "["+strconv.Itoa(p.Index)+"]", 1)
}

// Place is the inverse of ID.
func (Notation) Place(id string) (scheduler.ElementID, bool) {
	number, rest, element := strings.Cut(id, "[")
	if number == "" || strings.Trim(number, "0123456789") != "" && !strings.Contains(number, ".") {
		return scheduler.ElementID{}, false
	}
	index, server, _ := strings.Cut(rest, "]")
	if !element || index == "" {
		return scheduler.ElementID{Array: id, Index: -1}, true
	}
	n, err := strconv.Atoi(index)
	return scheduler.ElementID{Array: number + "[]" + server, Index: n}, err == nil
}

// Output is the file that PBS writes in a folder that `-o` names. Seen on 23.06.
func (n Notation) Output(_ string, at scheduler.ElementID) string { return n.ID(at) + ".OU" }

// Elements: qhold, qrls and qalter refuse elements, and -W depend takes none. Seen
// on 23.06.
func (Notation) Elements() scheduler.Elements { return scheduler.Elements{} }

// Words are PBS's names.
func (Notation) Words() scheduler.Words {
	return scheduler.Words{Name: "PBS", Pool: "queue", Server: "pbs_server", Submit: "qsub", Release: "qrls"}
}

// idsOf names jobs as qdel takes them: "7.server", "7[0-3].server".
func idsOf(jobs []scheduler.Jobs) (ids []string) {
	for _, j := range jobs {
		if j.Indexes == nil {
			ids = append(ids, j.ID)
			continue
		}
		for i := 0; i < len(j.Indexes); {
			k := i
			for k+1 < len(j.Indexes) && j.Indexes[k+1] == j.Indexes[k]+1 {
				k++
			}
			list := strconv.Itoa(j.Indexes[i])
			if k > i {
				list = fmt.Sprintf("%d-%d", j.Indexes[i], j.Indexes[k])
			}
			ids = append(ids, strings.Replace(j.ID, "[]", "["+list+"]", 1))
			i = k + 1
		}
	}
	return ids
}

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/batch/scheduler"
)

var (
	_ scheduler.Scheduler = (*Commands)(nil)
	_ scheduler.Node      = Node{}
)

// Queue is every job of this user that the controller knows.
func (c *Commands) Queue(ctx context.Context) ([]scheduler.Entry, error) {
	list, err := c.queue(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]scheduler.Entry, len(list))
	for i, r := range list {
		rows[i] = r.row()
	}
	return rows, nil
}

// row is a row of squeue's in terms of any scheduler.
func (r queueRow) row() scheduler.Entry {
	row := scheduler.Entry{ElementID: scheduler.ElementID{Array: r.Array, Index: r.Index}, Name: r.Name, Label: scheduler.Label(r.Comment), Pool: r.Partition, Account: r.account, QoS: r.qos,
		Nodes: r.Nodes, State: stateOf(r.State), Reason: Reason(r.Reason), Submit: r.Submit, Start: r.Start, HeldBy: heldBy(r.State, r.Reason), Unlaunched: notLaunched(r.Reason)}
	switch r.State {
	case "SPECIAL_EXIT", "REQUEUE_HOLD":
		row.Reason = "held by Slurm after its last start; `scontrol release` releases it"
	case "CONFIGURING", "POWER_UP_NODE":
		row.Reason = "its nodes are being started"
	}
	if row.State == scheduler.Ended {
		row.End = scheduler.End{Outcome: scheduler.Outcome(stateWord(r.State)), Said: r.State}
	}
	return row
}

// stateOf is a state word of squeue's. squeue(1), JOB STATE CODES.
func stateOf(word string) scheduler.State {
	switch {
	case ended(word):
		return scheduler.Ended
	case word == "PENDING":
		return scheduler.Waiting
	case word == "RUNNING":
		return scheduler.Running
	}
	switch word {
	case "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING", "POWER_UP_NODE":
		return scheduler.Returning
	case "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING":
		return scheduler.Stopped
	}
	return scheduler.Unclear
}

// Account lists jobs or arrays by accounting.
func (c *Commands) Account(ctx context.Context, ids []string) ([]scheduler.Record, error) {
	rows, err := c.account(ctx, ids)
	if err != nil {
		return nil, err
	}
	return launches(rows), nil
}

// launches are rows of sacct, in its order, as package batch has them.
func launches(rows []accountRow) (list []scheduler.Record) {
	by, whom := histories(rows), map[string]string{}
	for i := range rows {
		r := &rows[i]
		if r.Step != "" {
			continue
		}
		at, end := scheduler.ElementID{Array: r.Array, Index: r.index}, r.end()
		if name, asked := whom[r.State]; asked {
			end.By = name
		} else if end.Outcome == scheduler.Cancelled {
			end.By = byWhom(r.State)
			whom[r.State] = end.By
		}
		list = append(list, scheduler.Record{ElementID: at, Name: r.Name, Submit: r.Submit, Start: r.Start, Finish: r.End, Nodes: r.Nodes, Cores: number(r.tres["cpu"]), End: end, Usage: by[at].usage(r)})
	}
	return list
}

// end is how a row of sacct's ended, the zero one if it has not. Slurm's root daemon on the
// node cancels jobs that it cannot launch and must not requeue.
func (r *accountRow) end() scheduler.End {
	word := stateWord(r.State)
	if !r.Final() && word != string(scheduler.Requeued) {
		return scheduler.End{}
	}
	return scheduler.End{Outcome: scheduler.Outcome(word), Said: r.State, ByDaemon: byRoot(r.State), Exit: r.Exit, Signal: r.Signal}
}

// Notation is how Slurm writes ids, and what its parts are called.
type Notation struct{}

// ID is a job as squeue prints it: "7", "7_3".
func (Notation) ID(p scheduler.ElementID) string {
	if p.Index < 0 {
		return p.Array
	}
	return fmt.Sprintf("%s_%d", p.Array, p.Index)
}

// Place is the inverse of ID.
func (Notation) Place(id string) (scheduler.ElementID, bool) {
	array, index, element := strings.Cut(id, "_")
	if !element {
		return scheduler.ElementID{Array: array, Index: -1}, array != ""
	}
	n, err := strconv.Atoi(index)
	return scheduler.ElementID{Array: array, Index: n}, array != "" && err == nil
}

// Output is as sbatch --output=%x-%A_%a.out names it, or %x-%j.out.
func (n Notation) Output(name string, at scheduler.ElementID) string {
	return name + "-" + n.ID(at) + ".out"
}

// Elements: an array's share one record until one of them is named.
func (Notation) Elements() scheduler.Elements {
	return scheduler.Elements{AfterLike: true, Apart: true}
}

// Words are Slurm's names.
func (Notation) Words() scheduler.Words {
	return scheduler.Words{Name: "Slurm", Pool: "partition", Server: "slurmctld", Submit: "sbatch", Release: "scontrol release"}
}

// idsOf names jobs as scancel and scontrol take them: "7", "7_[0-3]".
func idsOf(jobs []scheduler.Jobs) (ids []string) {
	for _, j := range jobs {
		if j.Indexes == nil {
			ids = append(ids, j.ID)
		} else {
			ids = append(ids, fmt.Sprintf("%s_[%s]", j.ID, FormatIndexes(j.Indexes)))
		}
	}
	return ids
}

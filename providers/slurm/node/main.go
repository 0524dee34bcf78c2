package node

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Exit statuses of a start that did not run its command. Sites give meanings
// to others, such as 98 and 99 (RequeueExit in slurm.conf).
const (
	exitBroken = 70 // the spool cannot be used: sysexits.h, EX_SOFTWARE
	// ExitRefused is of one whose command was not to run.
	ExitRefused = 71
)

// Main runs one element of a batch in the Slurm job that it is started in.
func Main(args []string) int {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	batch := flags.String("batch", "", "the batch's directory")
	if err := flags.Parse(args); err != nil || *batch == "" {
		return exitBroken
	}
	code, err := run(Batch(*batch), here())
	if err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
	return code
}

// A place is the Slurm job that this process is the script of.
type place struct {
	job, array, task string // SLURM_JOB_ID, SLURM_ARRAY_JOB_ID, SLURM_ARRAY_TASK_ID
	restart          int
	node, partition  string
	nodes            string // all of the job's, as Slurm lists them
}

// here reads sbatch(1), OUTPUT ENVIRONMENT VARIABLES.
func here() place {
	p := place{job: os.Getenv("SLURM_JOB_ID"), array: os.Getenv("SLURM_ARRAY_JOB_ID"), task: os.Getenv("SLURM_ARRAY_TASK_ID"),
		node: os.Getenv("SLURMD_NODENAME"), nodes: os.Getenv("SLURM_JOB_NODELIST"), partition: os.Getenv("SLURM_JOB_PARTITION")}
	p.restart, _ = strconv.Atoi(os.Getenv("SLURM_RESTART_COUNT"))
	if p.node == "" {
		p.node, _ = os.Hostname()
	}
	return p
}

// id is the job as squeue prints it: the raw id of an element changes.
func (p place) id() string {
	if p.array != "" && p.task != "" {
		return p.array + "_" + p.task
	}
	return p.job
}

func (p place) element() int {
	n, _ := strconv.Atoi(p.task)
	return n
}

func run(batch Batch, p place) (int, error) {
	if p.job == "" {
		return exitBroken, errors.New("this is no Slurm job")
	}
	j, err := batch.Job(p.element())
	if err != nil {
		return exitBroken, err
	}
	spool := Spool(filepath.Dir(filepath.Dir(string(batch))))
	s := &start{spool: spool, batch: batch, job: j, place: p, ask: ask,
		begin: Begin{Token: j.Token, ID: p.id(), Restart: p.restart, At: time.Now(), Node: p.node, Pool: p.partition, GPUs: devices(), Process: self(os.Getpid())}}
	return s.run()
}

func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }

package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
)

// Exit statuses of a start that did not run its command. Sites give meanings
// to others, such as 98 and 99 (RequeueExit in slurm.conf).
const (
	exitBroken = 70 // the spool cannot be used: sysexits.h, EX_SOFTWARE
	// ExitRefused is the status of a start that refused to run its command.
	ExitRefused = 71
)

// Main runs one element of a batch, or a pack of them, inside a job of one of the
// schedulers.
func Main(args []string, schedulers ...scheduler.Node) int {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	batch := flags.String("batch", "", "the batch's directory")
	pack := flags.String("pack", "", "elements to run as a pack, \"0,1,2\"")
	cell := flags.Int("cell", -1, "the element of a pack that this process runs")
	of := flags.Int("of", 1, "how many elements the pack has")
	since := flags.Int64("since", 0, "when the element had its slot, nanoseconds since 1970")
	gpus := flags.String("gpus", "", "devices of the element")
	check := flags.String("check", "", "folder in which the nodes of a job meet")
	nodes := flags.Int("nodes", 1, "how many meet")
	image := flags.String("image", "", "image file of the job")
	if err := flags.Parse(args); err != nil || *batch == "" && *check == "" || *of < 1 {
		return exitBroken
	}
	p := here(schedulers)
	p.program = append([]string{os.Args[0]}, os.Args[1:len(os.Args)-len(args)]...)
	var code int
	var err error
	switch {
	case *check != "":
		err = nodeCheck(*check, shortName(p.node), *image, *nodes)
	case *pack != "":
		code, err = runPack(Batch(*batch), p, *pack, os.Args[1:len(os.Args)-len(args)])
	case *cell >= 0:
		p = p.share(*of, nil)
		p.times = times{file: os.NewFile(timesFile, "times"), began: *since}
		if *gpus != "" {
			p.gpus = strings.Split(*gpus, ",")
		}
		code, err = run(Batch(*batch), p, *cell)
	default:
		code, err = run(Batch(*batch), p, p.element())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
	return code
}

// An allocation is the scheduler's job whose script is this process.
type allocation struct {
	scheduler        scheduler.Node // nil = it is no job
	job, array, task string         // ids of the job and its array, and the element's index
	restart          int
	node, pool       string
	nodes            string // all of the job's, as the scheduler lists them
	gpus             []string
	cores            int      // of all its nodes; 0 = not known
	program          []string // words that begin this program on any of its nodes
	sharers          int      // jobs of the pack that share it; 0 = it runs one
	times            times
}

// here is the job of the first scheduler whose variables are set.
func here(schedulers []scheduler.Node) (p allocation) {
	for _, s := range schedulers {
		env := s.Environment()
		if os.Getenv(env.Job) == "" {
			continue
		}
		p = allocation{scheduler: s, job: os.Getenv(env.Job), array: os.Getenv(env.Array), task: os.Getenv(env.Index), node: os.Getenv(env.Node), nodes: os.Getenv(env.Nodes),
			pool: os.Getenv(env.Pool), gpus: devices(env), cores: cores(os.Getenv(env.Cores))}
		p.restart, _ = strconv.Atoi(os.Getenv(env.Restarts))
		break
	}
	if p.node == "" {
		p.node, _ = os.Hostname()
	}
	return p
}

// restarts is how often the job ran before, for a scheduler that says so only when
// asked; few starts need it.
func (p allocation) restarts() (int, error) {
	counter, ok := p.scheduler.(scheduler.Counter)
	if !ok {
		return p.restart, nil
	}
	ctx, stop := context.WithTimeout(context.Background(), changeTimeout)
	defer stop()
	return counter.Restarts(ctx, p.id())
}

// at names the job in the scheduler's queue. Slurm's variable with an element's own id has
// another number.
func (p allocation) at() scheduler.ElementID {
	if p.array != "" && p.task != "" {
		return scheduler.ElementID{Array: p.array, Index: p.element()}
	}
	return scheduler.ElementID{Array: p.job, Index: -1}
}

// id is the job as the scheduler's queue prints it.
func (p allocation) id() string { return p.scheduler.ID(p.at()) }

// jobs are the job alone.
func (p allocation) jobs() []scheduler.Jobs {
	if at := p.at(); at.Index >= 0 {
		return []scheduler.Jobs{{ID: at.Array, Indexes: []int{at.Index}}}
	}
	return scheduler.Whole(p.job)
}

// name is the scheduler's name in messages.
func (p allocation) name() string { return p.scheduler.Words().Name }

func (p allocation) element() int {
	n, _ := strconv.Atoi(p.task)
	return n
}

// begin is the beginning of a job in it.
func (p allocation) begin(j *providers.Job) Begin {
	return Begin{Token: j.Token, ID: p.id(), Restart: p.restart, At: time.Now(), Node: p.node, Pool: p.pool, GPUs: p.gpus, Process: self(os.Getpid())}
}

var errNoJob = errors.New("this is not a job of a batch scheduler")

func runPack(batch Batch, p allocation, elements string, program []string) (int, error) {
	if p.job == "" {
		return exitBroken, errNoJob
	}
	list, err := indexes(elements)
	if err != nil {
		return exitBroken, err
	}
	k, err := newPack(batch, p, list, program)
	if err != nil {
		return exitBroken, err
	}
	return k.run()
}

func run(batch Batch, p allocation, element int) (int, error) {
	if p.job == "" {
		return exitBroken, errNoJob
	}
	j, err := batch.Job(element)
	if err != nil {
		return exitBroken, err
	}
	return (&start{spool: batch.spool(), batch: batch, job: j, allocation: p, begin: p.begin(j)}).run()
}

// Package scheduler defines the interface between package batch and a batch
// scheduler: the questions that muster asks and the values of the answers. A
// backend for another scheduler implements Type, Site, Scheduler and Node;
// package batch and its parts already have the spool, claims, retries, arrays,
// events and verification.
//
// Package slurm implements them. Comments about PBS cite PBS Pro 2022.1 and
// OpenPBS 23.06.
package scheduler

import (
	"context"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// A Scheduler is the commands of a batch scheduler, run for one user. Errors are
// of type *providers.Error, of class unreachable where nothing is known of the
// outcome; an answer that refuses a change is a *Refusal.
type Scheduler interface {
	Reader
	Submitter
	Changer
	Notation
}

// A Reader asks without changing anything.
type Reader interface {
	// Cluster is the name of the cluster that answers, "" where it does not tell one:
	// two clusters may see one workdir. ClusterName; default_server of PBS.
	Cluster(ctx context.Context) (string, error)
	// Queue lists every job of this user that the scheduler knows, one row for each
	// element of an array, those that have ended too for as long as it keeps them:
	// one call for everything. squeue -r -t all; qstat -t -f -F json. A partial
	// answer is an error: nothing is concluded from silence.
	Queue(ctx context.Context) ([]Entry, error)
	// Account lists the launches of jobs and arrays that accounting has, by id,
	// oldest first. sacct -D; qstat -x -f -F json, as PBS has no accounting that
	// users may read: launches outside its job history are not in the answer.
	Account(ctx context.Context, ids []string) ([]Record, error)
	// AtOnce is how many elements of an array may run at once: 0 = all, -1 = the
	// scheduler has no such array. ArrayTaskThrottle; max_run_subjobs.
	AtOnce(ctx context.Context, array string) (int, error)
	// Booted is when the server that keeps the queue began, zero where it does not say.
	// BOOT_TIME of scontrol show config; PBS does not say.
	Booted(ctx context.Context) (time.Time, error)
	// Runs is the command that runs now, "" if none does, and since when.
	Runs() (name string, since time.Time)
}

// A Submitter submits scripts.
type Submitter interface {
	// Submit submits a script and returns the id; held: so that it waits for a release and bears
	// the label Held. unclear says that the job may have been submitted despite the error, which
	// then has class unreachable. A scheduler without labels keeps the holds that it releases. sbatch --hold; qsub -h.
	Submit(ctx context.Context, script string, held bool) (id string, unclear bool, err error)
	// Command is the command line of Submit.
	Command(script string, held bool) []string
	// Search finds out whether the scheduler has the job of a submission that did
	// not answer.
	Search(ctx context.Context, s Submission) (id string, where offer.Presence, err error)
	// Takes reports whether the scheduler would take a script with these indexes
	// only; it is asked after a refusal for a limit. sbatch --test-only; PBS
	// cannot be asked, and takes none.
	Takes(ctx context.Context, script string, indexes []int) bool
}

// A Changer changes jobs that have been submitted.
type Changer interface {
	// Cancel ends jobs. Ids that are unknown or have ended are no error.
	// scancel; qdel.
	Cancel(ctx context.Context, jobs []Jobs) error
	// CancelWaiting is Cancel for those of a name that have not started.
	CancelWaiting(ctx context.Context, name string, jobs []Jobs) error
	// Hold keeps jobs from starting. scontrol hold; qhold -h u.
	Hold(ctx context.Context, jobs []Jobs) error
	// Release lifts a hold of this user's. scontrol release; qrls -h u.
	Release(ctx context.Context, jobs []Jobs) error
	// Change changes jobs that wait. scontrol update; qalter.
	Change(ctx context.Context, jobs []Jobs, to Change) error
}

// A Notation is how a scheduler writes ids, and its name.
type Notation interface {
	// ID is a job or an element as the scheduler prints it: "12_3" of Slurm,
	// "12[3].server" of PBS.
	ID(ElementID) string
	// Place is the inverse of ID.
	Place(id string) (ElementID, bool)
	// Output is the name of the file, in the folder out of the spool, with the
	// script's own output. Site.Script says so to the scheduler.
	Output(name string, at ElementID) string
	// Elements is its support for single elements of an array.
	Elements() Elements
	// Words are the names that messages use.
	Words() Words
}

// Elements lists a scheduler's abilities for single elements of an array,
// beside ending them. Package batch asks for nothing else.
type Elements struct {
	// AfterLike says that there are dependencies of kind AfterLike. Without them
	// muster changes the dependencies of each element.
	AfterLike bool
	// Apart says that jobs may depend on some elements, that some can be held,
	// released and changed, and that an array may have any indexes. Without it an
	// array has consecutive indexes from 0, at least two, and is held, released,
	// changed and waited for as a whole: each element's start checks its own
	// dependencies.
	Apart bool
}

// Words are the names of a scheduler's parts in messages.
type Words struct {
	Name    string // "Slurm"
	Pool    string // "partition"
	Server  string // the daemon that keeps the queue: "slurmctld"
	Submit  string // the command that submits: "sbatch"
	Release string // the command that lifts a hold: "scontrol release"
}

// A Submission is one without an answer: its unique name, its script, and when it
// was tried.
type Submission struct {
	Name   string
	Script string    // its path
	Tried  time.Time // when the command began
	Failed time.Time // when it came to an end; zero = unknown
}

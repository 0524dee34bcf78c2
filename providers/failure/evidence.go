package failure

// The classes of failure. "oom" means the three that begin with oom_.
const (
	// The three kinds of oom: a device's memory; the machine's, or that of the job's own
	// control group; the limit of a scheduler or of a container's runtime.
	OOMGPU        = "oom_gpu"
	OOMHost       = "oom_host"
	OOMSched      = "oom_sched"
	Walltime      = "walltime"
	Preempted     = "preempted"
	NodeFailure   = "node_failure"
	GPULost       = "gpu_lost"
	Transport     = "transport"
	DiskFull      = "disk_full"
	NoInodes      = "no_inodes"
	Unwritable    = "unwritable" // its workdir, or a folder of its outputs there, may not be written to
	MissingModule = "missing_module"
	MissingFile   = "missing_file"
	BadOutput     = "bad_output"    // it ended 0, and a declared output is missing, broken or not new
	InputChanged  = "input_changed" // it did not start: a file that it reads has other bytes than were recorded
	NotItsOwn     = "not_its_own"   // it was not started: a file at an output path is not its own
	// Unverified is the class of a job that ended 0 and whose outputs exceeded the bound of
	// their verification: a person decides. muster never launches it again by itself.
	Unverified       = "unverified"
	NaN              = "nan"
	NCCLHang         = "nccl_hang"
	Forbidden        = "forbidden" // its output has a line that its watch block forbids
	Stalled          = "stalled"   // it printed nothing and moved no checkpoint for as long as its watch block allows
	Killed           = "killed"
	CancelledOutside = "cancelled_outside"
	Unknown          = "unknown"

	// OOM covers oom_gpu, oom_host and oom_sched in retry.on and scale.
	OOM = "oom"
)

// TailSize is how much of a log is looked at, in bytes from its end.
const TailSize = 64 << 10

// Evidence is all that is known of an attempt after its process has ended.
type Evidence struct {
	Exit   *int   // nil: no exit status was recorded
	Signal string // "KILL" or "SIGKILL"; "" if it was not ended by a signal
	// Scheduler is the state word of a scheduler ("OUT_OF_MEMORY",
	// "CANCELLED by 1001", "OOMKilled"); "" if there is none.
	Scheduler string
	// OOMKills is how far oom_kill in the job's cgroup memory.events rose;
	// -1 = unknown.
	OOMKills int64
	// HostOOMKills is how far oom_kill in /proc/vmstat rose while the job ran, on the machine
	// as a whole; -1 = unknown. It only explains a KILL without another known cause.
	HostOOMKills int64
	// Container names the runtime whose containers the job runs, with memory limits and
	// processes of their own ("docker"); "" if it runs none. Exit 137 and HostOOMKills show
	// the processes that it kills for memory.
	Container string

	WalltimeHit, Preempted, Rebooted, CancelledByUs bool

	// Gone says that no process of the job exists and that its wrapper, which records every
	// end, recorded none: both were killed. Host says what happened to the whole machine then,
	// "" if that is unknown.
	Gone bool
	Host string

	// NoRoom is DiskFull, NoInodes or Unwritable when the workdir takes nothing more:
	// it is then the cause if no other is known. Unwritten names the folder that may not be
	// written to, and why.
	NoRoom, Unwritten string

	Tail []byte // last TailSize bytes of stdout and stderr
	GPUs bool   // the job held GPUs
	Xid  []int  // Xid errors of its devices while it ran

	// Forbidden is the line that a watch block forbids, Stalled its reason for ending the job;
	// "" for neither.
	Forbidden, Stalled string

	// Outputs is the problem of the declared outputs of a job that exited 0; "" if they are as
	// declared.
	Outputs string
	// Unverified says which outputs of such a job have no verdict, and why; ""
	// if all have one.
	Unverified string
}

// A Verdict is why an attempt failed. The zero Verdict means that it did not:
// it ended 0 with its outputs as declared, or muster itself cancelled it.
type Verdict struct {
	Class  string
	Rule   string // name of the rule that decided
	Hint   string // what to do next, "" if nothing can be said
	Action string // of a campaign's rule: "retry", "hold", "fail"; "" = by retry.on
	Line   string // the line that matched, or the last error line, cleaned for a screen
	// Signature is a stable text of "the same error" for the breaker: the
	// class and the line without numbers, addresses and paths.
	Signature string
}

// Known lists the classes that a policy may name, in the order of the
// documentation. NotItsOwn is none: a person decides over the file.
func Known() []string {
	return []string{OOMGPU, OOMHost, OOMSched, Walltime, Preempted, NodeFailure, GPULost, Transport, DiskFull,
		NoInodes, Unwritable, MissingModule, MissingFile, BadOutput, Unverified, InputChanged, NaN, NCCLHang, Forbidden, Stalled, Killed, CancelledOutside, Unknown}
}

// Is reports whether class is covered by in, a name in retry.on or scale:
// equal, or one of the three kinds of oom under "oom".
func Is(class, in string) bool {
	return class == in || in == OOM && (class == OOMGPU || class == OOMHost || class == OOMSched)
}

// Infrastructure reports whether a class is not the job's fault: its machine failed, or
// somebody else took it. Such a failure counts for no breaker, and is retried once where no
// policy names it.
func Infrastructure(class string) bool {
	switch class {
	case NodeFailure, Preempted, Transport, GPULost:
		return true
	}
	return false
}

// Counts reports whether the breaker counts a failure: not one that is not the job's fault,
// nor a file that somebody changed or that blocks an output, nor a workdir that may not be
// written to, which keeps the others waiting.
func Counts(class string) bool {
	return !Infrastructure(class) && class != InputChanged && class != NotItsOwn && class != Unwritable
}

// AwaitsRoom reports whether a class says that the workdir took nothing more: jobs wait until it
// takes files again.
func AwaitsRoom(class string) bool {
	return class == DiskFull || class == NoInodes || class == Unwritable
}

// OfConfiguration reports whether a failure speaks against the configuration of its phase, so
// that a passed smoke no longer counts: not one that a machine, a person, a full volume or the
// size of its cell explains.
func OfConfiguration(class string) bool {
	switch class {
	case NaN, Forbidden, MissingModule, MissingFile, BadOutput, NCCLHang, Stalled, Unknown:
		return true
	}
	return false
}

// resourceBound reports whether a class says that a job took more of something
// than it could have. How much a job takes follows its place in the grid, so that
// neighbours fail alike though the others would not.
func resourceBound(class string) bool {
	switch class {
	case OOMGPU, OOMHost, OOMSched, Walltime, DiskFull, NoInodes:
		return true
	}
	return false
}

// Repeats reports whether failures with a class, one after another, predict the next one: not
// those that are not the job's fault, and not those that hit only some jobs of a phase.
func Repeats(class string) bool { return Counts(class) && !resourceBound(class) }

// These are the rules for counting how the jobs of a phase fail, to stop starting more of
// them. The engine, the host queue and the Slurm node share them.
const (
	ShareFrom  = 20   // finished jobs of a batch from which the share of one cause counts
	ShareWarn  = 0.10 // the share of one cause at which it is said
	CrashAlike = 2    // jobs that fail alike, none having done well, when the cause is Deterministic
)

// ClassCount is how many of the finished jobs of a batch failed with one class.
type ClassCount struct {
	Class    string
	N        int // failures
	Corners  int // into which they fall: those of one have fewer than Neighbours finished jobs between them
	Finished int
	Jobs     int // of the phase, in all; 0 = not known
}

// Neighbours is how close together failures may be of one corner of the grid.
const Neighbours = 5

// Reaches reports whether a share stops the phase at a limit; 0 is off. Neighbours
// that take too much of something fail alike where others do not: together they
// are one cause until they are that share of the phase, or ShareFrom.
func (s ClassCount) Reaches(most float64) bool {
	if most <= 0 || s.N == 0 || s.Finished < ShareFrom || float64(s.N) < most*float64(s.Finished) {
		return false
	}
	return !resourceBound(s.Class) || float64(s.Corners) >= most*float64(s.Finished) || float64(s.N) >= min(most*float64(s.Jobs), ShareFrom)
}

// Deterministic reports whether a failure would repeat wherever it is tried:
// the program or a module of it is not there. exit may be nil.
func Deterministic(class string, exit *int) bool {
	// 126 and 127: POSIX shell, 2.8.2, "Exit Status for Commands".
	return class == MissingModule || exit != nil && (*exit == 126 || *exit == 127)
}

// Classify names why an attempt failed. It skips a rule of own that does not compile; Compile
// reports that.
func Classify(e Evidence, own []Rule) Verdict {
	c, _ := Compile(own)
	return c.Classify(e)
}

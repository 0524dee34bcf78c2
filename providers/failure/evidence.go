package failure

// The classes of failure. "oom" stands for the three that begin with oom_.
const (
	// The three kinds of oom: a device's memory; the machine's, or that of
	// the job's own control group; what a scheduler or a container's runtime
	// allowed.
	OOMGPU           = "oom_gpu"
	OOMHost          = "oom_host"
	OOMSched         = "oom_sched"
	Walltime         = "walltime"
	Preempted        = "preempted"
	NodeFailure      = "node_failure"
	GPULost          = "gpu_lost"
	Transport        = "transport"
	DiskFull         = "disk_full"
	NoInodes         = "no_inodes"
	MissingModule    = "missing_module"
	MissingFile      = "missing_file"
	BadOutput        = "bad_output"    // it ended 0, and a declared output is missing, broken or not new
	InputChanged     = "input_changed" // it did not start: a file that it reads has other bytes than were recorded
	NotItsOwn        = "not_its_own"   // it was not started: a file at an output path is not its own
	NaN              = "nan"
	NCCLHang         = "nccl_hang"
	Forbidden        = "forbidden" // it printed what its watch block forbids
	Stalled          = "stalled"   // it printed nothing and moved no checkpoint for as long as its watch block allows
	Killed           = "killed"
	CancelledOutside = "cancelled_outside"
	Unknown          = "unknown"

	// OOM covers oom_gpu, oom_host and oom_sched in retry.on and scale.
	OOM = "oom"
)

// TailSize is how much of a log is looked at, in bytes from its end.
const TailSize = 64 << 10

// Evidence is what is known of an attempt after its process has ended.
type Evidence struct {
	Exit   *int   // nil: no exit status was recorded
	Signal string // "KILL" or "SIGKILL"; "" if it was not ended by a signal
	// Scheduler is the state word of a scheduler ("OUT_OF_MEMORY",
	// "CANCELLED by 1001", "OOMKilled"); "" if there is none.
	Scheduler string
	// OOMKills is how far oom_kill in the job's cgroup memory.events rose;
	// -1 = unknown.
	OOMKills int64
	// HostOOMKills is how far oom_kill in /proc/vmstat rose while the job
	// ran, on the machine as a whole; -1 = unknown. It only explains a KILL
	// that nobody owns up to.
	HostOOMKills int64
	// Container names the runtime whose containers the job runs, with memory
	// limits and processes of their own ("docker"); "" if it runs none. What
	// it kills for memory is known by exit 137 and HostOOMKills.
	Container string

	WalltimeHit, Preempted, Rebooted, CancelledByUs bool

	// NoRoom is DiskFull or NoInodes when the disk of the job's log and
	// outputs takes nothing more: it is then the cause if no other is known.
	NoRoom string

	Tail []byte // last TailSize bytes of stdout and stderr
	GPUs bool   // the job held GPUs
	Xid  []int  // Xid errors of its devices while it ran

	// Forbidden is the line that a watch block forbids, Stalled what it says of
	// a job that it ended; "" for neither.
	Forbidden, Stalled string

	// Outputs says what is wrong with the declared outputs of a job that
	// exited 0; "" if they are as declared.
	Outputs string
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
		NoInodes, MissingModule, MissingFile, BadOutput, InputChanged, NaN, NCCLHang, Forbidden, Stalled, Killed, CancelledOutside, Unknown}
}

// Is reports whether class is covered by in, a name in retry.on or scale:
// equal, or one of the three kinds of oom under "oom".
func Is(class, in string) bool {
	return class == in || in == OOM && (class == OOMGPU || class == OOMHost || class == OOMSched)
}

// Repeats reports whether a job that failed with a class, and is launched
// again as it was, may be expected to fail alike: not where another job or a
// machine was to blame, nor after a device's memory was full, when it goes to
// another device, nor after a walltime, when it goes on from its checkpoint.
func Repeats(class string) bool {
	switch class {
	case Preempted, NodeFailure, GPULost, Transport, OOMGPU, Walltime:
		return false
	}
	return true
}

// Counts reports whether a failure says something of the jobs of a phase, for
// the breaker: a preemption does not, nor does a file that somebody changed or
// that is in the way.
func Counts(class string) bool {
	return class != Preempted && class != InputChanged && class != NotItsOwn
}

// OfConfiguration reports whether a failure speaks against the configuration of
// its phase, so that a smoke of it that passed says no more: not one that a
// machine, a person, a full volume or the size of its cell explains.
func OfConfiguration(class string) bool {
	switch class {
	case NaN, Forbidden, MissingModule, MissingFile, BadOutput, NCCLHang, Stalled, Unknown:
		return true
	}
	return false
}

// What everybody goes by who counts how the jobs of a phase fail, to stop
// starting more of them.
const (
	ShareFrom  = 20   // finished jobs of a batch from which the share of one cause counts
	ShareWarn  = 0.10 // the share of one cause at which it is said
	CrashAlike = 2    // jobs that fail alike, none having done well, when the cause is Deterministic
)

// Deterministic reports whether a failure would repeat wherever it is tried:
// the program or a module of it is not there. exit may be nil.
func Deterministic(class string, exit *int) bool {
	// 126 and 127: POSIX shell, 2.8.2, "Exit Status for Commands".
	return class == MissingModule || exit != nil && (*exit == 126 || *exit == 127)
}

// Classify names why an attempt failed. A rule of own that does not compile
// is passed over; Compile tells about it.
func Classify(e Evidence, own []Rule) Verdict {
	c, _ := Compile(own)
	return c.Classify(e)
}

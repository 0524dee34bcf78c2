package failure

import (
	"bytes"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// A pattern is one text in a log that shows why its program ended.
type pattern struct {
	class, name, hint string
	// any are lower-case texts, one of which a line must contain; re, if set, must match the
	// lower-case line, too.
	any []string
	re  *lazyregexp.Regexp
	// but, if set, must not match the line.
	but *lazyregexp.Regexp
	// echo marks the messages of other ranks and launchers after the one that failed: it
	// counts only when nothing else explains the end.
	echo bool
	gpu  bool // only of jobs that held GPUs
	near bool // only within the last lines: after an earlier one, programs often continue
}

// patterns are the texts of the field, from the programs' own sources. Among
// those that match, the one nearest to the end of the log decides.
var patterns = []pattern{
	{class: GPULost, name: "gpu lost", hint: "the device is gone or needs a reset; another one is tried first", gpu: true, any: []string{
		"fallen off the bus", "gpu is lost", "cuda_error_ecc_uncorrectable", "uncorrectable ecc error", "cudaerrordevicesunavailable",
		"cuda-capable device(s) is/are busy or unavailable", "unable to determine the device handle", "cuda error: hardware"},
	},
	{class: GPULost, name: "gpu lost", hint: "the device needs a reset or repair; another one is tried first", gpu: true, any: []string{"nvrm: xid"},
		re: lazyregexp.New(`nvrm: xid[^,]*: (` + lethalNumbers() + `)\b`)},
	{class: OOMGPU, name: "gpu memory", hint: gpuMemoryHint, any: []string{
		"cuda out of memory", "torch.outofmemoryerror", "torch.cuda.outofmemoryerror", "cuda_error_out_of_memory", "cudaerrormemoryallocation",
		"cuda error: out of memory", "cuda error 2: out of memory", "hip out of memory", "cublas_status_alloc_failed", "cudnn_status_alloc_failed",
		"resource_exhausted: out of memory", "ran out of memory in memory space hbm", "oom when allocating tensor", "resource_exhausted: oom",
		"failed to allocate request for", "cupy.cuda.memory.outofmemoryerror", "out of gpu memory", "mem_object_allocation_failure"},
	},
	// The runtime's own words, after the call that failed or the line of a CUDA source.
	{class: OOMGPU, name: "gpu memory", hint: gpuMemoryHint, any: []string{"out of memory"}, re: lazyregexp.New(
		`\b(cuda|hip|cumem|nvmlmem)\w*\b.{0,120}\bout of memory\b|\.cuh?[:(]\d+.{0,120}\bout of memory\b|\bout of memory\b.{0,20}\bgpu\b`),
		but: lazyregexp.New(`\b(cudahostalloc|cudamallochost|cumemallochost|hiphostmalloc)\b`)},
	{class: OOMSched, name: "container memory", hint: "its container used more memory than it may; raise the container's limit, and resources.memory",
		any: []string{"oomkilled", "container killed due to memory usage", "container was oom killed"}},
	{class: OOMSched, name: "container memory", hint: "its container used more memory than it may; raise the container's limit, and resources.memory",
		any: []string{"container"}, re: lazyregexp.New(`\bcontainer\b.{0,60}\b(killed|exceed\w*|ran)\b.{0,40}\b(oom|memory)\b`)},
	{class: OOMHost, name: "host memory", hint: memoryHint, any: []string{
		"oom-kill", "oom_kill event", "out of memory: killed process", "memory cgroup out of memory", "oom killed", "exceeded job memory limit", "exceeded memory limit"}},
	{class: OOMHost, name: "host memory", hint: allocationHint, any: []string{
		"std::bad_alloc", "cannot allocate memory",
		"defaultcpuallocator: can't allocate memory", "defaultcpuallocator: not enough memory", "numpy.core._exceptions._arraymemoryerror",
		"_arraymemoryerror", "unable to allocate array", "fatal error: runtime: out of memory", "runtime: out of memory",
		"java.lang.outofmemoryerror", "out of memory (oom)"},
	},
	{class: OOMHost, name: "host memory", hint: allocationHint, any: []string{"memoryerror"}, re: lazyregexp.New(`^\s*memoryerror\b`)},
	{class: OOMHost, name: "host memory", hint: allocationHint, any: []string{"out of memory"}, re: lazyregexp.New(`^[\w./ -]*(fatal|error)?:? ?out of memory\b`)},
	{class: OOMHost, name: "shared memory", hint: "/dev/shm is full: fewer loader workers, or a larger --shm-size", any: []string{
		"insufficient shared memory", "unable to write to file </torch_"},
	},
	{class: NoInodes, name: "inodes", hint: "the filesystem has no inodes left: remove or pack small files", any: []string{"no space left on device (inodes)", "no free inodes", "out of inodes", "inode quota exceeded", "file count quota"}},
	{class: DiskFull, name: "disk", hint: "make room on the volume that it writes to, then resume", any: []string{
		"no space left", "disk quota exceeded", "enospc", "errno 28]", "os error 28)", "disk is full", "disk full", "iostream error", "file write failed: time = "},
	},
	{class: MissingModule, name: "module", hint: "a package is missing where the job ran: is setup right?", any: []string{
		"modulenotfounderror", "no module named", "there is no package called", "error while loading shared libraries", "cannot open shared object file",
		"lmod has detected the following error", "unable to locate a modulefile", "environmentnamenotfound", "could not find conda environment",
		"package not found: argumenterror"},
	},
	{class: MissingModule, name: "gpu in image", hint: "the driver's libraries do not work in the image: try `apptainer exec --nv IMAGE nvidia-smi` on that machine", gpu: true,
		any: []string{"the image does not see the gpus"}},
	{class: MissingModule, name: "module", hint: "an import fails where the job ran: is setup right?", any: []string{"importerror"}, re: lazyregexp.New(`^\s*importerror:`)},
	// As env, the kernel's caller and bash print a CR at the end of a word.
	{class: MissingFile, name: "line endings", hint: endingsHint, any: []string{
		"use -[v]s to pass options in shebang", "^m: bad interpreter", "\\r': command not found", "\\r': no such file", "\\r’: no such file"},
	},
	{class: Unknown, name: "line endings", hint: endingsHint, any: []string{"\\r''", "\\r': not a valid identifier", "\\r': invalid option"}},
	{class: MissingFile, name: "command", hint: commandHint, any: []string{"not found"},
		re: lazyregexp.New(`(: command not found\b|^\S*sh: (line )?\d+: [^:]+: not found$|^/\S+: \d+: [^:]+: not found$|^(line \d+|setup): [^:]+: not found$)`)},
	{class: MissingFile, name: "file", hint: "a file that the job reads is not there", any: []string{
		"filenotfounderror", "no such file or directory", "can't open file", "cannot find the path"},
	},
	{class: NaN, name: "nan", hint: "the computation diverged; a retry with the same parameters diverges again", near: true, any: []string{"nan", "non-finite", "nonfinite", "not finite", "inf", "floatingpointerror", "diverg", "not a number", "non-numeric", "invalid loss", "1.#"}, re: notFinite, but: harmless},
	{class: NCCLHang, name: "nccl", hint: "a rank stopped answering: look at the first rank that failed, then at the network", echo: true, any: []string{
		"watchdog caught collective operation timeout", "nccl watchdog", "nccl timeout", "nccl communicator was aborted", "ncclsystemerror",
		"ncclremoteerror", "some nccl operations have failed or timed out", "nccl error: remote process exited", "gloo timeout", "timed out waiting for clients"},
	},
	{class: Transport, name: "transport", hint: "the network or a service did not answer", echo: true, any: []string{
		"connection reset by peer", "connection refused", "connection timed out", "network is unreachable", "temporary failure in name resolution",
		"could not resolve host", "no route to host", "broken pipe (os error", "ssh: connect to host", "kex_exchange_identification", "tls handshake timeout",
		"503 service unavailable", "502 bad gateway", "504 gateway time", "max retries exceeded with url", "stale file handle", "transport endpoint is not connected"},
	},
	// A bug in the program: its last line. It keeps an older text, from which the program had
	// recovered, from being taken for the cause.
	{class: Unknown, name: "exception", any: []string{"error", "exception", "panic"}, re: lazyregexp.New(
		`^\s*(value|type|key|attribute|index|name|assertion|zerodivision|syntax|indentation|lookup|recursion|notimplemented|unboundlocal|unicode\w*|json\.decoder\.jsondecode)error\b` +
			`|^panic: |^thread '.*' panicked at`),
	},
}

// notFinite is a line by which a program says that a value of its computation is
// no finite number, and that it ends for it; and not that it counted, dropped or
// allows such. Lines are in lower case.
var notFinite = lazyregexp.New(strings.Join([]string{
	// "loss is nan", "Energy is NaN", "loss = -nan", "grad_norm: inf"
	`\b` + quantity + `[^\n]{0,40}?(\b(is|are|became|becomes|was|went|contains?|has|had|have|to)\b|[=:])\s*(a )?` + nonFinite,
	// "NaN loss", "nan in the total energy"
	`\bnans? (values? )?((in|for|at|of) )?(the )?(\w+ ){0,2}?` + quantity + `(\W|$)`,
	// "energy NaN", "total energy nan at step 3"
	`\b` + quantity + `\s+` + nonFinite,
	// "NaN or Inf found in input tensor", "NaNs detected"
	`\bnans?\b(( or | and |/)inf\w*)?[^\n]{0,30}\b(detected|encountered|found)(\W|$)`,
	`\binf(inity)?\b( or nan)?[^\n]{0,30}\b(detected|encountered|found)\b`,
	// "detected NaN", "found nan", "encountered a NaN", "got nan"
	`\b(detected|encountered|found|got|produced|hit)\b( an?)? ?` + nonFinite,
	// "ERROR: NaN", "fatal: nan", "NaN error"
	`\b(error|fatal|abort\w*|exception)\b\W{1,4}` + nonFinite, `\bnan (error|exception)\b`,
	`floatingpointerror`, `\bnon-?finite (loss|grad\w*|values?|energ\w*|forces?|numbers?)`, `(input|array|tensor|output|data) (x |data )?(contains|had|has) (either )?\W?(nan|inf(inity)?)\b`,
	`\b` + quantity + ` (is|are|became|was) (not finite|not a number|non-?finite)`, `infinite loss`, `\binvalid loss\b`, `\bnon-numeric (atom|pressure|box|velocit|energ|force)`, `[-+]?\b1\.#(ind|qnan|inf)`, `\bdivergence detected\b`, `returned nan values`,
	`\b(loss|training|solution|solver|simulation|integration|scf|optimi[sz]ation) (has |have )?diverged\b`,
}, "|"))

const (
	quantity  = `(\w*loss(es)?|grad\w*|gradient norm|\w*norm|cost|\w*energ(y|ies)|elbo|objective|weights?|parameters?|forces?|positions?|coordinates?|velocit(y|ies)|pressure|temperature|density|residuals?|velocities|logits|activations?|outputs?|input|tensor|matrix|solution)`
	nonFinite = `[-+]?(nan(\(\w*\))?|inf(inity)?|non-?finite|not finite)([^\w-]|$)`
)

// harmless is a line that mentions such values and no failure: the program counted, dropped or
// replaced them.
var harmless = lazyregexp.New(`\b(no|zero|0|without|ignor\w+|skip\w*|allow\w*) (all |any |of )?(the )?(nans?|infs?)\b|\bnans?\b[^\n]{0,30}\b(dropped|removed|ignored|skipped|replaced|filled|masked|allowed|filtered)\b|\bnans?\b[^\n]{0,30}[=:]\s*(0|none|false|no|off)\b|(not|n't) (be )?nan|\b(drop|remov|replac|fill|mask|filter)\w*\b[^\n]{0,30}\bnans?\b`)

const gpuMemoryHint = "the device's memory is full: a device with more, or a smaller batch"

const allocationHint = "it asked for more memory than the machine gave it; raise resources.memory"

const endingsHint = "a script has the line endings of Windows (CR LF); to convert it: sed -i 's/\\r$//' FILE"

const commandHint = "the command was not found where the job ran: correct its name, or let setup put it on PATH"

// nearLines is how many lines at the end of a log are its last words.
const nearLines = 20

// text finds the pattern whose match is nearest to the end. For a job that ended 0 without its
// outputs, or by a signal from outside, only the last lines count: the job had continued after
// anything it printed before.
func text(e Evidence) (Verdict, bool) {
	tail := e.Tail
	if e.zero() || e.fromOutside() {
		tail = lastLines(tail, nearLines)
	}
	low := lower(tail)
	near := len(tail) - len(lastLines(tail, nearLines))
	best, at := -1, -1
	echo, echoAt := -1, -1
	for i, p := range patterns {
		pos := p.last(low)
		switch {
		case pos < 0, p.near && pos < near, p.gpu && !e.GPUs:
		case p.echo:
			if pos > echoAt {
				echo, echoAt = i, pos
			}
		case pos > at:
			best, at = i, pos
		}
	}
	if best < 0 {
		best, at = echo, echoAt
	}
	if best < 0 {
		return Verdict{}, false
	}
	p := patterns[best]
	v := Verdict{Class: p.class, Rule: p.name, Hint: p.hint, Line: cleanLine(lineAt(tail, at))}
	return v, true
}

// last is where the pattern's last line begins in low, or -1.
func (p pattern) last(low []byte) int {
	best := -1
	for _, s := range p.any {
		if at := p.lastLineWith(low, []byte(s)); at > best {
			best = at
		}
	}
	return best
}

// maxTries bounds how many lines that hold a pattern's text are shown to its
// expression.
const maxTries = 50

// lastLineWith is where the last line begins that holds s and is the pattern's.
func (p pattern) lastLineWith(low, s []byte) int {
	end := len(low)
	if !bytes.Contains(low, s) { // far quicker than LastIndex
		return -1
	}
	for range maxTries {
		i := bytes.LastIndex(low[:end], s)
		if i < 0 {
			return -1
		}
		start, stop := lineBounds(low, i)
		if line := low[start:stop]; (p.re == nil || p.re.Match(line)) && (p.but == nil || !p.but.Match(line)) {
			return start
		}
		end = start
	}
	return -1
}

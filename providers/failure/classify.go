package failure

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Classify names why an attempt failed. Certain causes come before the log: the campaign's own
// rules, then the facts (reboot, Xid, preemption, scheduler state, walltime, cgroup counters),
// then the text, then the signal. Text of a job that ended 0 with its outputs as declared is
// never a failure: it recovered by itself.
func (c *Catalogue) Classify(e Evidence) Verdict {
	if e.CancelledByUs || e.Fine() {
		return Verdict{}
	}
	if e.Unverified != "" && e.zero() && e.Outputs == "" && e.Forbidden == "" && e.Stalled == "" { // whatever it has printed
		line := cleanLine([]byte(e.Unverified))
		return Verdict{Class: Unverified, Rule: "unverified", Action: "hold", Line: line, Signature: Unverified,
			Hint: unverifiedHint}
	}
	e.Tail = lastBytes(e.Tail, TailSize)
	if c != nil {
		for _, k := range c.own {
			if v, ok := k.verdict(e, e.Tail); ok {
				return e.finish(v)
			}
		}
	}
	for _, judge := range []func(Evidence) (Verdict, bool){facts, scheduler, counters, noInodes, unwritable, text, noRoom, ending} {
		if v, ok := judge(e); ok {
			return e.finish(v)
		}
	}
	return e.finish(Verdict{Class: Unknown})
}

// Fine reports whether the attempt is no failure at all.
func (e Evidence) Fine() bool {
	return e.zero() && e.Outputs == "" && e.Unverified == "" && e.Forbidden == "" && e.Stalled == ""
}

const unverifiedHint = "an output passed the bound of its verification. muster does not run the job again by itself. To keep the outputs as they are: " +
	"muster apply -accept=ADDR. To run it again: raise verify_timeout or verify_max_size, then muster resume ADDR"

func (e Evidence) zero() bool { return e.Exit != nil && *e.Exit == 0 && e.Signal == "" }

// finish adds the line and the signature.
func (e Evidence) finish(v Verdict) Verdict {
	if v.Line == "" {
		v.Line = errorLine(e.Tail)
	}
	if v.Line == "" && e.zero() {
		v.Line = cleanLine([]byte(e.Outputs))
	}
	if v.Class == Unknown && v.Hint == "" {
		v.Hint = e.programError()
	}
	if sure(v) {
		v.Signature = v.Class
		return v
	}
	v.Signature = v.Class + ": " + Signature(v.Line)
	if v.Line == "" {
		v.Signature = v.Class + ": " + e.end()
	}
	return v
}

// sure reports whether the class is decided by where the job ran, so that
// whatever the log says last is no part of the cause.
func sure(v Verdict) bool {
	switch v.Rule {
	case "reboot", "host", "preempted", "walltime", "xid", "scheduler", "cgroup", "room":
		return true
	}
	return false
}

// end is how the process ended, in words.
func (e Evidence) end() string {
	switch {
	case e.Signal != "":
		return "signal " + signalName(e.Signal)
	case e.Exit != nil:
		return fmt.Sprintf("exit %d", *e.Exit)
	}
	return "no exit status"
}

func facts(e Evidence) (Verdict, bool) {
	switch {
	case e.Rebooted:
		return Verdict{Class: NodeFailure, Rule: "reboot", Hint: "the machine was restarted while the job ran"}, true
	case e.Gone && e.Host != "":
		return Verdict{Class: NodeFailure, Rule: "host", Hint: e.Host}, true
	case slices.ContainsFunc(e.Xid, lethal):
		i := slices.IndexFunc(e.Xid, lethal)
		return Verdict{Class: GPULost, Rule: "xid", Hint: fmt.Sprintf("Xid %d: %s", e.Xid[i], lethalXid[e.Xid[i]])}, true
	case e.Forbidden != "":
		return Verdict{Class: Forbidden, Rule: "watch", Line: cleanLine([]byte(e.Forbidden)), Hint: "it printed a line that its watch block forbids"}, true
	case e.Stalled != "":
		return Verdict{Class: Stalled, Rule: "watch", Line: e.Stalled, Hint: strings.TrimPrefix(e.Stalled, "stalled: ")}, true
	case e.Preempted:
		return Verdict{Class: Preempted, Rule: "preempted"}, true
	case e.WalltimeHit:
		return Verdict{Class: Walltime, Rule: "walltime", Hint: "raise walltime, or let the job resume from a checkpoint block"}, true
	}
	return Verdict{}, false
}

// lethalXid are the errors after which a device needs a reset or repair. The
// others (13, 31, 43, 45, …) are the program's own.
// NVIDIA, XID Errors, table "Xid error listing".
var lethalXid = map[int]string{
	48:  "double-bit memory error; the GPU needs a reset",
	62:  "the GPU's microcontroller halted",
	63:  "a memory page is retired; the GPU needs a reset",
	64:  "retiring a memory page did not work; the GPU needs a reset",
	74:  "an NVLink error",
	79:  "the GPU has fallen off the bus",
	92:  "too many corrected memory errors",
	94:  "a contained memory error",
	95:  "an uncontained memory error; the GPU needs a reset",
	110: "a security fault; the GPU needs a reset",
	119: "the GPU's system processor does not answer",
	120: "the GPU's system processor failed",
	140: "an unrecovered memory error",
}

// lethalNumbers are the keys of lethalXid as an expression's alternatives.
func lethalNumbers() string {
	var all []string
	for n := range lethalXid {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, "|")
}

// programXid are frequent errors that a program causes, of the same table.
var programXid = map[int]string{
	13: "an exception in a kernel, such as an access out of bounds",
	31: "a page fault: a kernel read or wrote outside its memory",
	43: "the GPU ended the program's work after an error",
	45: "the GPU's work was cleaned up after an earlier error",
}

// programError is the hint of a failure that has no class, from the errors of its GPUs.
func (e Evidence) programError() string {
	for _, n := range e.Xid {
		if why := programXid[n]; why != "" {
			return fmt.Sprintf("its GPU reported Xid %d, %s; this is an error of the program, not of the device", n, why)
		}
	}
	return ""
}

// Lethal says why a device with this Xid cannot be used until it is reset or
// repaired, or "" for the errors that are the program's own.
func Lethal(xid int) string { return lethalXid[xid] }

func lethal(xid int) bool { return lethalXid[xid] != "" }

// counters uses the kernel's own count of processes killed for memory.
func counters(e Evidence) (Verdict, bool) {
	if e.OOMKills <= 0 || e.zero() {
		return Verdict{}, false
	}
	return Verdict{Class: OOMHost, Rule: "cgroup", Hint: memoryHint}, true
}

const memoryHint = "the kernel ended it for using more memory than it may; raise resources.memory"

// signal is the signal that ended the job, also when a shell reports it by exit status.
func (e Evidence) signal() string {
	if e.Signal == "" && e.Exit != nil {
		return signalNumbers[*e.Exit-128]
	}
	return signalName(e.Signal)
}

// outside are the signals that others send.
var outside = map[string]bool{"KILL": true, "TERM": true, "INT": true, "HUP": true, "QUIT": true}

// fromOutside reports whether something outside the job ended it.
func (e Evidence) fromOutside() bool { return e.Gone || outside[e.signal()] }

// ending is the class that follows from the exit status alone.
func ending(e Evidence) (Verdict, bool) {
	code, sig := 0, e.signal()
	if e.Exit != nil {
		code = *e.Exit
	}
	switch {
	case sig == "KILL" && e.HostOOMKills > 0 && e.OOMKills <= 0 && e.Container != "":
		return Verdict{Class: OOMSched, Rule: "container", Hint: "its container was ended for using more memory than " + e.Container +
			" gives it; raise that limit, and resources.memory"}, true
	case (sig == "KILL" || e.Gone) && e.HostOOMKills > 0 && e.OOMKills != 0:
		return Verdict{Class: OOMHost, Rule: "kill", Hint: memoryHint}, true
	case sig == "KILL":
		return Verdict{Class: Killed, Rule: "signal", Hint: "ended by KILL from outside; if memory was short, raise resources.memory"}, true
	case e.Gone:
		return Verdict{Class: Killed, Rule: "gone", Hint: "its processes were killed from outside, so that nothing recorded how it ended"}, true
	case outside[sig]:
		return Verdict{Class: Killed, Rule: "signal", Hint: "ended by " + sig + " from outside"}, true
	case sig == "XFSZ":
		return Verdict{Class: DiskFull, Rule: "signal", Hint: "a file grew beyond the limit of ulimit -f"}, true
	case sig != "":
		return Verdict{Class: Unknown, Rule: "signal", Hint: "the program crashed with signal " + sig}, true
	case code == 127:
		return Verdict{Class: MissingFile, Rule: "exit 127", Hint: commandHint}, true
	case e.zero(): // other causes were checked before
		return Verdict{Class: BadOutput, Rule: "outputs", Hint: "it exited 0, and an output or metric failed its check"}, true
	case code == 126:
		return Verdict{Class: Unknown, Rule: "exit 126", Hint: "the command was found but could not be executed; check its mode and its first line"}, true
	}
	return Verdict{}, false
}

// noInodes reads "No space left on device" on a volume with room for bytes and no inode: the
// kernel has one message for both.
func noInodes(e Evidence) (Verdict, bool) {
	if e.NoRoom != NoInodes {
		return Verdict{}, false
	}
	v, ok := text(e)
	if !ok || v.Class != DiskFull {
		return Verdict{}, false
	}
	v.Class, v.Hint = NoInodes, "the volume of its workdir has no inodes left: remove or pack small files, then resume"
	return v, true
}

// denied are the texts of EACCES and EROFS. By themselves they prove nothing of a workdir.
var denied = []string{"permission denied", "read-only file system", "errno 13]", "errno 30]", "os error 13)", "os error 30)", "eacces", "erofs"}

// unwritable reads them where the workdir may not be written to.
func unwritable(e Evidence) (Verdict, bool) {
	tail := strings.ToLower(string(e.Tail))
	if e.NoRoom != Unwritable || !slices.ContainsFunc(denied, func(s string) bool { return strings.Contains(tail, s) }) {
		return Verdict{}, false
	}
	return e.unwritable(), true
}

func (e Evidence) unwritable() Verdict {
	return Verdict{Class: Unwritable, Rule: "room", Hint: e.Unwritten + "; nothing starts there until it can be written to. Then resume"}
}

// noRoom is why a job's log is empty: it is on the full disk, too.
func noRoom(e Evidence) (Verdict, bool) {
	if e.NoRoom == "" || e.fromOutside() {
		return Verdict{}, false
	}
	if e.NoRoom == Unwritable {
		return e.unwritable(), true
	}
	return Verdict{Class: e.NoRoom, Rule: "room", Hint: "the disk of its workdir takes nothing more, not even its log; make room, then resume"}, true
}

var signalNumbers = map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL",
	10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS"}

func signalName(s string) string {
	s = strings.ToUpper(strings.TrimSpace(s))
	return strings.TrimPrefix(s, "SIG")
}

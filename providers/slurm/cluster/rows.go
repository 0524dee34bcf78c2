package cluster

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// What is printed between fields and after records: names and comments may
// hold anything else, newlines too.
const (
	fieldEnd  = "\x1f"
	recordEnd = "\x1e"
)

// queueFormat is squeue's, by fields that have meant the same since 14.x. JSON
// is younger, and its shape has changed with almost every version.
const queueFormat = "%F\x1f%K\x1f%i\x1f%A\x1f%T\x1f%r\x1f%V\x1f%S\x1f%e\x1f%l\x1f%M\x1f%P\x1f%a\x1f%q\x1f%u\x1f%D\x1f%C\x1f%m\x1f%b\x1f%Q\x1f%N\x1f%E\x1f%w\x1f%Z\x1f%j\x1f%k\x1e"

// queueWidth is how many fields a record of it has.
const queueWidth = 26

// A QueueRow is one job, or one element of an array, in squeue.
type QueueRow struct {
	Array     string // id of the array, or of the job itself
	Index     int    // -1: no element
	State     string // one word: "PENDING". squeue(1), JOB STATE CODES
	Reason    string // Slurm's own word; Reason has it in words
	submit    time.Time
	Start     time.Time // expected, while it is pending; zero = not known
	end       time.Time
	Partition string
	account   string
	qos       string
	Nodes     string // as Slurm lists them: "cpu[1-2]"
	Name      string // of the job
}

// parseQueue reads what squeue printed in queueFormat. Records that cannot be
// read are counted, and no conclusion may be drawn from a listing with some.
func parseQueue(out []byte) (rows []QueueRow, unread int) {
	if rest := out[bytes.LastIndexByte(out, recordEnd[0])+1:]; len(bytes.TrimSpace(rest)) > 0 {
		unread++ // cut short
	}
	for record := range bytes.SplitSeq(out[:bytes.LastIndexByte(out, recordEnd[0])+1], []byte(recordEnd)) {
		record = bytes.TrimPrefix(record, []byte("\n"))
		if len(bytes.TrimSpace(record)) == 0 {
			continue
		}
		f := strings.Split(string(record), fieldEnd)
		if len(f) != queueWidth || !isID(f[0]) || f[4] == "" {
			unread++
			continue
		}
		indexes, err := ParseIndexes(f[1])
		if err != nil {
			unread++
			continue
		}
		row := QueueRow{Array: f[0], State: StateWord(f[4]), Reason: f[5], submit: epoch(f[6]), Start: epoch(f[7]), end: epoch(f[8]),
			Partition: f[11], account: f[12], qos: f[13], Nodes: f[20], Name: f[24]}
		for _, i := range indexes {
			row.Index = i
			rows = append(rows, row)
		}
	}
	return rows, unread
}

// StateWord is a state without what may follow: "CANCELLED by 1000".
func StateWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return strings.TrimSuffix(word, "+")
}

// accountFields are sacct's, none newer than 20.02: an unknown one is fatal.
const accountFields = "JobID,JobIDRaw,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,Partition,Account,QOS,User," +
	"NNodes,NCPUS,ReqTRES,AllocTRES,MaxRSS,TotalCPU,NodeList,Reason,WCKey,WorkDir,JobName,Comment"

// An AccountRow is one job, element or step in sacct.
type AccountRow struct {
	Array   string // id of the array, or of the job itself
	index   int    // -1: no element
	Step    string // "batch", "extern", "0"; "" for the job itself
	State   string // "CANCELLED by 1000"
	Exit    int    // status, 0 to 255
	Signal  int    // number; 0 = none
	Submit  time.Time
	Start   time.Time // zero: it never ran
	End     time.Time // zero: it has not ended
	elapsed time.Duration
	pool    string
	tres    map[string]string
	rss     int64         // bytes; -1 = unknown
	cpu     time.Duration // -1 = unknown
	Nodes   string        // as Slurm lists them: "cpu[1-2]"
	reason  string
	Name    string // of the job; "allocation" while the row is not complete
}

// Final reports whether the state is an end.
func (r AccountRow) Final() bool { return Ended(r.State) }

// Ended reports whether a state word, of squeue or sacct, is an end. squeue(1),
// JOB STATE CODES; REQUEUED and the like are the end of one start only.
func Ended(state string) bool {
	switch StateWord(state) {
	case "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "LAUNCH_FAILED", "REVOKED":
		return true
	}
	return false
}

// parseAccount reads sacct -n -p with accountFields.
func parseAccount(out []byte) (rows []AccountRow, unread int) {
	n := strings.Count(accountFields, ",") + 1
	fields := strings.Split(string(out), fieldEnd)
	// A separator stands after the last field, too; a newline before the next row.
	for len(fields) > n {
		f := fields[:n]
		fields = fields[n:]
		fields[0] = strings.TrimPrefix(fields[0], "\n")
		more, ok := parseAccountRow(f)
		if !ok {
			unread++
			continue
		}
		rows = append(rows, more...)
	}
	if strings.TrimSpace(strings.Join(fields, "")) != "" {
		unread++
	}
	return rows, unread
}

func parseAccountRow(f []string) ([]AccountRow, bool) {
	id, step, _ := strings.Cut(f[0], ".")
	array, list, element := strings.Cut(id, "_")
	array, _, _ = strings.Cut(array, "+") // a part of a heterogeneous job
	if _, err := strconv.Atoi(array); err != nil || f[2] == "" {
		return nil, false
	}
	indexes := []int{-1}
	if element {
		var err error
		if indexes, err = ParseIndexes(list); err != nil {
			return nil, false
		}
	}
	r := AccountRow{Array: array, Step: step, State: strings.TrimSpace(f[2]), Submit: epoch(f[5]), Start: epoch(f[7]), End: epoch(f[8]), pool: f[11],
		tres: parseTRES(f[18]), rss: parseKilo(f[19]), cpu: parseClock(f[20]), Nodes: f[21], reason: f[22], Name: f[25]}
	code, sig, _ := strings.Cut(f[3], ":")
	r.Exit, _ = strconv.Atoi(code)
	r.Signal, _ = strconv.Atoi(sig)
	if n, err := strconv.ParseInt(f[9], 10, 64); err == nil {
		r.elapsed = time.Duration(n) * time.Second
	}
	var rows []AccountRow
	for _, i := range indexes {
		r.index = i
		rows = append(rows, r)
	}
	return rows, true
}

// ByWhom says, after a space, who cancelled a job in whose state sacct names a
// user, "CANCELLED by 1000"; "" if it names none.
func ByWhom(state string) string {
	f := strings.Fields(state)
	if len(f) == 3 && f[1] == "by" {
		if f[2] == strconv.Itoa(os.Getuid()) {
			return " by yourself"
		}
		return " by user " + f[2]
	}
	return ""
}

// SignalName is a signal of sacct's ExitCode by its name without SIG; one that
// has none here is its number.
func SignalName(n int) string {
	names := map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1", 11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM"}
	if s := names[n]; s != "" {
		return s
	}
	return strconv.Itoa(n)
}

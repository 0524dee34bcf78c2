package cluster

import (
	"bytes"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"
)

// Separators of fields and records: names and comments may hold anything else, newlines too.
const (
	fieldEnd  = "\x1f"
	recordEnd = "\x1e"
)

// queueFields are squeue's, by letters that have meant the same since 14.x, and
// none that nobody reads. JSON is younger, and its shape has changed with
// almost every version.
var queueFields = []string{"%F", "%K", "%T", "%r", "%V", "%S", "%P", "%a", "%q", "%N", "%j", "%k"}

// A queueRow is one job, or one element of an array, in squeue.
type queueRow struct {
	Array     string    // id of the array, or of the job itself
	Index     int       // -1: no element
	State     string    // one word: "PENDING". squeue(1), JOB STATE CODES
	Reason    string    // Slurm's own word; Reason has it in words
	Submit    time.Time // or when it was put back
	Start     time.Time // expected, while it is pending; zero = not known
	Partition string
	account   string
	qos       string
	Nodes     string // as Slurm lists them: "cpu[1-2]"
	Name      string // of the job
	Comment   string // "(null)": none
}

// parseQueue reads squeue's output by fields. Records that cannot be read are
// counted, and no conclusion may be drawn from a listing with some.
func parseQueue(out []byte, fields []string) (rows []queueRow, unread int) {
	if rest := out[bytes.LastIndexByte(out, recordEnd[0])+1:]; len(bytes.TrimSpace(rest)) > 0 {
		unread++ // cut short
	}
	for record := range bytes.SplitSeq(out[:bytes.LastIndexByte(out, recordEnd[0])+1], []byte(recordEnd)) {
		record = bytes.TrimPrefix(record, []byte("\n"))
		if len(bytes.TrimSpace(record)) == 0 {
			continue
		}
		values := strings.Split(string(record), fieldEnd)
		if len(values) != len(fields) {
			unread++
			continue
		}
		f := named(fields, values)
		indexes, err := ParseIndexes(f["%K"])
		if err != nil || !isID(f["%F"]) || f["%T"] == "" {
			unread++
			continue
		}
		row := queueRow{Array: f["%F"], State: stateWord(f["%T"]), Reason: f["%r"], Submit: epoch(f["%V"]), Start: epoch(f["%S"]),
			Partition: f["%P"], account: f["%a"], qos: f["%q"], Nodes: f["%N"], Name: f["%j"], Comment: f["%k"]}
		for _, i := range indexes {
			row.Index = i
			rows = append(rows, row)
		}
	}
	return rows, unread
}

// named are values by their fields.
func named(fields, values []string) map[string]string {
	out := make(map[string]string, len(fields))
	for i, name := range fields {
		out[name] = values[i]
	}
	return out
}

// stateWord is the first word of a state: of "CANCELLED by 1000".
func stateWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return strings.TrimSuffix(word, "+")
}

// accountFields are sacct's, none newer than 20.02 and none that nobody reads:
// fields come (StdOut, Restarts), go (AllocGRES) and are renamed (Reserved is
// Planned since 21.08), and one that is not known is fatal. Without the first
// four there is nothing to read; any other is unknown where a version lacks it.
var accountFields = []string{"JobID", "State", "Submit", "JobName", "ExitCode", "Start", "End", "ElapsedRaw", "AllocTRES", "MaxRSS", "TotalCPU", "NodeList"}

// accountNeeds is how many of them there must be.
const accountNeeds = 4

// An accountRow is one job, element or step in sacct.
type accountRow struct {
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
	tres    map[string]string
	rss     int64         // bytes; -1 = unknown
	cpu     time.Duration // -1 = unknown
	Nodes   string        // as Slurm lists them: "cpu[1-2]"
	Name    string        // of the job; "allocation" while the row is not complete
}

// Final reports whether the state is an end.
func (r accountRow) Final() bool { return ended(r.State) }

// ended reports whether a state word, of squeue or sacct, is an end. squeue(1),
// JOB STATE CODES; REQUEUED and the like are the end of one start only, and
// LAUNCH_FAILED may be of a job that Slurm holds.
func ended(state string) bool {
	switch stateWord(state) {
	case "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "REVOKED":
		return true
	}
	return false
}

// parseAccount reads sacct -n -p by fields.
func parseAccount(out []byte, fields []string) (rows []accountRow, unread int) {
	values := strings.Split(string(out), fieldEnd)
	// The last field ends with a separator, too; a newline begins the next row.
	for len(values) > len(fields) {
		f := values[:len(fields)]
		values = values[len(fields):]
		values[0] = strings.TrimPrefix(values[0], "\n")
		more, ok := parseAccountRow(named(fields, f))
		if !ok {
			unread++
			continue
		}
		rows = append(rows, more...)
	}
	if strings.TrimSpace(strings.Join(values, "")) != "" {
		unread++
	}
	return rows, unread
}

// noNodes is sacct's word for a job that never had a node. Sometimes a job that is
// cancelled while it waits gets its end as its start: seen on 22.05.
const noNodes = "None assigned"

func parseAccountRow(f map[string]string) ([]accountRow, bool) {
	id, step, _ := strings.Cut(f["JobID"], ".")
	array, list, element := strings.Cut(id, "_")
	array, _, _ = strings.Cut(array, "+") // a part of a heterogeneous job
	if !isID(array) || f["State"] == "" {
		return nil, false
	}
	indexes := []int{-1}
	if element {
		var err error
		if indexes, err = ParseIndexes(list); err != nil {
			return nil, false
		}
	}
	r := accountRow{Array: array, Step: step, State: strings.TrimSpace(f["State"]), Submit: epoch(f["Submit"]), Start: epoch(f["Start"]), End: epoch(f["End"]),
		tres: parseTRES(f["AllocTRES"]), rss: parseKilo(f["MaxRSS"]), cpu: parseClock(f["TotalCPU"]), Nodes: f["NodeList"], Name: f["JobName"]}
	if r.Nodes == noNodes {
		r.Nodes, r.Start = "", time.Time{}
	}
	code, sig, _ := strings.Cut(f["ExitCode"], ":")
	r.Exit, _ = strconv.Atoi(code)
	r.Signal, _ = strconv.Atoi(sig)
	if n, err := strconv.ParseInt(f["ElapsedRaw"], 10, 64); err == nil {
		r.elapsed = time.Duration(n) * time.Second
	}
	var rows []accountRow
	for _, i := range indexes {
		r.index = i
		rows = append(rows, r)
	}
	return rows, true
}

// byWhom says, after a space, who cancelled a job in whose state sacct names a
// user, "CANCELLED by 1000"; "" if it names none.
func byWhom(state string) string {
	f := strings.Fields(state)
	switch {
	case len(f) != 3 || f[1] != "by":
		return ""
	case f[2] == strconv.Itoa(os.Getuid()):
		return " by yourself"
	}
	u, err := user.LookupId(f[2])
	if err != nil {
		return " by user " + f[2] // whom this machine does not know
	}
	return " by " + u.Username
}

// byRoot reports whether root, as which slurmd runs, cancelled a job.
func byRoot(state string) bool { return strings.HasSuffix(state, " by 0") }

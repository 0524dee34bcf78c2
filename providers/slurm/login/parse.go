package login

import (
	"bytes"
	"fmt"
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

// A queueRow is one job, or one element of an array, in squeue.
type queueRow struct {
	array   string // id of the array, or of the job itself
	index   int    // -1: no element
	state   string
	reason  string
	submit  time.Time
	start   time.Time // expected, while it is pending
	end     time.Time
	pool    string
	account string
	qos     string
	nodes   string
	name    string
}

// parseQueue reads what squeue printed in queueFormat. Records that cannot be
// read are counted, and no conclusion may be drawn from a listing with some.
func parseQueue(out []byte) (rows []queueRow, unread int) {
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
		indexes, err := parseIndexes(f[1])
		if err != nil {
			unread++
			continue
		}
		row := queueRow{array: f[0], state: firstWord(f[4]), reason: f[5], submit: epoch(f[6]), start: epoch(f[7]), end: epoch(f[8]),
			pool: f[11], account: f[12], qos: f[13], nodes: f[20], name: f[24]}
		for _, i := range indexes {
			row.index = i
			rows = append(rows, row)
		}
	}
	return rows, unread
}

// firstWord is a state without what may follow: "CANCELLED by 1000".
func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return strings.TrimSuffix(word, "+")
}

// maxIndexes bounds a list of indexes, which is written in few bytes.
const maxIndexes = 4_000_001 // slurm.conf(5), MaxArraySize: at most 4000001

// parseIndexes reads "3", "0-998:2%50", "1,5,7-9"; N/A and "" are no element.
func parseIndexes(s string) ([]int, error) {
	s, _, _ = strings.Cut(strings.Trim(s, "[]"), "%")
	if s == "" || s == "N/A" {
		return []int{-1}, nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ",") {
		span, step, stepped := strings.Cut(part, ":")
		from, to, ranged := strings.Cut(span, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			return nil, fmt.Errorf("index list %q", s)
		}
		b, by := a, 1
		if ranged {
			if b, err = strconv.Atoi(to); err != nil {
				return nil, fmt.Errorf("index list %q", s)
			}
		}
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 {
				return nil, fmt.Errorf("index list %q", s)
			}
		}
		if a < 0 || b < a || b >= maxIndexes || len(out)+(b-a)/by >= maxIndexes {
			return nil, fmt.Errorf("index list %q", s)
		}
		for i := a; i <= b; i += by {
			out = append(out, i)
		}
	}
	return out, nil
}

// epoch reads seconds; N/A, Unknown, None and the like are no time.
func epoch(s string) time.Time {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// accountFields are sacct's, none newer than 20.02: an unknown one is fatal.
const accountFields = "JobID,JobIDRaw,State,ExitCode,DerivedExitCode,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,Partition,Account,QOS,User," +
	"NNodes,NCPUS,ReqTRES,AllocTRES,MaxRSS,TotalCPU,NodeList,Reason,WCKey,WorkDir,JobName,Comment"

// An accountRow is one job, element or step in sacct.
type accountRow struct {
	array   string
	index   int    // -1: no element
	step    string // "batch", "extern", "0"; "" for the job itself
	state   string // "CANCELLED by 1000"
	exit    int
	signal  int
	submit  time.Time
	start   time.Time
	end     time.Time
	elapsed time.Duration
	pool    string
	tres    map[string]string
	rss     int64         // bytes; -1 = unknown
	cpu     time.Duration // -1 = unknown
	nodes   string
	reason  string
	name    string
}

// final reports whether a state is an end.
func (r accountRow) final() bool { return ended(r.state) }

// ended reports whether a state word, of squeue or sacct, is an end. squeue(1),
// JOB STATE CODES; REQUEUED and the like are the end of one start only.
func ended(state string) bool {
	switch firstWord(state) {
	case "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "LAUNCH_FAILED", "REVOKED":
		return true
	}
	return false
}

// parseAccount reads sacct -n -p with accountFields.
func parseAccount(out []byte) (rows []accountRow, unread int) {
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

func parseAccountRow(f []string) ([]accountRow, bool) {
	id, step, _ := strings.Cut(f[0], ".")
	array, list, element := strings.Cut(id, "_")
	array, _, _ = strings.Cut(array, "+") // a part of a heterogeneous job
	if _, err := strconv.Atoi(array); err != nil || f[2] == "" {
		return nil, false
	}
	indexes := []int{-1}
	if element {
		var err error
		if indexes, err = parseIndexes(list); err != nil {
			return nil, false
		}
	}
	r := accountRow{array: array, step: step, state: strings.TrimSpace(f[2]), submit: epoch(f[5]), start: epoch(f[7]), end: epoch(f[8]), pool: f[11],
		tres: parseTRES(f[18]), rss: parseKilo(f[19]), cpu: parseClock(f[20]), nodes: f[21], reason: f[22], name: f[25]}
	code, sig, _ := strings.Cut(f[3], ":")
	r.exit, _ = strconv.Atoi(code)
	r.signal, _ = strconv.Atoi(sig)
	if n, err := strconv.ParseInt(f[9], 10, 64); err == nil {
		r.elapsed = time.Duration(n) * time.Second
	}
	var rows []accountRow
	for _, i := range indexes {
		r.index = i
		rows = append(rows, r)
	}
	return rows, true
}

// parseTRES reads "cpu=1,gres/gpu=3,mem=512M".
func parseTRES(s string) map[string]string {
	var out map[string]string
	for part := range strings.SplitSeq(s, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = value
		}
	}
	return out
}

// parseKilo reads a size such as 1234K, 1.50M, 512; -1 if there is none.
func parseKilo(s string) int64 {
	s = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(s), "nc"), "B") // 2000Mn, 2000Mc: per node, per cpu
	if s == "" {
		return -1
	}
	unit := int64(1)
	if i := strings.IndexByte("KMGTP", s[len(s)-1]); i >= 0 {
		unit, s = int64(1)<<(10*(i+1)), s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f*float64(unit) > 1<<62 {
		return -1
	}
	return int64(f * float64(unit))
}

// parseClock reads [DD-[HH:]]MM:SS[.mmm]; -1 if it is none.
func parseClock(s string) time.Duration {
	days, rest, found := strings.Cut(strings.TrimSpace(s), "-")
	if !found {
		days, rest = "0", days
	}
	d, err := strconv.Atoi(days)
	if err != nil || rest == "" || d < 0 || d > 100_000 {
		return -1
	}
	total := time.Duration(d) * 24 * time.Hour
	parts := strings.Split(rest, ":")
	unit := time.Second
	for i := len(parts) - 1; i >= 0; i-- {
		f, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || f < 0 || f > 1e9 || unit > time.Hour {
			return -1
		}
		total += time.Duration(f * float64(unit))
		unit *= 60
	}
	return total
}

// parseLimit is a time limit as Slurm prints it: UNLIMITED and the like are 0.
// "30" is minutes, "1-0" days and hours. sbatch(1), --time.
func parseLimit(s string) time.Duration {
	s = strings.TrimSpace(s)
	days, rest, dayed := strings.Cut(s, "-")
	if !dayed {
		if !strings.Contains(s, ":") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 {
				return 0
			}
			return time.Duration(n) * time.Minute
		}
		return max(parseClock(s), 0)
	}
	switch strings.Count(rest, ":") {
	case 0:
		rest += ":00:00"
	case 1:
		rest += ":00"
	}
	return max(parseClock(days+"-"+rest), 0)
}

package cluster

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A word is a value of PBS's JSON as text: it writes what looks like a number or a
// boolean as one, and 1e999 as null.
type word string

func (w *word) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*w = word(s)
		return nil
	}
	if string(b) != "null" {
		*w = word(b)
	}
	return nil
}

func (w word) int() int {
	n, _ := strconv.Atoi(string(w))
	return n
}

// A job is a job, an array or an element in qstat -f. pbs_job_attributes(7B).
type job struct {
	Name     word            `json:"Job_Name"`
	State    word            `json:"job_state"`
	Substate word            `json:"substate"`
	Queue    word            `json:"queue"`
	Account  word            `json:"Account_Name"`
	Comment  word            `json:"comment"`
	Holds    word            `json:"Hold_Types"`
	Depend   word            `json:"depend"`
	Created  word            `json:"ctime"`
	Started  word            `json:"stime"`
	Ended    word            `json:"obittime"`
	Changed  word            `json:"mtime"`
	Begin    word            `json:"Execution_Time"`
	Host     word            `json:"exec_host"`
	Exit     *word           `json:"Exit_status"`
	Runs     word            `json:"run_count"`
	Most     *word           `json:"max_run_subjobs"`
	Counts   word            `json:"array_state_count"`
	Indexes  word            `json:"array_indices_submitted"`
	Used     map[string]word `json:"resources_used"`
	Given    map[string]any  `json:"Resource_List"`
	Expected map[string]word `json:"estimated"`
}

// An answer is qstat -f -F json. PBS leaves out Jobs where there are none.
type answer struct {
	Server string         `json:"pbs_server"`
	Jobs   map[string]job `json:"Jobs"`
}

// parseJobs reads qstat -f -F json. An output that is cut is an error.
func parseJobs(out []byte) (a answer, err error) {
	if len(strings.TrimSpace(string(out))) == 0 {
		return a, errors.New("it printed nothing")
	}
	return a, json.Unmarshal(out, &a)
}

// when is a time of qstat's in UTC, zero where there is none.
func when(w word) time.Time {
	t, err := time.ParseInLocation(time.ANSIC, string(w), time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}

// isArray reports whether an id is that of a whole array.
func isArray(id string) bool { return strings.Contains(id, "[]") }

// row is a job or an element in the queue; of an element, array is its array, which
// bears its holds.
func (j *job) row(at scheduler.Place, array *job) scheduler.Row {
	r := scheduler.Row{Place: at, Name: string(j.Name), Pool: string(j.Queue), Account: string(j.Account), Submit: when(j.Created), Nodes: j.nodes()}
	holds, depend, comment := j.Holds, j.Depend, j.Comment
	if array != nil {
		holds, depend = array.Holds, array.Depend
		if comment == "" {
			comment = array.Comment
		}
	}
	switch j.State {
	case "Q", "H", "W":
		r.State = scheduler.Waiting
		r.HeldBy = heldBy(string(holds), depend != "")
		if r.HeldBy == offer.HeldByUser {
			r.Label = scheduler.Held // who held it PBS does not say; what muster holds, it knows
		}
		r.Start, r.Nodes = j.expected(), ""
		r.Reason = reason(string(holds), string(depend), string(comment))
		if j.State == "W" {
			r.Reason = "waits for its time"
		}
	case "T", "M":
		r.State = scheduler.Returning
	case "R":
		r.State, r.Start = scheduler.Running, when(j.Started)
	case "E", "S", "U":
		r.State, r.Start = scheduler.Stopped, when(j.Started)
	case "F", "X":
		r.State, r.Start, r.End = scheduler.Ended, when(j.Started), j.end()
	}
	return r
}

// heldBy is who holds a job: u is a user's hold, o an operator's, s the system's,
// which a job with dependencies has until they are met. pbs_job_attributes(7B).
func heldBy(types string, depends bool) offer.Holder {
	switch {
	case strings.Contains(types, "o"):
		return offer.HeldByAdmin
	case strings.Contains(types, "u"):
		return offer.HeldByUser
	case strings.Contains(types, "p"), strings.Contains(types, "s") && !depends:
		return offer.HeldByScheduler
	}
	return ""
}

// reason is why a job waits, in words.
func reason(holds, depend, comment string) string {
	comment = strings.TrimSuffix(strings.TrimSpace(comment), ".")
	lower := strings.ToLower(comment)
	switch why, never := strings.CutPrefix(comment, "Can Never Run: "); {
	case strings.Contains(holds, "o"):
		return "held by an operator"
	case strings.Contains(holds, "u"):
		return "held; `muster resume` lets it go"
	case strings.Contains(holds, "s") && depend != "":
		return "waits for what it comes after"
	case never:
		return "it will never start: " + why
	case strings.Contains(lower, "insufficient amount of resource"):
		return "waits for free nodes (" + strings.TrimPrefix(comment, "Not Running: ") + ")"
	case strings.Contains(lower, "job array began"), strings.HasPrefix(comment, "Job run at"):
		return "" // of the array, or of an earlier launch
	}
	return strings.TrimPrefix(comment, "Not Running: ")
}

// farOff is the latest start that PBS's estimate is believed for: without a
// calendar it says years.
const farOff = 60 * 24 * time.Hour

// expected is when a waiting job may start; zero = not known.
func (j *job) expected() time.Time {
	at := when(j.Expected["start_time"])
	if begin := when(j.Begin); at.IsZero() || begin.After(at) {
		at = begin
	}
	if time.Until(at) > farOff {
		return time.Time{}
	}
	return at
}

// nodes are the hosts of "pbs1/0*2+pbs2/1", each once.
func (j *job) nodes() string {
	var list []string
	for part := range strings.SplitSeq(string(j.Host), "+") {
		if host, _, _ := strings.Cut(part, "/"); host != "" && !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return strings.Join(list, ",")
}

// launch is the last launch of a job in PBS's history.
func (j *job) launch(at scheduler.Place) scheduler.Launch {
	l := scheduler.Launch{Place: at, Name: string(j.Name), Submit: when(j.Created)}
	if j.Runs != "" || j.Started != "" {
		l.Start, l.Nodes = when(j.Started), j.nodes()
	}
	if j.State != "F" && j.State != "X" {
		return l
	}
	l.End = j.end()
	if l.Finish = when(j.Ended); l.Finish.IsZero() {
		l.Finish = when(j.Changed)
	}
	if l.Start.IsZero() {
		return l
	}
	l.Cores = j.Used["ncpus"].int()
	l.Usage = &offer.Usage{Elapsed: clock(j.Used["walltime"]), CPU: -1, MaxRSS: -1}
	if cput, ok := j.Used["cput"]; ok {
		l.Usage.CPU = clock(cput)
	}
	if mem, ok := j.Used["mem"]; ok {
		l.Usage.MaxRSS = Size(string(mem))
	}
	return l
}

// clock is a duration of "HH:MM:SS", or of seconds; 0 where there is none.
func clock(w word) time.Duration {
	var d time.Duration
	for part := range strings.SplitSeq(string(w), ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return 0
		}
		d = d*60 + time.Duration(n)
	}
	return d * time.Second
}

// Size is a size of PBS's in bytes, "256gb"; -1 = it cannot be read.
func Size(text string) int64 {
	digits := strings.TrimRight(strings.ToLower(text), "bkmgtpw")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	unit := strings.ToLower(text[len(digits):])
	if strings.HasSuffix(unit, "w") {
		n *= 8
	}
	if len(unit) == 2 {
		n <<= 10 * (strings.IndexByte("kmgtp", unit[0]) + 1)
	}
	return n
}

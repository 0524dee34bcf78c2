package cluster

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// A word is a value of PBS's, as it prints it.
type word string

func (w word) int() int {
	n, _ := strconv.Atoi(string(w))
	return n
}

// A job is a job, an array or an element in qstat -f, its attributes by name:
// "job_state", "Resource_List.ncpus". pbs_job_attributes(7B).
type job map[string]word

// parseJobs reads qstat -f. Its JSON has only the first of several jobs that it was
// asked for, without an error, and retypes values: seen on 23.06. A long value
// continues on lines that begin with a tab.
func parseJobs(out []byte) (map[string]job, error) {
	all := map[string]job{}
	var j job
	var name string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		id, begins := strings.CutPrefix(line, "Job Id: ")
		attribute, value, ok := strings.Cut(strings.TrimPrefix(line, "    "), " = ")
		switch {
		case begins:
			j, name = job{}, ""
			all[strings.TrimSpace(id)] = j
		case strings.HasPrefix(line, "\t") && name != "":
			j[name] += word(line[1:])
		case j != nil && strings.HasPrefix(line, "    ") && ok:
			name = attribute
			j[name] = word(value)
		}
	}
	for id, j := range all {
		if j["job_state"] == "" || j["Job_Name"] == "" {
			return nil, errors.New("its answer about " + id + " is cut")
		}
	}
	return all, nil
}

// has reports whether a job has an attribute.
func (j job) has(name string) bool {
	_, ok := j[name]
	return ok
}

// when is a time of qstat's in UTC, zero where there is none.
func when(w word) time.Time {
	t, err := time.ParseInLocation(time.ANSIC, string(w), time.UTC)
	if err != nil {
		return time.Time{}
	}
	return t
}

// began is when a job started. An element that has no host shows the start of its
// array. Seen on 23.06.
func (j job) began() time.Time {
	if j["exec_host"] == "" {
		return time.Time{}
	}
	return when(j["stime"])
}

// isArray reports whether an id is that of a whole array.
func isArray(id string) bool { return strings.Contains(id, "[]") }

// row is a job or an element in the queue; of an element, array is its array, which
// bears its holds.
func (j job) row(at scheduler.ElementID, array job) scheduler.Entry {
	r := scheduler.Entry{ElementID: at, Name: string(j["Job_Name"]), Pool: string(j["queue"]), Account: string(j["Account_Name"]), Submit: when(j["ctime"]), Nodes: j.nodes()}
	holds, depend, comment := j["Hold_Types"], j["depend"], j["comment"]
	if array != nil {
		holds, depend = array["Hold_Types"], array["depend"]
		if comment == "" {
			comment = array["comment"]
		}
	}
	switch j["job_state"] {
	case "Q", "H", "W":
		r.State = scheduler.Waiting
		r.HeldBy = heldBy(string(holds), depend != "")
		r.Start, r.Nodes = j.expected(), ""
		r.Reason = reason(string(holds), string(depend), string(comment))
		if known, ok := outcomes[j["Exit_status"].int()]; ok {
			r.Before = scheduler.End{Outcome: known.outcome, Said: known.said} // until the next launch. Seen on 23.06
		}
		if j["job_state"] == "W" {
			r.Reason = "waits for its time"
		}
	case "T", "M":
		r.State = scheduler.Returning
	case "R":
		r.State, r.Start = scheduler.Running, j.began()
	case "E", "S", "U":
		r.State, r.Start = scheduler.Stopped, j.began()
	case "F", "X":
		r.State, r.Start, r.End = scheduler.Ended, j.began(), j.end()
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
		return "held; `muster resume` releases it"
	case strings.Contains(holds, "s") && depend != "":
		return "waits for its dependencies"
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
func (j job) expected() time.Time {
	at := when(j["estimated.start_time"])
	if begin := when(j["Execution_Time"]); at.IsZero() || begin.After(at) {
		at = begin
	}
	if time.Until(at) > farOff {
		return time.Time{}
	}
	return at
}

// nodes are the hosts of "pbs1/0*2+pbs2/1", each once.
func (j job) nodes() string {
	var list []string
	for part := range strings.SplitSeq(string(j["exec_host"]), "+") {
		if host, _, _ := strings.Cut(part, "/"); host != "" && !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return strings.Join(list, ",")
}

// launch is the last launch of a job in PBS's history.
func (j job) launch(at scheduler.ElementID) scheduler.Record {
	l := scheduler.Record{ElementID: at, Name: string(j["Job_Name"]), Submit: when(j["ctime"])}
	l.Start, l.Nodes = j.began(), j.nodes()
	if j["job_state"] != "F" && j["job_state"] != "X" {
		return l
	}
	l.End = j.end()
	if l.Finish = when(j["obittime"]); l.Finish.IsZero() {
		l.Finish = when(j["mtime"])
	}
	if l.Start.IsZero() {
		return l
	}
	l.Cores = j["resources_used.ncpus"].int()
	l.Usage = &offer.Usage{Elapsed: clock(j["resources_used.walltime"]), CPU: -1, MaxRSS: -1}
	if cput, ok := j["resources_used.cput"]; ok {
		l.Usage.CPU = clock(cput)
	}
	if mem, ok := j["resources_used.mem"]; ok {
		l.Usage.MaxRSS = size(string(mem))
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

// size is a size of PBS's in bytes, "256gb"; -1 = it cannot be read.
func size(text string) int64 {
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

package pbssim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// attrs are attributes by name; those of a resource as "Resource_List.ncpus".
// Times are in seconds since 1970.
type attrs map[string]string

func (a attrs) num(name string) int {
	n, _ := strconv.Atoi(a[name])
	return n
}

// A job is a job or an array.
type job struct {
	Seq    int
	A      attrs
	Vars   []string // Variable_List, "NAME=VALUE"
	Env    []string // the variables of its script beside those of PBS
	Script []byte
	Exec   []string // the program and its arguments, in place of a script
	Shell  string
	Array  bool
	Tasks  []*task // one, or an array's elements
}

// A task is a unit that runs: a job, or an element of an array.
type task struct {
	Index   int   // -1: no element
	A       attrs // beside the job's own, or in their place
	Pid     int   `json:",omitempty"`
	Slot    []int `json:",omitempty"` // of each chunk, on its node
	Deleter string
	Cause   string         // why the server ends it: walltime, mem, delete, rerun
	Lost    int            // the run whose node was lost
	sent    syscall.Signal // the last signal to its run, unless an earlier server sent it
}

// runKeys are the attributes that a run gives a task.
var runKeys = []string{
	"exec_host", "exec_vnode", "stime", "obittime", "session_id", "jobdir", "Stageout_status", "Exit_status",
	"resources_used.cpupercent", "resources_used.cput", "resources_used.mem", "resources_used.ncpus", "resources_used.vmem", "resources_used.walltime",
}

// clear forgets a run, save when it ended.
func (t *task) clear() {
	for _, k := range runKeys {
		if k != "obittime" {
			delete(t.A, k)
		}
	}
}

func (t *task) state() string { return t.A["job_state"] }

func (t *task) over() bool { return t.state() == "F" || t.state() == "X" }

// id is how the server prints a job.
func (j *job) id() string {
	if j.Array {
		return fmt.Sprintf("%d[]", j.Seq)
	}
	return strconv.Itoa(j.Seq)
}

func (j *job) taskID(t *task) string {
	if t == nil || t.Index < 0 {
		return j.id()
	}
	return fmt.Sprintf("%d[%d]", j.Seq, t.Index)
}

// full is an id with the server's name.
func (s *Server) full(id string) string { return id + "." + s.host }

func (j *job) state() string {
	if j.Array {
		return j.A["job_state"]
	}
	return j.Tasks[0].state()
}

func (j *job) ended() bool { return j.state() == "F" }

// home are the attributes that have the state of a job or an array.
func (j *job) home() attrs {
	if j.Array {
		return j.A
	}
	return j.Tasks[0].A
}

func (j *job) owner() string {
	name, _, _ := strings.Cut(j.A["Job_Owner"], "@")
	return name
}

func (j *job) replace(t *task) {
	for i, old := range j.Tasks {
		if old.Index == t.Index {
			j.Tasks[i] = t
		}
	}
}

func (j *job) count(state string) (n int) {
	for _, t := range j.Tasks {
		if t.state() == state {
			n++
		}
	}
	return n
}

func (s *Server) add(j *job) {
	if old := s.bySeq[j.Seq]; old != nil {
		s.jobs[slices.Index(s.jobs, old)] = j
	} else {
		s.jobs = append(s.jobs, j)
	}
	s.bySeq[j.Seq] = j
	s.next = max(s.next, j.Seq+1)
}

func (s *Server) forget(j *job) {
	s.jobs = slices.DeleteFunc(slices.Clone(s.jobs), func(o *job) bool { return o == j })
	delete(s.bySeq, j.Seq)
	s.record(entry{Forget: j.Seq})
}

// purge forgets the history that is too old, or all of it where it is off.
func (s *Server) purge() {
	keep := time.Duration(-1)
	if s.server["job_history_enable"] == "True" {
		d, ok := seconds(s.server["job_history_duration"])
		if !ok {
			d = 14 * 24 * 3600
		}
		keep = time.Duration(d) * time.Second
	}
	for _, j := range s.jobs {
		if j.ended() && s.now().Unix()-int64(j.home().num("history_timestamp")) > int64(keep/time.Second) {
			s.forget(j)
		}
	}
}

// Errors of the server, whose exit code is the number modulo 256.
const (
	unknownJob   = 15001
	unauthorized = 15007
	badValue     = 15014
	running      = 15015
	unknownQueue = 15018
	badState     = 15016
	finished     = 15139
)

var errorText = map[int]string{
	unknownJob: "Unknown Job Id", unauthorized: "Unauthorized Request ", running: "Cannot modify attribute while job running ",
	badState: "Request invalid for state of job", finished: "Job has finished", badValue: "Illegal attribute or resource value",
}

// refuse prints the server's message about a job.
func (c *call) refuse(e int, id string) {
	c.fail(e%256, errorText[e]+" "+id)
}

// An ident is a job's identifier, taken apart.
type ident struct {
	seq     int
	array   bool
	element string // "3", "1-7:2,9"; "" = all
}

// parseID reads 12, 12.pbs1, 12[], 12[3] and 12[1-5:2].pbs1.
func parseID(text string) (id ident, ok bool) {
	text, _, _ = strings.Cut(text, "@")
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	id.seq, _ = strconv.Atoi(text[:digits])
	rest := text[digits:]
	if digits == 0 {
		return id, false
	}
	if strings.HasPrefix(rest, "[") {
		inside, after, found := strings.Cut(rest[1:], "]")
		if !found || strings.Trim(inside, "0123456789-:,") != "" {
			return id, false
		}
		id.array, id.element, rest = true, inside, after
	}
	return id, rest == "" || strings.HasPrefix(rest, ".")
}

func (id ident) String() string {
	if !id.array {
		return strconv.Itoa(id.seq)
	}
	return fmt.Sprintf("%d[%s]", id.seq, id.element)
}

// named are the tasks of an identifier, none of a job that the server does not
// know.
func (s *Server) named(id ident) (*job, []*task) {
	j := s.bySeq[id.seq]
	if j == nil || j.Array != id.array {
		return nil, nil
	}
	if id.element == "" {
		return j, j.Tasks
	}
	list, _ := indices(id.element)
	var tasks []*task
	for _, t := range j.Tasks {
		if slices.Contains(list, t.Index) {
			tasks = append(tasks, t)
		}
	}
	return j, tasks
}

// indices reads "0-9", "0-19:2" and "1,3,5-7".
func indices(text string) (list []int, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(part, ":")
		from, to, ranged := strings.Cut(span, "-")
		a, err := strconv.Atoi(from)
		b, by := a, 1
		if err == nil && ranged {
			b, err = strconv.Atoi(to)
		}
		if err == nil && stepped {
			by, err = strconv.Atoi(step)
		}
		if err != nil || a < 0 || b < a || by < 1 {
			return nil, false
		}
		for i := a; i <= b; i += by {
			list = append(list, i)
		}
	}
	return list, true
}

// spans writes indices as PBS does: "6-9", "0-8:2", "-" for none.
func spans(list []int, step int) string {
	var parts []string
	for i := 0; i < len(list); {
		k := i
		for k+1 < len(list) && list[k+1] == list[k]+step {
			k++
		}
		switch {
		case k == i:
			parts = append(parts, strconv.Itoa(list[i]))
		case step > 1:
			parts = append(parts, fmt.Sprintf("%d-%d:%d", list[i], list[k], step))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", list[i], list[k]))
		}
		i = k + 1
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ",")
}

// refresh counts an array's elements.
func (j *job) refresh() {
	if !j.Array {
		return
	}
	var waiting []int
	for _, t := range j.Tasks {
		if t.state() == "Q" {
			waiting = append(waiting, t.Index)
		}
	}
	step := 1
	if _, text, ok := strings.Cut(j.A["array_indices_submitted"], ":"); ok {
		step, _ = strconv.Atoi(text)
	}
	j.A["array_indices_remaining"] = spans(waiting, max(step, 1))
	if len(waiting) == len(j.Tasks) {
		j.A["array_indices_remaining"] = j.A["array_indices_submitted"]
	}
	j.A["array_state_count"] = fmt.Sprintf("Queued:%d Running:%d Exiting:%d Expired:%d", j.count("Q"), j.count("R"), j.count("E"), j.count("X"))
}

// inherited are the attributes of an array that its started elements do not have.
var inherited = []string{
	"Checkpoint", "depend", "Hold_Types", "Submit_arguments", "array", "array_state_count", "array_indices_submitted", "array_indices_remaining",
	"max_run_subjobs", "stime", "obittime", "comment", "mtime", "Stageout_status", "Exit_status", "history_timestamp", "run_count",
}

// view is qstat's view of a job, or of one of its elements.
func (s *Server) view(j *job, t *task) (attrs, []string) {
	a := maps.Clone(j.A)
	if t == nil {
		return a, j.Vars
	}
	if t.Index >= 0 && t.A["stime"] == "" {
		return s.queuedElement(j, t, a), j.Vars
	}
	if t.Index >= 0 {
		for _, name := range inherited {
			delete(a, name)
		}
		maps.DeleteFunc(a, func(name, _ string) bool { return strings.HasPrefix(name, "estimated.") })
		for _, name := range []string{"Error_Path", "Output_Path"} {
			a[name] = strings.ReplaceAll(a[name], "^array_index^", strconv.Itoa(t.Index))
		}
		a["array_id"], a["array_index"] = s.full(j.id()), strconv.Itoa(t.Index)
	}
	maps.Copy(a, t.A)
	if t.state() == "R" && t.Pid != 0 {
		s.mom().usage(j, t, a)
	}
	return a, j.Vars
}

// queuedElement is an element that never started: its array's attributes, up to
// Submit_arguments, and the state Q. So PBS shows them, Exit_status included.
func (s *Server) queuedElement(j *job, t *task, a attrs) attrs {
	for _, name := range []string{"array", "array_state_count", "array_indices_submitted", "array_indices_remaining", "max_run_subjobs", "project", "Submit_Host", "history_timestamp"} {
		delete(a, name)
	}
	maps.DeleteFunc(a, func(name, _ string) bool { return strings.HasPrefix(name, "estimated.") })
	a["job_state"] = t.state()
	switch t.state() {
	case "Q":
		a["substate"] = "10"
	case "X":
		a["comment"] = "Subjob finished"
	case "F":
		a["substate"], a["comment"] = t.A["substate"], "Subjob finished"
	}
	return a
}

package pbssim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An asked is a job or an element that qstat shows.
type asked struct {
	j *job
	t *task // nil: an array
}

// asking are the options of a qstat.
type asking struct {
	flags              map[byte]bool
	format, sep, users string
	list               []asked
	first              int // how many of list the first operand gave
}

const qstatLetters = "fJptxaiHTrsn1GMwu:F:D:QBEL"

// A listing is a call of qstat.
type listing struct{ *call }

func (c listing) qstat() {
	opts, rest, bad := getopt(c.Args, qstatLetters)
	if bad != nil {
		c.fail(2, bad[0])
		return
	}
	q := asking{flags: map[byte]bool{}, sep: "|"}
	for _, o := range opts {
		q.flags[o.letter] = true
		switch o.letter {
		case 'F':
			q.format = o.value
		case 'D':
			q.sep = o.value
		case 'u':
			q.users = o.value
		}
	}
	switch {
	case q.flags['B']:
		c.qstatServer(q)
	case q.flags['Q']:
		c.qstatQueues(q, rest)
	default:
		c.qstatJobs(q, rest)
	}
}

func (c listing) qstatJobs(q asking, rest []string) {
	if len(rest) == 0 {
		for _, j := range c.jobs {
			if c.shown(q, j) {
				c.include(&q, j, nil, q.flags['t'])
			}
		}
	}
	for _, name := range rest {
		c.operand(&q, name)
		if q.first == 0 {
			q.first = len(q.list)
		}
	}
	long := q.flags['a'] || q.flags['s'] || q.flags['n'] || q.flags['H'] || q.flags['T'] || q.flags['i'] || q.flags['r'] || q.users != ""
	switch {
	case q.flags['f'] && q.format == "json":
		// Of several operands OpenPBS shows in JSON only the first that it knows.
		if q.first > 0 {
			q.list = q.list[:q.first]
		}
		var list []object
		for _, a := range q.list {
			list = append(list, c.object(a))
		}
		c.out.WriteString(c.asJSON("Jobs", list))
	case q.flags['f']:
		for _, a := range q.list {
			if q.format == "dsv" {
				c.out.WriteString(asDSV("Job Id: ", c.object(a), q.sep))
			} else {
				c.out.WriteString(asText("Job Id: ", c.object(a), q.flags['w']))
			}
		}
	case long:
		c.alternate(q)
	default:
		c.columns(q)
	}
}

func (c listing) object(a asked) object {
	v, vars := c.view(a.j, a.t)
	id := a.j.id()
	if a.t != nil {
		id = a.j.taskID(a.t)
	}
	return object{name: c.full(id), fields: fields(v, vars, jobOrder, c.zone())}
}

// shown reports whether a list has a job.
func (c listing) shown(q asking, j *job) bool {
	switch {
	case q.users != "" && !slices.Contains(strings.Split(q.users, ","), j.owner()):
		return false
	case q.flags['H']:
		return j.ended()
	case q.flags['r']:
		return j.state() == "R" || j.state() == "B" || j.state() == "E"
	case q.flags['i']:
		return slices.Contains([]string{"Q", "H", "W"}, j.state())
	case q.flags['J'] && !j.Array:
		return false
	}
	return q.flags['x'] || !j.ended()
}

// include adds a job, and its elements where they are asked for.
func (c listing) include(q *asking, j *job, t *task, elements bool) {
	if !j.Array {
		t = j.Tasks[0]
	}
	q.list = append(q.list, asked{j, t})
	if t == nil && elements {
		for _, t := range j.Tasks {
			q.list = append(q.list, asked{j, t})
		}
	}
}

// operand is one job, or a queue, that qstat was given.
func (c listing) operand(q *asking, name string) {
	if name != "" && (name[0] < '0' || name[0] > '9') {
		at, _, _ := strings.Cut(name, "@")
		if at != "" && c.queue(at) == nil {
			c.fail(unknownQueue%256, "Unknown queue destination "+at)
			return
		}
		for _, j := range c.jobs {
			if (at == "" || j.A["queue"] == at) && c.shown(*q, j) {
				c.include(q, j, nil, q.flags['t'])
			}
		}
		return
	}
	id, ok := parseID(name)
	if !ok {
		c.fail(1, "illegally formed job identifier: "+name)
		return
	}
	j, tasks := c.named(id)
	switch {
	case tasks == nil:
		c.refuse(unknownJob, c.full(id.String()))
	case j.ended() && !q.flags['x'] && !q.flags['H']:
		c.fail(finished%256, c.full(id.String())+" Job has finished, use -x or -H to obtain historical job information")
	case id.element == "":
		c.include(q, j, nil, q.flags['t'])
	default:
		for _, t := range tasks {
			c.include(q, j, t, false)
		}
	}
}

// cut shortens a text to a column, with a star for the rest.
func cut(v string, n int) string {
	if len(v) <= n {
		return v
	}
	return v[:n-1] + "*"
}

func (c listing) columns(q asking) {
	if len(q.list) == 0 {
		return
	}
	c.out.WriteString("Job id            Name             User              Time Use S Queue\n" +
		"----------------  ---------------- ----------------  -------- - -----\n")
	for _, a := range q.list {
		v, _ := c.view(a.j, a.t)
		id := a.j.id()
		if a.t != nil {
			id = a.j.taskID(a.t)
		}
		used := v["resources_used.cput"]
		if used == "" {
			used = "0"
		}
		fmt.Fprintf(&c.out, "%-17s %-16s %-16s  %8s %s %-16s\n", cut(c.full(id), 17), cut(v["Job_Name"], 16), cut(a.j.owner(), 16), used, v["job_state"], cut(v["queue"], 16))
	}
}

// hhmm is a time without its seconds.
func hhmm(v string) string {
	if n, ok := seconds(v); ok {
		return fmt.Sprintf("%02d:%02d", n/3600, n/60%60)
	}
	return "-- "
}

func or(v, other string) string {
	if v == "" {
		return other
	}
	return v
}

// alternate is the form of -a, -s, -n, -H, -T and -u.
func (c listing) alternate(q asking) {
	if len(q.list) == 0 {
		return
	}
	widths := []int{15, 8, 8, 10, 6, 3, 3, 6}
	c.out.WriteString("\n" + c.host + ": \n")
	switch {
	case q.flags['w']:
		widths = []int{30, 15, 15, 15, 8, 4, 5, 6}
		c.out.WriteString(strings.Repeat(" ", 99) + "Req'd  Req'd   Elap\n" +
			"Job ID                         Username        Queue           Jobname         SessID   NDS  TSK   Memory Time  S Time\n" +
			"------------------------------ --------------- --------------- --------------- -------- ---- ----- ------ ----- - -----\n")
	case q.flags['T']:
		c.out.WriteString(strings.Repeat(" ", 75) + "Est\n" + strings.Repeat(" ", 60) + "Req'd  Req'd   Start\n")
		slices.SortStableFunc(q.list, func(a, b asked) int { return cmp.Compare(place(a), place(b)) })
	default:
		c.out.WriteString(strings.Repeat(" ", 60) + "Req'd  Req'd   Elap\n")
	}
	if !q.flags['w'] {
		c.out.WriteString("Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n" +
			"--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n")
	}
	for _, a := range q.list {
		c.alternateRow(q, a, widths)
	}
}

// place is where -T sorts a job: started ones first, then by the estimate.
func place(a asked) int {
	switch at := a.j.A.num("estimated.start_time"); {
	case slices.Contains([]string{"R", "B", "E"}, a.j.state()):
		return 0
	case at != 0:
		return at
	}
	return math.MaxInt
}

// starts is when a job is expected to start, as -T shows it.
func (c listing) starts(a attrs) string {
	at := time.Unix(int64(a.num("estimated.start_time")), 0).In(c.zone())
	switch now := c.now(); {
	case a["estimated.start_time"] == "":
		return "--"
	case at.After(now.AddDate(5, 0, 0)):
		return ">5yrs"
	}
	return fmt.Sprintf("%02d:%02d", at.Hour(), at.Minute())
}

func (c listing) alternateRow(q asking, a asked, w []int) {
	v, _ := c.view(a.j, a.t)
	id := a.j.id()
	if a.t != nil {
		id = a.j.taskID(a.t)
	}
	elapsed := "-- "
	if u := v["resources_used.walltime"]; u != "" {
		elapsed = hhmm(u)
	}
	if q.flags['T'] {
		elapsed = c.starts(v)
	}
	fmt.Fprintf(&c.out, "%-*s %-*s %-*s %-*s %*s %*s %*s %*s %5s %s %5s", w[0], cut(c.full(id), w[0]), w[1], cut(a.j.owner(), w[1]), w[2], cut(v["queue"], w[2]),
		w[3], cut(v["Job_Name"], w[3]), w[4], or(v["session_id"], "-- "), w[5], or(v["Resource_List.nodect"], "--"), w[6], or(v["Resource_List.ncpus"], "--"),
		w[7], or(v["Resource_List.mem"], "-- "), hhmm(v["Resource_List.walltime"]), v["job_state"], elapsed)
	if q.flags['s'] {
		comment := or(v["comment"], " -- ")
		if q.flags['1'] || q.flags['w'] {
			c.out.WriteString("    " + comment)
		} else {
			c.out.WriteString("\n   " + comment)
		}
	}
	c.out.WriteString("\n")
}

// counts is state_count, of all jobs or of a queue.
func (c listing) counts(queue string) (text string, total int, by map[string]int) {
	by = map[string]int{}
	for _, j := range c.jobs {
		if queue != "" && j.A["queue"] != queue {
			continue
		}
		if queue == "" || !j.ended() {
			total++
		}
		by[j.state()]++
	}
	return fmt.Sprintf("Transit:%d Queued:%d Held:%d Waiting:%d Running:%d Exiting:%d Begun:%d ", 0, by["Q"], by["H"], by["W"], by["R"], by["E"], by["B"]), total, by
}

// assigned adds the resources of running jobs, of those that jobs ever used, in
// a queue or "".
func (c listing) assigned(queue string, a attrs) {
	sum := map[string]int{}
	for _, j := range c.jobs {
		if queue != "" && j.A["queue"] != queue {
			continue
		}
		for _, t := range j.Tasks {
			if t.A["stime"] == "" {
				continue
			}
			for _, r := range []string{"ncpus", "nodect", "mem"} {
				if v := j.A["Resource_List."+r]; v != "" {
					n := 0
					if t.state() == "R" || t.state() == "E" {
						n = c.amount(r, v)
					}
					sum[r] += n
				}
			}
		}
	}
	for r, n := range sum {
		text := strconv.Itoa(n)
		if r == "mem" {
			text = strconv.Itoa(n/1024) + "mb"
		}
		a["resources_assigned."+r] = text
	}
}

func (c listing) qstatServer(q asking) {
	a := attrs{}
	for k, v := range c.server {
		a[k] = v
	}
	text, total, by := c.counts("")
	if !q.flags['f'] {
		fmt.Fprintf(&c.out, "Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n"+
			"---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n")
		fmt.Fprintf(&c.out, "%-16s %5d %5d %5d %5d %5d %5d %5d %5d %-10s\n", c.host, 0, total, by["Q"], by["R"], by["H"], by["W"], 0, by["E"], "Active")
		return
	}
	a["server_state"], a["server_host"], a["pbs_version"] = "Active", c.host, c.version
	a["total_jobs"], a["state_count"] = strconv.Itoa(total), text
	a["license_count"] = "Avail_Global:1000000 Avail_Local:1000000 Used:0 High_Use:0"
	c.assigned("", a)
	o := object{name: c.host, fields: fields(a, nil, serverOrder, c.zone())}
	if q.format == "json" {
		c.out.WriteString(c.asJSON("Server", []object{o}))
		return
	}
	c.out.WriteString(asText("Server: ", o, q.flags['w']))
}

func (c listing) qstatQueues(q asking, rest []string) {
	var list []*queue
	if len(rest) == 0 {
		list = c.queues
	}
	for _, name := range rest {
		if one := c.queue(name); one != nil {
			list = append(list, one)
		} else {
			c.fail(unknownQueue%256, "Unknown queue "+name)
		}
	}
	var objects []object
	for _, one := range list {
		a := attrs{}
		for k, v := range one.a {
			a[k] = v
		}
		text, total, by := c.counts(one.name)
		if !q.flags['f'] {
			if len(objects) == 0 {
				c.out.WriteString("Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n" +
					"---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n")
			}
			yes := map[bool]string{true: "yes", false: "no"}
			fmt.Fprintf(&c.out, "%-16s %5d %5d %3s %3s %5d %5d %5d %5d %5d %5d %s\n", cut(one.name, 16), 0, total, yes[a["enabled"] == "True"], yes[a["started"] == "True"],
				by["Q"], by["R"], by["H"], by["W"], 0, by["E"], cut(a["queue_type"], 4))
		}
		a["total_jobs"], a["state_count"] = strconv.Itoa(total), text
		if a["queue_type"] == "Execution" {
			c.assigned(one.name, a)
		}
		objects = append(objects, object{name: one.name, fields: fields(a, nil, queueOrder, c.zone())})
	}
	switch {
	case !q.flags['f']:
	case q.format == "json":
		c.out.WriteString(c.asJSON("Queue", objects))
	default:
		for _, o := range objects {
			c.out.WriteString(asText("Queue: ", o, q.flags['w']))
		}
	}
}

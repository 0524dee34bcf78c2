package pbssim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A node is a machine that runs jobs.
type node struct {
	name string
	a    attrs
	down bool
}

// A scheduler is the part of the server that chooses jobs and nodes.
type scheduler struct{ *Server }

func (s *Server) scheduler() scheduler { return scheduler{s} }

func (s scheduler) node(name string) *node {
	for _, n := range s.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

func (n *node) free() bool { return !n.down && n.a["offline"] == "" }

// A share is a chunk on a node.
type share struct {
	node *node
	want [][2]string
}

// shares reads exec_vnode.
func (s scheduler) shares(vnode string) (list []share) {
	for part := range strings.SplitSeq(vnode, "+") {
		words := strings.Split(strings.Trim(part, "()"), ":")
		sh := share{node: s.node(words[0])}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			sh.want = append(sh.want, [2]string{k, v})
		}
		if sh.node != nil {
			list = append(list, sh)
		}
	}
	return list
}

// active calls f for each task that has nodes.
func (s scheduler) active(f func(*job, *task)) {
	for _, j := range s.jobs {
		if j.ended() {
			continue
		}
		for _, t := range j.Tasks {
			if t.state() == "R" || t.state() == "E" {
				f(j, t)
			}
		}
	}
}

// used is the use of nodes by running tasks: "node.resource".
func (s scheduler) used() map[string]int {
	sum := map[string]int{}
	s.active(func(_ *job, t *task) {
		for _, sh := range s.shares(t.A["exec_vnode"]) {
			for _, w := range sh.want {
				sum[sh.node.name+"."+w[0]] += s.amount(w[0], w[1])
			}
		}
	})
	return sum
}

// schedule starts the jobs that can start, and sets the reason of the others.
func (s scheduler) schedule() {
	if s.closed {
		return
	}
	for _, j := range s.jobs {
		if !j.ended() {
			s.settle(j)
		}
	}
	if s.unscheduled || s.server["scheduling"] == "False" {
		return
	}
	order := slices.Clone(s.jobs)
	slices.SortStableFunc(order, func(a, b *job) int {
		return cmp.Or(cmp.Compare(s.priority(b), s.priority(a)), cmp.Compare(b.A.num("Priority"), a.A.num("Priority")))
	})
	used := s.used()
	for _, j := range order {
		if st := j.state(); st != "Q" && st != "B" {
			if st == "W" {
				s.wake(j)
			}
			continue
		}
		s.try(j, used)
	}
}

func (s scheduler) priority(j *job) int {
	if q := s.queue(j.A["queue"]); q != nil {
		return q.a.num("Priority")
	}
	return 0
}

// wake schedules again when a job's time has come.
func (s scheduler) wake(j *job) {
	if at := j.A.num("Execution_Time"); at != 0 {
		s.later(time.Until(time.Unix(int64(at), 0))+10*time.Millisecond, s.schedule)
	}
}

// try starts as much of a job as can start now.
func (s scheduler) try(j *job, used map[string]int) {
	for _, t := range j.Tasks {
		if t.state() != "Q" {
			continue
		}
		if limit := j.A.num("max_run_subjobs"); limit > 0 && j.Array && j.count("R")+j.count("E") >= limit {
			return
		}
		why, place := s.fit(j, used)
		if why != "" {
			if j.state() == "Q" && j.A["comment"] != why {
				j.A["comment"] = why
				s.keep(j)
			}
			return
		}
		s.run(j, t, place, used)
	}
}

// fit finds nodes for a task of a job, or why there are none.
func (s scheduler) fit(j *job, used map[string]int) (why string, place []share) {
	q := s.queue(j.A["queue"])
	if q == nil || q.a["started"] != "True" {
		return "Not Running: Queue not started.", nil
	}
	if most, ok := userLimit(q.a["max_run"]); ok {
		n := 0
		s.active(func(o *job, _ *task) {
			if o.A["queue"] == q.name && o.owner() == j.owner() {
				n++
			}
		})
		if n >= most {
			return "Not Running: User has reached queue " + q.name + " running job limit.", nil
		}
	}
	chunks, _, _ := s.parseSelect(j.A["Resource_List.select"])
	if why := s.tooMuch(chunks, used); why != "" {
		return why, nil
	}
	took := map[string]int{}
	separate := strings.Contains(j.A["Resource_List.place"], "scatter") || strings.Contains(j.A["Resource_List.place"], "excl")
	for _, c := range chunks {
		for range c.n {
			n := s.nodeFor(c, used, took, separate)
			if n == nil {
				return "Not Running: Not enough free nodes available", nil
			}
			for _, w := range c.want {
				took[n.name+"."+w[0]] += s.amount(w[0], w[1])
			}
			took[n.name]++
			place = append(place, share{n, c.want})
		}
	}
	return "", place
}

// tooMuch is the message about the first resource that all nodes together lack.
func (s scheduler) tooMuch(chunks []chunk, used map[string]int) string {
	var names []string
	want := map[string]int{}
	for _, c := range chunks {
		for _, w := range c.want {
			if !s.counted(w[0]) {
				continue
			}
			if want[w[0]] == 0 {
				names = append(names, w[0])
			}
			want[w[0]] += c.n * s.amount(w[0], w[1])
		}
	}
	for _, name := range names {
		total, avail := 0, 0
		for _, n := range s.nodes {
			has := s.amount(name, n.a["resources_available."+name])
			total += has
			if n.free() {
				avail += has - used[n.name+"."+name]
			}
		}
		switch r := want[name]; {
		case r > total:
			return fmt.Sprintf("Can Never Run: Insufficient amount of resource: %s (R: %s A: %s T: %s)", name, s.show(name, r), s.show(name, total), s.show(name, total))
		case !slices.ContainsFunc(s.nodes, (*node).free):
			return "Not Running: Not enough free nodes available"
		case r > avail:
			return fmt.Sprintf("Not Running: Insufficient amount of resource: %s (R: %s A: %s T: %s)", name, s.show(name, r), s.show(name, avail), s.show(name, total))
		}
	}
	return ""
}

// counted reports whether jobs use a resource of nodes up.
func (s resourceTypes) counted(name string) bool {
	k := s.kind(name)
	return (k == "long" || k == "size") && name != "mpiprocs" && name != "ompthreads" && name != "nodect"
}

func (s resourceTypes) show(name string, n int) string {
	if s.kind(name) == "size" {
		return strconv.Itoa(n) + "kb"
	}
	return strconv.Itoa(n)
}

func (s scheduler) nodeFor(c chunk, used, took map[string]int, separate bool) *node {
	for _, n := range s.nodes {
		if !n.free() || separate && took[n.name] > 0 {
			continue
		}
		ok := true
		for _, w := range c.want {
			full := n.name + "." + w[0]
			switch {
			case s.counted(w[0]):
				ok = ok && used[full]+took[full]+s.amount(w[0], w[1]) <= s.amount(w[0], n.a["resources_available."+w[0]])
			case w[0] == "host" || w[0] == "vnode":
				ok = ok && n.name == w[1]
			case w[0] == "mpiprocs" || w[0] == "ompthreads":
			default:
				ok = ok && slices.Contains(strings.Split(n.a["resources_available."+w[0]], ","), w[1])
			}
		}
		if ok {
			return n
		}
	}
	return nil
}

// run starts a task on nodes.
func (s scheduler) run(j *job, t *task, place []share, used map[string]int) {
	slots := map[string]map[int]bool{}
	s.active(func(_ *job, o *task) {
		for i, sh := range s.shares(o.A["exec_vnode"]) {
			if slots[sh.node.name] == nil {
				slots[sh.node.name] = map[int]bool{}
			}
			if i < len(o.Slot) {
				slots[sh.node.name][o.Slot[i]] = true
			}
		}
	})
	var hosts, vnodes []string
	t.Slot = nil
	for _, sh := range place {
		cpus, words := 1, []string{sh.node.name}
		for _, w := range sh.want {
			used[sh.node.name+"."+w[0]] += s.amount(w[0], w[1])
			switch {
			case w[0] == "ncpus":
				cpus = s.amount(w[0], w[1])
				words = append(words, "ncpus="+w[1])
			case s.kind(w[0]) == "size":
				words = append(words, fmt.Sprintf("%s=%dkb", w[0], s.amount(w[0], w[1])))
			case s.counted(w[0]):
				words = append(words, w[0]+"="+w[1])
			}
		}
		n := 0
		for slots[sh.node.name][n] {
			n++
		}
		if slots[sh.node.name] == nil {
			slots[sh.node.name] = map[int]bool{}
		}
		slots[sh.node.name][n] = true
		t.Slot = append(t.Slot, n)
		host := fmt.Sprintf("%s/%d", sh.node.name, n)
		if cpus != 1 {
			host += "*" + strconv.Itoa(cpus)
		}
		hosts, vnodes = append(hosts, host), append(vnodes, "("+strings.Join(words, ":")+")")
		sh.node.a["last_used_time"] = strconv.FormatInt(s.now().Unix(), 10)
	}
	s.begin(j, t, strings.Join(hosts, "+"), strings.Join(vnodes, "+"))
}

// minute is a time as comments have it, in the zone of the server.
func minute(t time.Time) string {
	return t.Format("Mon Jan 02") + fmt.Sprintf(" at %02d:%02d", t.Hour(), t.Minute())
}

// begin is the start of a task on its nodes.
func (s scheduler) begin(j *job, t *task, host, vnode string) {
	now := s.now()
	unix := strconv.FormatInt(now.Unix(), 10)
	t.clear()
	a := t.A
	a["exec_host"], a["exec_vnode"] = host, vnode
	a["job_state"], a["substate"], a["stime"], a["mtime"] = "R", "42", unix, unix
	a["run_count"] = strconv.Itoa(t.A.num("run_count") + 1)
	a["comment"] = "Job run at " + minute(now) + " on " + vnode
	t.Deleter, t.Cause = "", ""
	if j.Array {
		j.A["mtime"] = unix
		if j.A["job_state"] != "B" {
			j.A["job_state"], j.A["substate"], j.A["stime"] = "B", "70", unix
			j.A["comment"] = "Job Array Began at " + minute(now)
		}
		j.refresh()
	}
	if err := s.mom().launch(j, t); err != nil {
		a["comment"] += " and failed: " + err.Error()
		s.mom().ended(j, t, exit{status: 1})
		return
	}
	a["jobdir"] = j.jobdir()
	a["session_id"] = strconv.Itoa(t.Pid)
	s.saveTask(j, t)
}

func (s scheduler) saveTask(j *job, t *task) {
	if t.Index < 0 {
		s.keep(j)
		return
	}
	s.record(entry{Seq: j.Seq, Task: t})
}

// power turns a node off, with its tasks, or on.
func (c *call) power(n *node, up bool) {
	n.down = !up
	n.a["last_state_change_time"] = strconv.FormatInt(c.now().Unix(), 10)
	if up {
		return
	}
	c.scheduler().active(func(j *job, t *task) {
		if !slices.ContainsFunc(c.scheduler().shares(t.A["exec_vnode"]), func(sh share) bool { return sh.node == n }) {
			return
		}
		t.Lost = t.A.num("run_count")
		if t.Pid != 0 {
			killSession(t.Pid, 9)
		}
		c.scheduler().mourn(j, t, c.now())
	})
}

// mourn waits for the node of a task for node_fail_requeue seconds.
func (s scheduler) mourn(j *job, t *task, since time.Time) {
	if s.now().Sub(since) >= time.Duration(s.server.num("node_fail_requeue"))*time.Second {
		s.lost(j, t)
		return
	}
	s.later(50*time.Millisecond, func() { s.mourn(j, t, since) })
}

// lost ends a task whose node did not come back in time.
func (s scheduler) lost(j *job, t *task) {
	if t.over() || t.Lost == 0 || t.Lost != t.A.num("run_count") {
		return
	}
	if j.A["Rerunable"] == "True" {
		s.requeue(j, t)
	} else {
		for _, k := range runKeys {
			if strings.HasPrefix(k, "resources_used.") {
				delete(t.A, k)
			}
		}
		s.mom().closeTask(j, t, "93", "-20")
		delete(t.A, "Stageout_status")
	}
	s.schedule()
}

// requeue puts a task that ran back into the queue.
func (s scheduler) requeue(j *job, t *task) {
	t.Lost, t.Cause = 0, ""
	t.clear()
	t.A["obittime"] = strconv.FormatInt(s.now().Unix(), 10)
	t.Pid = 0
	t.A["job_state"], t.A["substate"] = "Q", "10"
	delete(t.A, "comment")
	j.refresh()
	s.saveTask(j, t)
}

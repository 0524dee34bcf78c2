package pbssim

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// operands calls f for each job that a command was given; for elements with each
// of them. It refuses unknown jobs and those of others.
func (c *call) operands(rest []string, history bool, f func(id string, j *job, tasks []*task)) {
	for _, name := range rest {
		id, ok := parseID(name)
		if !ok {
			c.fail(1, "illegally formed job identifier: "+name)
			continue
		}
		full := c.full(id.String())
		j, tasks := c.named(id)
		switch {
		case len(tasks) == 0:
			c.refuse(unknownJob, full)
		case c.User != j.owner() && c.User != "root":
			c.refuse(unauthorized, full)
		case j.ended() && !history:
			c.refuse(finished, full)
		default:
			f(full, j, tasks)
		}
	}
}

func (c *call) usage(rest []string, bad []string) bool {
	if bad == nil && len(rest) > 0 {
		return true
	}
	for _, b := range bad {
		c.fail(2, b)
	}
	c.err.WriteString("usage: " + c.name + " job_identifier...\n")
	c.rc = 2
	return false
}

func (c *call) qdel() {
	opts, rest, bad := getopt(c.Args, "xW:")
	if !c.usage(rest, bad) {
		return
	}
	_, history := last(opts, 'x')
	force := slices.ContainsFunc(opts, func(o option) bool { return o.letter == 'W' && strings.TrimPrefix(o.value, "=") == "force" })
	c.operands(rest, history, func(id string, j *job, tasks []*task) {
		whole := len(tasks) == len(j.Tasks)
		done := !slices.ContainsFunc(tasks, func(t *task) bool { return !t.over() })
		if done && !history {
			c.refuse(finished, id)
			return
		}
		if len(tasks) == 1 && tasks[0].Index >= 0 && tasks[0].state() == "E" && !force {
			c.refuse(badState, id)
			return
		}
		if j.Array && whole && !j.ended() {
			c.deleteArray(j, force)
		} else {
			for _, t := range tasks {
				c.delete(j, t, force)
			}
		}
		if history && j.ended() {
			c.forget(j)
		}
	})
}

// delete ends a job that runs, and removes one that waits.
func (c *call) delete(j *job, t *task, force bool) {
	switch by := c.User + "@" + c.host; t.state() {
	case "R":
		t.Deleter = by
		if force || t.Lost != 0 {
			c.kill(j, t)
			return
		}
		c.mom().end(j, t, "delete")
	case "F", "X", "E":
	default:
		if t.Index >= 0 {
			t.A["job_state"], t.A["substate"] = "X", "91"
			t.A["history_timestamp"] = strconv.FormatInt(c.now().Unix(), 10)
			c.mom().closeArray(j)
			c.keep(j)
			return
		}
		c.removed(j)
	}
}

// removed ends a job that never ran.
func (c *call) removed(j *job) {
	if j.A["comment"] != "" {
		j.A["comment"] += " and terminated"
	}
	c.finish(j, "91")
}

// kill is a deletion by force: the server no longer waits for the node.
func (c *call) kill(j *job, t *task) {
	if t.Pid != 0 {
		t.signal(syscall.SIGKILL)
	}
	t.Cause, t.Lost = "delete", 0
	c.mom().ended(j, t, exit{killed: true})
}

func (c *call) deleteArray(j *job, force bool) {
	if j.A["stime"] == "" {
		for _, t := range j.Tasks {
			if t.state() == "Q" {
				t.A["job_state"], t.A["substate"] = "X", "91"
			}
		}
		j.refresh()
		j.A["comment"] = "Subjob finished"
		c.removed(j)
		return
	}
	// Of elements that do not run the server forgets all, also how they had ended.
	j.A["deleter"] = c.User + "@" + c.host
	for _, t := range j.Tasks {
		if t.state() != "R" && t.state() != "E" {
			t.A = attrs{"job_state": "X", "substate": "91"}
		}
	}
	for _, t := range slices.Clone(j.Tasks) {
		c.delete(j, t, force)
	}
	if !j.ended() && j.waitingOrRunning() == 0 {
		c.mom().closeArray(j)
	}
}

func (c *call) qhold() { c.holds(true) }

func (c *call) qrls() { c.holds(false) }

func (c *call) holds(on bool) {
	opts, rest, bad := getopt(c.Args, "h:")
	if !c.usage(rest, bad) {
		return
	}
	kinds, ok := last(opts, 'h')
	if !ok {
		kinds = "u"
	}
	c.operands(rest, false, func(id string, j *job, _ []*task) {
		for _, k := range []string{"u", "o", "s"} {
			if !strings.Contains(kinds, k) {
				continue
			}
			if k != "u" && c.User != "root" {
				c.refuse(unauthorized, id)
				return
			}
			c.hold(j, k, on)
		}
		now, was := c.now(), j.state()
		j.A["mtime"] = strconv.FormatInt(now.Unix(), 10)
		switch begun := j.Array && j.A["stime"] != ""; {
		case j.state() == "R", j.state() == "B" && !on:
			c.keep(j)
			return
		case begun && on: // its running elements run on, and no other starts. Seen on 23.06
			j.A["job_state"] = "H"
		case begun && j.A["Hold_Types"] == "n":
			j.A["job_state"], j.A["substate"] = "B", "70"
		}
		delete(j.A, "comment")
		if on {
			j.A["comment"] = "Job held by " + c.User + " on " + now.Format(time.ANSIC)
		}
		c.settle(j)
		if j.state() != was { // else a server that is killed forgets it. Seen on 23.06
			c.keep(j)
		}
	})
}

func (c *call) qalter() {
	opts, rest, bad := getopt(c.Args, "a:A:c:e:h:j:k:l:m:M:N:o:p:P:r:S:u:W:")
	if !c.usage(rest, bad) {
		return
	}
	c.operands(rest, false, func(id string, j *job, _ []*task) {
		u := &submission{call: c, job: &job{A: attrs{}, Array: j.Array}}
		u.opts = slices.DeleteFunc(slices.Clone(opts), func(o option) bool { return o.letter == 'l' || o.letter == 'h' })
		for _, o := range u.opts {
			u.option(o)
		}
		changed := u.job.A
		if selected := slices.ContainsFunc(opts, func(o option) bool { return o.letter == 'l' }); selected && !u.failed {
			u.opts = opts
			u.resources()
			if (j.state() == "R" || j.state() == "B") && !c.growable(opts, id) {
				return
			}
		}
		if u.failed {
			return
		}
		if u.depend != nil && (j.state() == "R" || j.state() == "B") {
			c.fail(running%256, errorText[running]+" depend "+id)
			return
		}
		c.alter(j, opts, changed, u.depend)
	})
}

// growable reports whether -l changes only the values that can change in a
// running job: its times, for a manager.
func (c *call) growable(opts []option, id string) bool {
	for _, o := range opts {
		if o.letter != 'l' {
			continue
		}
		list, _ := pairs(o.value)
		for _, p := range list {
			switch times := p[0] == "walltime" || p[0] == "cput"; {
			case times && c.User != "root":
				c.refuse(unauthorized, id)
				return false
			case !times:
				c.fail(running%256, errorText[running]+" Resource_List."+p[0]+" "+id)
				return false
			}
		}
	}
	return true
}

// alter sets the named options, and nothing that they imply.
func (c *call) alter(j *job, opts []option, changed attrs, deps []dependency) {
	selects := slices.ContainsFunc(opts, func(o option) bool {
		list, _ := pairs(o.value)
		return o.letter == 'l' && slices.ContainsFunc(list, func(p [2]string) bool { return p[0] != "walltime" && p[0] != "place" })
	})
	for k, v := range changed {
		if name, ok := strings.CutPrefix(k, "Resource_List."); ok && name != "walltime" && !selects {
			continue
		}
		if k == "Output_Path" || k == "Error_Path" {
			if !strings.HasPrefix(v, "/") {
				v = c.Cwd + "/" + v
			}
			v = c.host + ":" + v
		}
		j.A[k] = v
	}
	if kinds, ok := last(opts, 'h'); ok {
		c.hold(j, "u", strings.Contains(kinds, "u"))
	}
	if deps != nil {
		c.bind(j, deps)
	}
	j.A["mtime"] = strconv.FormatInt(c.now().Unix(), 10)
	c.settle(j)
	c.keep(j)
}

// qrerun puts running jobs back; only a manager may.
func (c *call) qrerun() {
	_, rest, bad := getopt(c.Args, "W:")
	if !c.usage(rest, bad) {
		return
	}
	c.operands(rest, false, func(id string, j *job, tasks []*task) {
		switch {
		case c.User != "root":
			c.refuse(unauthorized, id)
		case j.A["Rerunable"] != "True":
			c.fail(166, "Job not rerunnable "+id)
		case !slices.ContainsFunc(tasks, func(t *task) bool { return t.state() == "R" }):
			c.refuse(badState, id)
		default:
			for _, t := range tasks {
				if t.state() == "R" {
					c.mom().end(j, t, "rerun")
					t.signal(syscall.SIGKILL)
				}
			}
		}
	})
}

var signals = map[string]syscall.Signal{
	"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
	"STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
}

func (c *call) qsig() {
	opts, rest, bad := getopt(c.Args, "s:")
	if !c.usage(rest, bad) {
		return
	}
	name, _ := last(opts, 's')
	n, err := strconv.Atoi(name)
	sig := syscall.Signal(n)
	if err != nil {
		sig = signals[strings.TrimPrefix(or(name, "SIGTERM"), "SIG")]
	}
	c.operands(rest, false, func(id string, j *job, tasks []*task) {
		for _, t := range tasks {
			if t.state() != "R" {
				c.refuse(badState, id)
				return
			}
			t.signal(sig)
		}
	})
}

func (c *call) qselect() {
	opts, _, bad := getopt(c.Args, "a:A:c:h:HJl:N:p:P:q:r:s:t:Tu:xz")
	if bad != nil {
		c.fail(2, bad[0])
		return
	}
	want := map[byte]string{}
	for _, o := range opts {
		want[o.letter] = o.value + "\x00"
	}
	is := func(letter byte, v string) bool { return want[letter] == "" || want[letter] == v+"\x00" }
	_, history := want['x']
	_, only := want['H']
	_, elements := want['T']
	for _, j := range c.jobs {
		users := strings.Split(strings.TrimSuffix(want['u'], "\x00"), ",")
		queue, _, _ := strings.Cut(strings.TrimSuffix(want['q'], "\x00"), "@")
		switch {
		case j.ended() && !history && !only, !j.ended() && only:
		case !is('N', j.A["Job_Name"]), !is('A', j.A["Account_Name"]), !is('P', j.A["project"]):
		case queue != "" && queue != j.A["queue"]:
		case want['u'] != "" && !slices.Contains(users, j.owner()):
		default:
			if want['s'] == "" || strings.Contains(want['s'], j.state()) {
				c.out.WriteString(c.full(j.id()) + "\n")
			}
			for _, t := range j.Tasks {
				if elements && t.Index >= 0 && (want['s'] == "" || strings.Contains(want['s'], t.state())) {
					c.out.WriteString(c.full(j.taskID(t)) + "\n")
				}
			}
		}
	}
}

// clientUser is who runs a command.
func clientUser() string {
	if u := os.Getenv("PBSSIM_USER"); u != "" {
		return u
	}
	if os.Geteuid() == 0 {
		return "root"
	}
	return or(os.Getenv("USER"), strconv.Itoa(os.Geteuid()))
}

package pbssim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A queue is a queue.
type queue struct {
	name string
	a    attrs
}

func (s *Server) queue(name string) *queue {
	for _, q := range s.queues {
		if q.name == name {
			return q
		}
	}
	return nil
}

// serverOrder is the order in which qstat -Bf and qmgr show attributes.
var serverOrder = []string{
	"server_state", "server_host", "scheduling", "total_jobs", "state_count", "acl_roots", "default_queue", "log_events", "mailer", "mail_from", "query_other_jobs",
	"resources_default", "default_chunk", "resources_assigned", "scheduler_iteration", "flatuid", "resv_enable", "node_fail_requeue", "max_array_size",
	"resend_term_delay", "pbs_license_min", "pbs_license_max", "pbs_license_linger_time", "license_count", "pbs_version", "eligible_time_enable",
	"job_history_enable", "job_history_duration", "max_concurrent_provision", "backfill_depth", "clear_topjob_estimates_enable", "max_job_sequence_id",
}

var queueOrder = []string{
	"queue_type", "Priority", "total_jobs", "state_count", "from_route_only", "acl_user_enable", "acl_users", "resources_max", "resources_min", "resources_default",
	"resources_assigned", "route_destinations", "enabled", "started", "max_queued", "max_run",
}

var queuePrintOrder = []string{
	"queue_type", "Priority", "max_queued", "acl_user_enable", "acl_users", "from_route_only", "resources_max", "resources_min", "resources_default", "max_run",
	"route_destinations", "enabled", "started",
}

var nodeOrder = []string{
	"Mom", "ntype", "state", "pcpus", "jobs", "resources_available", "resources_assigned", "comment", "resv_enable", "sharing", "license",
	"last_state_change_time", "last_used_time",
}

// qmgrAll reads statements, one on a line.
func (s *Server) qmgrAll(text string) error {
	for line := range strings.Lines(text) {
		if msg := s.qmgrLine(strings.TrimSpace(line)); msg != "" {
			return fmt.Errorf("%s: %s", strings.TrimSpace(line), msg)
		}
	}
	return nil
}

// qmgrLine carries out create, set, unset and delete. It answers why not.
func (s *Server) qmgrLine(line string) string {
	if line == "" || line[0] == '#' {
		return ""
	}
	verb, rest, _ := strings.Cut(line, " ")
	kind, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if kind == "" {
		return "Syntax error"
	}
	name := ""
	if kind != "server" && kind != "s" {
		name, rest, _ = strings.Cut(strings.TrimSpace(rest), " ")
	}
	a := s.qmgrTarget(verb, kind, name)
	switch {
	case a == nil && verb == "delete":
		return ""
	case a == nil:
		return "Unknown " + kind
	case verb == "unset":
		for n := range strings.SplitSeq(rest, ",") {
			delete(a, strings.TrimSpace(n))
		}
		return ""
	}
	for _, part := range splitQuoted(rest, ',') {
		k, v, ok := strings.Cut(part, "=")
		if !ok {
			continue
		}
		k, v = strings.TrimSpace(k), strings.Trim(strings.TrimSpace(v), `"`)
		if k == "queue_type" && v != "" {
			v = map[byte]string{'e': "Execution", 'r': "Route"}[strings.ToLower(v)[0]]
		}
		a[k] = v
	}
	s.tidy(kind, name, a)
	return ""
}

// tidy applies the implications of a statement beside its attributes.
func (s *Server) tidy(kind, name string, a attrs) {
	switch kind[0] {
	case 'r':
		s.kinds[name], s.flags[name] = or(or(a["type"], s.kinds[name]), "string"), or(a["flag"], s.flags[name])
	case 'q':
		for _, k := range []string{"enabled", "started"} {
			a[k] = or(a[k], "False")
		}
	}
}

// qmgrTarget is the target of a statement; nil if there is none.
func (s *Server) qmgrTarget(verb, kind, name string) attrs {
	switch kind[0] {
	case 's':
		return s.server
	case 'r':
		if verb != "create" && s.kinds[name] == "" {
			return nil
		}
		return attrs{}
	case 'q':
		q := s.queue(name)
		switch {
		case verb == "delete":
			s.queues = slices.DeleteFunc(s.queues, func(o *queue) bool { return o == q })
			return nil
		case q == nil && verb == "create":
			q = &queue{name, attrs{}}
			s.queues = append(s.queues, q)
		case q == nil:
			return nil
		}
		return q.a
	case 'n':
		n := s.scheduler().node(name)
		switch {
		case verb == "delete":
			s.nodes = slices.DeleteFunc(s.nodes, func(o *node) bool { return o == n })
			return nil
		case n == nil && verb == "create":
			n = &node{name: name, a: attrs{
				"Mom": name, "ntype": "PBS", "pcpus": "2", "resources_available.arch": "linux", "resources_available.host": name, "resources_available.vnode": name,
				"resv_enable": "True", "sharing": "default_shared", "license": "l", "last_state_change_time": strconv.FormatInt(s.now().Unix(), 10),
			}}
			s.nodes = append(s.nodes, n)
		case n == nil:
			return nil
		}
		return n.a
	}
	return nil
}

// qmgr carries out the statements of -c, or of its standard input.
func (c *call) qmgr() {
	opts, _, bad := getopt(c.Args, "ac:enz")
	if bad != nil {
		c.fail(2, bad[0])
		return
	}
	lines := strings.Split(string(c.Stdin), "\n")
	if text, ok := last(opts, 'c'); ok {
		lines = []string{text}
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || line[0] == '#':
		case verb == "print" || verb == "p":
			c.printServer()
		case verb == "list" || verb == "l":
			c.listObjects(strings.Fields(rest))
		case c.User != "root":
			fmt.Fprintf(&c.err, "qmgr obj=%s svr=default: Unauthorized Request \n", "")
			c.rc = 1
		default:
			if msg := c.qmgrLine(line); msg != "" {
				fmt.Fprintf(&c.err, "qmgr: %s\n", msg)
				c.rc = 1
				continue
			}
			c.record(entry{Qmgr: line})
		}
	}
}

func (c *call) printServer() {
	section := func(text string) { fmt.Fprintf(&c.out, "#\n# %s\n#\n", text) }
	if len(c.kinds) > 0 {
		section("Create resources and set their properties.")
	}
	for _, name := range slices.Sorted(maps.Keys(c.kinds)) {
		section("Create and define resource " + name)
		fmt.Fprintf(&c.out, "create resource %s\nset resource %s type = %s\n", name, name, c.kinds[name])
		if f := c.flags[name]; f != "" {
			fmt.Fprintf(&c.out, "set resource %s flag = %s\n", name, f)
		}
	}
	section("Create queues and set their attributes.")
	for _, q := range c.queues {
		section("Create and define queue " + q.name)
		fmt.Fprintf(&c.out, "create queue %s\n", q.name)
		printSet(&c.out, "queue "+q.name, q.a, queuePrintOrder)
	}
	section("Set server attributes.")
	printSet(&c.out, "server", c.server, serverOrder)
}

func printSet(w io.Writer, what string, a attrs, order []string) {
	for _, f := range flat(fields(a, nil, order, nil)) {
		v := f.value
		if strings.Contains(v, ",") {
			v = `"` + v + `"`
		}
		fmt.Fprintf(w, "set %s %s = %s\n", what, f.name, v)
	}
}

// listObjects is "list queue NAME" and its like.
func (c *call) listObjects(words []string) {
	if len(words) == 0 || words[0] == "" {
		words = []string{"server"}
	}
	show := func(head, name string, a attrs, order []string) {
		fmt.Fprintf(&c.out, "%s %s\n", head, name)
		for _, f := range flat(fields(a, nil, order, c.zone())) {
			fmt.Fprintf(&c.out, "    %s = %s\n", f.name, f.value)
		}
		c.out.WriteString("\n")
	}
	named := func(n string) bool { return len(words) < 2 || words[1] == n || words[1] == "@default" }
	switch words[0][0] {
	case 's':
		show("Server", c.host, c.server, serverOrder)
	case 'q':
		for _, q := range c.queues {
			if named(q.name) {
				show("Queue", q.name, q.a, queuePrintOrder)
			}
		}
	case 'n':
		for _, n := range c.nodes {
			if named(n.name) {
				show("Node", n.name, c.nodeView(n), nodeOrder)
			}
		}
	}
}

package pbssim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// nodeView is pbsnodes' view of a node.
func (s *Server) nodeView(n *node) attrs {
	a := maps.Clone(n.a)
	delete(a, "offline")
	sum := map[string]int{}
	s.scheduler().active(func(j *job, t *task) {
		for _, sh := range s.scheduler().shares(t.A["exec_vnode"]) {
			if sh.node != n {
				continue
			}
			for _, w := range sh.want {
				if s.counted(w[0]) {
					sum[w[0]] += s.amount(w[0], w[1])
				}
			}
			id := quote(s.full(j.taskID(t)))
			if !strings.Contains(a["jobs"], id) {
				a["jobs"] += ", " + id
			}
		}
	})
	if a["jobs"] != "" {
		a["jobs"] = "[" + strings.TrimPrefix(a["jobs"], ", ") + "]"
	}
	for k, v := range sum {
		a["resources_assigned."+k] = s.show(k, v)
	}
	a["state"] = s.mom().nodeState(n, sum)
	return a
}

// nodeState is free, job-busy, offline or down, or two of them.
func (s mom) nodeState(n *node, used map[string]int) string {
	var words []string
	if n.a["offline"] != "" {
		words = append(words, "offline")
	}
	if n.down {
		words = append([]string{"down"}, words...)
	}
	switch total := s.amount("ncpus", n.a["resources_available.ncpus"]); {
	case words != nil:
		return strings.Join(words, ",")
	case total > 0 && used["ncpus"] >= total:
		return "job-busy"
	}
	return "free"
}

func (c *call) pbsnodes() {
	opts, rest, bad := getopt(c.Args, "aSjlLvHorC:F:D:")
	if bad != nil {
		c.fail(2, bad[0])
		return
	}
	flags := map[byte]bool{}
	for _, o := range opts {
		flags[o.letter] = true
	}
	list := c.nodes
	if len(rest) > 0 && !flags['a'] {
		list = nil
		for _, name := range rest {
			if n := c.scheduler().node(name); n != nil {
				list = append(list, n)
			} else {
				fmt.Fprintf(&c.err, "Node: %s,  Error: Unknown node \n", name)
				c.rc = 1
			}
		}
	}
	format, _ := last(opts, 'F')
	switch {
	case flags['o'] || flags['r'] || flags['C']:
		comment, commented := last(opts, 'C')
		c.offline(list, flags, comment, commented)
	case flags['l']:
		for _, n := range list {
			if st := c.mom().nodeState(n, nil); st != "free" {
				fmt.Fprintf(&c.out, "%-20s %s %s\n", n.name, st, n.a["comment"])
			}
		}
	case flags['S']:
		c.nodeTable(list)
	case format == "json":
		c.nodesJSON(list)
	default:
		for _, n := range list {
			c.nodeText(n)
		}
	}
}

func (c *call) offline(list []*node, flags map[byte]bool, comment string, commented bool) {
	if c.User != "root" {
		for _, n := range list {
			fmt.Fprintf(&c.err, "Node: %s,  Error: Unauthorized Request \n", n.name)
			c.rc = 1
		}
		return
	}
	for _, n := range list {
		if flags['o'] {
			n.a["offline"] = "1"
		}
		if flags['r'] {
			delete(n.a, "offline")
		}
		if commented {
			n.a["comment"] = comment
		}
		n.a["last_state_change_time"] = strconv.FormatInt(c.now().Unix(), 10)
	}
}

func (c *call) nodesJSON(list []*node) {
	var objects []object
	for _, n := range list {
		a := c.nodeView(n)
		for _, k := range []string{"last_state_change_time", "last_used_time"} {
			if a[k] == "" {
				delete(a, k)
			}
		}
		fs := fields(a, nil, nodeOrder, c.zone())
		if !slices.ContainsFunc(fs, func(f field) bool { return f.name == "resources_assigned" }) {
			at := 1 + slices.IndexFunc(fs, func(f field) bool { return f.name == "resources_available" })
			fs = slices.Insert(fs, at, field{name: "resources_assigned", group: []field{}})
		}
		objects = append(objects, object{name: n.name, fields: fs})
	}
	c.out.WriteString(c.asJSON("nodes", objects))
}

// everAssigned are the resources that the text shows, used or not.
var everAssigned = map[string]string{"accelerator_memory": "0kb", "hbmem": "0kb", "mem": "0kb", "naccelerators": "0", "ncpus": "0", "ngpus": "0", "vmem": "0kb"}

func (c *call) nodeText(n *node) {
	a := c.nodeView(n)
	for r, zero := range everAssigned {
		if a["resources_assigned."+r] == "" && (c.kind(r) != "") {
			a["resources_assigned."+r] = zero
		}
	}
	c.out.WriteString(n.name + "\n")
	for _, f := range flat(fields(a, nil, nodeOrder, c.zone())) {
		v := f.value
		switch f.name {
		case "last_state_change_time", "last_used_time":
			v = date(v, c.zone())
		case "jobs":
			v = strings.NewReplacer("[", "", "]", "", `"`, "").Replace(v)
		}
		c.out.WriteString("     " + f.name + " = " + v + "\n")
	}
	c.out.WriteString("\n")
}

// nodeTable is pbsnodes -aSj.
func (c *call) nodeTable(list []*node) {
	c.out.WriteString("                                                        mem       ncpus   nmics   ngpus\n" +
		"vnode           state           njobs   run   susp      f/t        f/t     f/t     f/t   jobs\n" +
		"--------------- --------------- ------ ----- ------ ------------ ------- ------- ------- -------\n")
	for _, n := range list {
		a := c.nodeView(n)
		jobs := strings.NewReplacer("[", "", "]", "", `"`, "", " ", "", "."+c.host, "").Replace(a["jobs"])
		count := 0
		if jobs != "" {
			count = 1 + strings.Count(jobs, ",")
		}
		free := func(r string) string {
			total := c.amount(r, a["resources_available."+r])
			left := total - c.amount(r, a["resources_assigned."+r])
			if r == "mem" {
				return sizeText(left) + "/" + sizeText(total)
			}
			return fmt.Sprintf("%d/%d", left, total)
		}
		fmt.Fprintf(&c.out, "%-15s %-15s %6d %5d %6d %12s %7s %7s %7s %s\n", n.name, a["state"], count, count, 0, free("mem"), free("ncpus"), "0/0", free("ngpus"), or(jobs, "--"))
	}
}

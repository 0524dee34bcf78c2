package cluster

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// Facts are a cluster's queues, nodes and limits.
type Facts struct {
	Asked    time.Time // when the server said so
	Version  string    // "23.06.06"
	Default  string    // queue of jobs that name none; "" = none
	MaxArray int       // elements of one array; 0 = not known
	Stopped  bool      // the server's scheduling is off: nothing starts
	Queues   []Queue   // in order of their names, the default first
	Nodes    []Vnode
}

// A Queue is one queue; of its limits, 0 = none.
type Queue struct {
	Name     string
	Routes   []string // of a routing queue: where it sends jobs
	Enabled  bool     // takes jobs
	Started  bool     // starts jobs
	Inner    bool     // takes jobs of routing queues alone
	Yours    bool     // as far as its list of users says
	MinNodes int
	MaxNodes int
	MinTime  time.Duration
	MaxTime  time.Duration
	MaxRun   int     // jobs of this user that run at once
	MaxQueue int     // jobs of this user that are queued or running
	QueueBy  string  // whose limit that is
	Most     Amounts // the limits on this user's running jobs together
	MostBy   string  // whose limits those are
	Only     string  // name under which nodes are its own; "" = any node
}

// Amounts are of resources that jobs hold; 0 = no limit.
type Amounts struct{ CPUs, GPUs, Nodes int }

// A Vnode is a node.
type Vnode struct {
	Name       string
	Queue      string // that it is kept for; "" = all
	Up, Free   bool
	CPUs, GPUs int
	Memory     int64 // bytes
	UsedCPUs   int
	UsedGPUs   int
}

// A queueAnswer is qstat -B, qstat -Q or pbsnodes -a, each with -F json.
type queueAnswer struct {
	Name    string                     `json:"pbs_server"`
	Version string                     `json:"pbs_version"`
	Time    int64                      `json:"timestamp"`
	Queue   map[string]map[string]any  `json:"Queue"`
	Server  map[string]map[string]any  `json:"Server"`
	Nodes   map[string]json.RawMessage `json:"nodes"`
}

// Facts asks for the server, its queues and its nodes.
func (c *Commands) Facts(ctx context.Context) (*Facts, error) {
	f := &Facts{Asked: time.Now()}
	ask := func(argv ...string) (a queueAnswer, err error) {
		out, err := c.told(ctx, argv...)
		if err == nil {
			if err = json.Unmarshal(out, &a); err != nil {
				err = unread(argv[0], err)
			}
		}
		return a, err
	}
	server, err := ask("qstat", "-Bf", "-F", "json")
	if err != nil {
		return nil, err
	}
	f.Version = server.Version
	var limits map[string]any
	for _, s := range server.Server {
		f.Default, f.MaxArray, f.Stopped, limits = text(s["default_queue"]), number(s["max_array_size"]), off(s), s
	}
	queues, err := ask("qstat", "-Qf", "-F", "json")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(queues.Queue)) {
		f.Queues = append(f.Queues, c.queue(name, queues.Queue[name], limits))
	}
	slices.SortStableFunc(f.Queues, func(a, b Queue) int {
		switch f.Default {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	nodes, err := ask("pbsnodes", "-a", "-F", "json")
	if err != nil {
		return f, nil // a site may keep its nodes to itself
	}
	for _, name := range slices.Sorted(maps.Keys(nodes.Nodes)) {
		f.Nodes = append(f.Nodes, vnode(name, nodes.Nodes[name]))
	}
	return f, nil
}

// queue reads a queue's attributes. pbs_queue_attributes(7B).
func (c *Commands) queue(name string, q, server map[string]any) Queue {
	least, most := object(q["resources_min"]), object(q["resources_max"])
	out := Queue{Name: name, Enabled: text(q["enabled"]) == "True", Started: text(q["started"]) == "True", Inner: text(q["from_route_only"]) == "True", Yours: true,
		MinNodes: number(least["nodect"]), MaxNodes: number(most["nodect"]), MinTime: clock(word(text(least["walltime"]))), MaxTime: clock(word(text(most["walltime"])))}
	if strings.HasPrefix(text(q["queue_type"]), "R") {
		out.Routes = strings.FieldsFunc(text(q["route_destinations"]), func(r rune) bool { return r == ',' || r == ' ' })
	}
	if text(q["acl_user_enable"]) == "True" {
		out.Yours = slices.ContainsFunc(strings.Split(text(q["acl_users"]), ","), func(u string) bool {
			user, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(u), "+"), "@")
			return user == c.User || user == "*"
		})
	}
	c.limits(&out, q, "queue "+name)
	c.limits(&out, server, "the server")
	if chunk := object(q["default_chunk"]); text(chunk["Qlist"]) != "" {
		out.Only = text(chunk["Qlist"])
	}
	return out
}

// limits reads the limits that a queue or the server sets for this user; the smallest applies.
// pbs_queue_attributes(7B), pbs_server_attributes(7B): max_run, max_queued and max_run_res.
func (c *Commands) limits(out *Queue, set map[string]any, by string) {
	least := func(have *int, text string) bool {
		n := c.limit(text)
		if n == 0 || *have > 0 && *have <= n {
			return false
		}
		*have = n
		return true
	}
	least(&out.MaxRun, text(set["max_run"]))
	if least(&out.MaxQueue, text(set["max_queued"])) {
		out.QueueBy = by
	}
	held := object(set["max_run_res"])
	for name, have := range map[string]*int{"ncpus": &out.Most.CPUs, "ngpus": &out.Most.GPUs, "nodect": &out.Most.Nodes} {
		if least(have, text(held[name])) {
			out.MostBy = by
		}
	}
}

// term is one limit of an attribute: [u:PBS_GENERIC=8], [o:PBS_ALL=100].
var term = lazyregexp.New(`\[\s*([ugop]):"?([^=\]"]+)"?\s*=\s*(\d+)\s*\]`)

// limit is the least of a limit's terms that apply to this user, whose own term
// replaces that of every user; 0 = none. Those of groups and projects are not
// known to apply.
func (c *Commands) limit(attribute string) (least int) {
	generic, own, all := 0, 0, 0
	for _, m := range term.FindAllStringSubmatch(attribute, -1) {
		n, _ := strconv.Atoi(m[3])
		switch {
		case m[1] == "u" && m[2] == c.User:
			own = n
		case m[1] == "u" && m[2] == "PBS_GENERIC":
			generic = n
		case m[1] == "o":
			all = n
		}
	}
	if own > 0 {
		generic = own
	}
	if all > 0 && (generic == 0 || all < generic) {
		return all
	}
	return generic
}

// vnode reads a node. pbs_node_attributes(7B).
func vnode(name string, source json.RawMessage) Vnode {
	var n struct {
		State string         `json:"state"`
		Queue string         `json:"queue"`
		Has   map[string]any `json:"resources_available"`
		Used  map[string]any `json:"resources_assigned"`
	}
	if err := json.Unmarshal(source, &n); err != nil {
		return Vnode{Name: name}
	}
	down := regexp.MustCompile(`down|offline|unknown|provisioning|maintenance|stale`).MatchString(n.State)
	return Vnode{Name: name, Queue: n.Queue, Up: !down, Free: n.State == "free", CPUs: number(n.Has["ncpus"]), GPUs: number(n.Has["ngpus"]), Memory: max(size(text(n.Has["mem"])), 0),
		UsedCPUs: number(n.Used["ncpus"]), UsedGPUs: number(n.Used["ngpus"])}
}

// Queue is a queue by its name; nil = there is none.
func (f *Facts) Queue(name string) *Queue {
	if f == nil {
		return nil
	}
	if i := slices.IndexFunc(f.Queues, func(q Queue) bool { return q.Name == name }); i >= 0 {
		return &f.Queues[i]
	}
	return nil
}

// Widest is a routing queue with the widest limits of the queues that it sends jobs
// to; any other queue is itself.
func (f *Facts) Widest(q Queue) Queue {
	if len(q.Routes) == 0 {
		return q
	}
	min, max, time := 0, 0, time.Duration(0)
	for i, name := range q.Routes {
		to := f.Queue(name)
		if to == nil {
			return q
		}
		if low := to.MinNodes; i == 0 || low < min {
			min = low
		}
		max, time = widest(max, to.MaxNodes, i == 0), widest(time, to.MaxTime, i == 0)
	}
	if q.MinNodes == 0 {
		q.MinNodes = min
	}
	if q.MaxNodes == 0 {
		q.MaxNodes = max
	}
	if q.MaxTime == 0 {
		q.MaxTime = time
	}
	return q
}

// widest is the wider of two limits, of which 0 is none.
func widest[N int | time.Duration](a, b N, first bool) N {
	if first {
		return b
	}
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// For are the nodes that run jobs of a queue.
func (f *Facts) For(queue string) (list []Vnode) {
	own := slices.ContainsFunc(f.Nodes, func(n Vnode) bool { return n.Queue == queue })
	for _, n := range f.Nodes {
		if n.Queue == queue || !own && n.Queue == "" {
			list = append(list, n)
		}
	}
	return list
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// text is a value that PBS writes as text, number or boolean.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func number(v any) int {
	n, _ := strconv.Atoi(text(v))
	return n
}

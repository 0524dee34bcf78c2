package pbssim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A chunk is a part of a select statement: n times these resources on one node.
type chunk struct {
	n    int
	want [][2]string
}

// resources are the request of a job.
type resources struct {
	asked  string // the queue of the command line
	chunks []chunk
}

// builtin are the resources of every server.
var builtin = map[string]string{
	"ncpus": "long", "mem": "size", "vmem": "size", "pmem": "size", "pvmem": "size", "walltime": "time", "cput": "time", "pcput": "time", "nodect": "long",
	"nodes": "string", "select": "string", "place": "string", "mpiprocs": "long", "ompthreads": "long", "host": "string", "vnode": "string", "arch": "string",
	"software": "string", "file": "size", "nice": "long", "min_walltime": "time", "max_walltime": "time", "soft_walltime": "time", "naccelerators": "long",
	"accelerator_memory": "size", "hbmem": "size", "preempt_targets": "string", "start_time": "time", "nchunk": "long",
}

// resourceTypes are the types and flags of the resources of a site, by name.
type resourceTypes struct{ kinds, flags map[string]string }

func (s resourceTypes) kind(name string) string {
	if k := builtin[name]; k != "" {
		return k
	}
	return s.kinds[name]
}

// seconds reads HH:MM:SS, MM:SS and a number of seconds.
func seconds(text string) (n int, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return 0, false
	}
	for _, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return 0, false
		}
		n = n*60 + v
	}
	return n, true
}

func hms(n int) string { return fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60) }

// size reads "100mb", in kB.
func size(text string) (kb int, ok bool) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.Atoi(text[:digits])
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(text[digits:]), "b"), "w")
	factor, known := map[string]int{"": 0, "k": 1, "m": 1 << 10, "g": 1 << 20, "t": 1 << 30}[unit]
	if err != nil || !known {
		return 0, false
	}
	if factor == 0 {
		return (n + 1023) / 1024, true
	}
	return n * factor, true
}

// valid reports whether a value fits the type of a resource.
func (s resourceTypes) valid(name, value string) bool {
	var ok bool
	switch s.kind(name) {
	case "time":
		_, ok = seconds(value)
	case "size":
		_, ok = size(value)
	case "long":
		n, err := strconv.Atoi(value)
		ok = err == nil && n >= 0
	case "boolean":
		ok = slices.Contains([]string{"true", "false", "t", "f", "y", "n", "1", "0"}, strings.ToLower(value))
	default:
		ok = value != ""
	}
	return ok
}

// resources reads -l, and gives it defaults.
func (u *submission) resources() {
	a := u.job.A
	placed := false
	for _, o := range u.opts {
		if o.letter != 'l' {
			continue
		}
		list, ok := pairs(o.value)
		if !ok {
			u.illegal('l')
			return
		}
		for _, p := range list {
			switch name, value := p[0], p[1]; {
			case u.kind(name) == "":
				u.deny(15035, "Unknown resource: "+name)
				return
			case name == "select" && value != "":
				a["Resource_List.select"] = value
			case name == "place":
				a["Resource_List.place"], placed = value, true
			case !u.valid(name, value):
				u.deny(badValue, errorText[badValue]+" Resource_List."+name)
				return
			default:
				a["Resource_List."+name] = normal(u.kind(name), value)
			}
		}
	}
	if text := a["Resource_List.select"]; text == "" {
		n := a["Resource_List.ncpus"]
		if n == "" {
			n = "1"
		}
		a["Resource_List.select"] = "1:ncpus=" + n
		for _, name := range []string{"mem", "ngpus"} {
			if v := a["Resource_List."+name]; v != "" {
				a["Resource_List.select"] += ":" + name + "=" + v
			}
		}
		if !placed {
			a["Resource_List.place"] = "pack"
		}
	} else if !placed {
		a["Resource_List.place"] = "free"
	}
	u.sum()
}

// normal is a value as the server prints it.
func normal(kind, value string) string {
	if n, ok := seconds(value); ok && kind == "time" {
		return hms(n)
	}
	return value
}

// sum parses the select statement and adds up its requests.
func (u *submission) sum() {
	a := u.job.A
	chunks, name, ok := u.parseSelect(a["Resource_List.select"])
	switch {
	case name != "":
		u.deny(15035, "Unknown resource: "+name)
		return
	case !ok:
		u.deny(badValue, errorText[badValue]+" Resource_List.select")
		return
	}
	u.wished.chunks = chunks
	count, total, memory := 0, map[string]int{}, 0
	var alone string
	for _, c := range chunks {
		count += c.n
		for _, w := range c.want {
			switch u.kind(w[0]) {
			case "long":
				n, _ := strconv.Atoi(w[1])
				total[w[0]] += c.n * n
			case "size":
				kb, _ := size(w[1])
				memory += c.n * kb
				alone = w[1]
			}
		}
	}
	a["Resource_List.nodect"] = strconv.Itoa(count)
	for name, n := range total {
		if name != "ompthreads" {
			a["Resource_List."+name] = strconv.Itoa(n)
		}
	}
	switch {
	case memory > 0 && count == 1:
		a["Resource_List.mem"] = alone
	case memory > 0:
		a["Resource_List.mem"] = sizeText(memory)
	}
}

// sizeText is a number of kB in the largest unit that divides it.
func sizeText(kb int) string {
	for _, u := range []struct {
		kb   int
		name string
	}{{1 << 30, "tb"}, {1 << 20, "gb"}, {1 << 10, "mb"}} {
		if kb%u.kb == 0 {
			return strconv.Itoa(kb/u.kb) + u.name
		}
	}
	return strconv.Itoa(kb) + "kb"
}

// parseSelect reads "2:ncpus=4:ngpus=1+1:ncpus=2". A resource that the server
// does not know is named.
func (s *Server) parseSelect(text string) (list []chunk, unknown string, ok bool) {
	for part := range strings.SplitSeq(text, "+") {
		words := strings.Split(part, ":")
		c := chunk{n: 1}
		if n, err := strconv.Atoi(words[0]); err == nil {
			c.n, words = n, words[1:]
		}
		for _, w := range words {
			name, value, found := strings.Cut(w, "=")
			switch {
			case !found || c.n < 1:
				return nil, "", false
			case s.kind(name) == "":
				return nil, name, false
			case !s.valid(name, value):
				return nil, "", false
			}
			c.want = append(c.want, [2]string{name, value})
		}
		if !slices.ContainsFunc(c.want, func(w [2]string) bool { return w[0] == "ncpus" }) {
			n := s.server["default_chunk.ncpus"]
			if n == "" {
				n = "1"
			}
			c.want = append(c.want, [2]string{"ncpus", n})
		}
		list = append(list, c)
	}
	return list, "", true
}

// admit checks a job against the server and a queue, and routes it.
func (u *submission) admit() {
	if u.User == "root" && u.server["acl_roots"] == "" {
		u.deny(15023, "Bad UID for job execution")
		return
	}
	name := u.job.A["queue"]
	if name == "" {
		name = u.server["default_queue"]
	}
	name, _, _ = strings.Cut(name, "@")
	u.wished.asked = name
	q := u.queue(name)
	if q == nil {
		u.deny(unknownQueue, "Unknown queue")
		return
	}
	if e, text := u.enter(q, u.job, u.User, false); e != 0 {
		u.deny(e, text)
		return
	}
	for q.a["queue_type"] == "Route" {
		var to *queue
		for dest := range strings.SplitSeq(q.a["route_destinations"], ",") {
			if d := u.queue(strings.TrimSpace(dest)); d != nil {
				if e, _ := u.enter(d, u.job, u.User, true); e == 0 {
					to = d
					break
				}
			}
		}
		if to == nil {
			u.deny(15039, "Job rejected by all possible destinations")
			return
		}
		q = to
	}
	for k, v := range q.a {
		if r, ok := strings.CutPrefix(k, "resources_default."); ok && u.job.A["Resource_List."+r] == "" {
			u.job.A["Resource_List."+r] = v
		}
	}
	u.job.A["queue"] = q.name
}

// enter is why a queue does not take a job.
func (s *Server) enter(q *queue, j *job, user string, routed bool) (e int, text string) {
	switch {
	case q.a["enabled"] != "True":
		return 15021, "Queue is not enabled"
	case q.a["from_route_only"] == "True" && !routed:
		return 15022, "Access to queue is denied"
	case q.a["acl_user_enable"] == "True" && !slices.ContainsFunc(strings.Split(q.a["acl_users"], ","), func(u string) bool {
		name, _, _ := strings.Cut(strings.TrimSpace(u), "@")
		return name == user || name == "*"
	}):
		return unauthorized, errorText[unauthorized]
	}
	for k, v := range q.a {
		bound, r, _ := strings.Cut(k, ".")
		has := j.A["Resource_List."+r]
		if has == "" || bound != "resources_max" && bound != "resources_min" {
			continue
		}
		a, b := s.amount(r, has), s.amount(r, v)
		if bound == "resources_max" && a > b || bound == "resources_min" && a < b {
			return 15036, "Job violates queue and/or server resource limits"
		}
	}
	if most, ok := userLimit(q.a["max_queued"]); ok {
		n := 0
		for _, o := range s.jobs {
			if o.A["queue"] == q.name && !o.ended() && o.owner() == user {
				n += max(1, o.waitingOrRunning())
			}
		}
		if n+max(1, len(j.Tasks)) > most {
			return 15142, "would exceed queue generic's per-user limit"
		}
	}
	return 0, ""
}

// waitingOrRunning is how many jobs an array is for a limit.
func (j *job) waitingOrRunning() int { return len(j.Tasks) - j.count("X") - j.count("F") }

// amount is a value of a resource as a number.
func (s resourceTypes) amount(name, v string) int {
	var n int
	switch s.kind(name) {
	case "time":
		n, _ = seconds(v)
	case "size":
		n, _ = size(v)
	default:
		n, _ = strconv.Atoi(v)
	}
	return n
}

// userLimit reads "[u:PBS_GENERIC=2]".
func userLimit(v string) (n int, ok bool) {
	_, rest, ok := strings.Cut(v, "u:PBS_GENERIC=")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimRight(strings.TrimSpace(rest), "]"))
	return n, err == nil
}

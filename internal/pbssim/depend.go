package pbssim

import (
	"slices"
	"strconv"
	"strings"
)

// A dependency is one term of -W depend.
type dependency struct {
	kind string
	id   string
}

// reverse is the attribute of the other job, for which one waits.
var reverse = map[string]string{"after": "before", "afterok": "beforeok", "afternotok": "beforenotok", "afterany": "beforeany"}

// dependencies reads "afterok:1:2,afterany:3[]".
func dependencies(text string) (list []dependency, ok bool) {
	for term := range strings.SplitSeq(text, ",") {
		kind, ids, found := strings.Cut(term, ":")
		if !found || reverse[kind] == "" {
			return nil, false
		}
		for id := range strings.SplitSeq(ids, ":") {
			if v, ok := parseID(id); !ok || v.element != "" {
				return nil, false
			}
			list = append(list, dependency{kind, id})
		}
	}
	return list, true
}

// bind makes a job wait. Where it never could start, it ends at once: in state F
// with substate 92, and without having run.
func (s *Server) bind(j *job, deps []dependency) {
	var waits []dependency
	for _, d := range deps {
		id, _ := parseID(d.id)
		on, tasks := s.named(id)
		switch {
		case tasks == nil:
			s.setDepend(j, deps)
			s.abort(j)
			return
		case on.ended():
			if !d.met(on) {
				s.setDepend(j, deps)
				s.abort(j)
				return
			}
		default:
			waits = append(waits, d)
			s.note(on, reverse[d.kind], j)
		}
	}
	s.setDepend(j, waits)
}

// met reports whether the end of a job meets a dependency.
func (d dependency) met(on *job) bool {
	h := on.home()
	ok := h["substate"] == "92" && h["Exit_status"] != "" // of an array, the status is that of one element
	switch d.kind {
	case "afterok":
		return ok
	case "afternotok":
		return !ok
	}
	return true
}

// note records on a job who waits for it.
func (s *Server) note(on *job, kind string, j *job) {
	term := kind + ":" + s.full(j.id()) + "@" + s.host
	if old := on.A["depend"]; old != "" {
		term = old + "," + term
	}
	on.A["depend"] = term
	s.keep(on)
}

// setDepend replaces a job's dependencies.
func (s *Server) setDepend(j *job, deps []dependency) {
	var terms []string
	for _, old := range strings.Split(j.A["depend"], ",") {
		if strings.HasPrefix(old, "before") {
			terms = append(terms, old)
		}
	}
	var kinds []string
	by := map[string]string{}
	for _, d := range deps {
		if by[d.kind] == "" {
			kinds = append(kinds, d.kind)
		}
		id, _ := parseID(d.id)
		by[d.kind] += ":" + s.full(id.String()) + "@" + s.host
	}
	for _, k := range kinds {
		terms = append(terms, k+by[k])
	}
	delete(j.A, "depend")
	if terms != nil {
		j.A["depend"] = strings.Join(terms, ",")
	}
	s.hold(j, "s", len(deps) > 0)
}

// waits are the jobs that a job still waits for.
func (j *job) waits() (list []dependency) {
	for term := range strings.SplitSeq(j.A["depend"], ",") {
		kind, ids, _ := strings.Cut(term, ":")
		if reverse[kind] == "" {
			continue
		}
		for id := range strings.SplitSeq(ids, ":") {
			id, _, _ = strings.Cut(id, "@")
			list = append(list, dependency{kind, id})
		}
	}
	return list
}

// release looks at those that waited for a job that has ended.
func (s *Server) release(on *job) {
	for _, j := range slices.Clone(s.jobs) {
		if j.ended() {
			continue
		}
		var left []dependency
		here, broken := false, false
		for _, d := range j.waits() {
			id, _ := parseID(d.id)
			if id.seq != on.Seq {
				left = append(left, d)
				continue
			}
			here = true
			broken = broken || !d.met(on)
		}
		switch {
		case broken:
			s.abort(j)
		case here:
			s.setDepend(j, left)
			s.settle(j)
			s.keep(j)
		}
	}
}

// abort ends a job whose dependency cannot be met.
func (s *Server) abort(j *job) {
	s.hold(j, "s", true)
	s.finish(j, "92")
}

// hold sets or clears a type of hold.
func (s *Server) hold(j *job, kind string, on bool) {
	old := strings.ReplaceAll(j.A["Hold_Types"], "n", "")
	has := strings.Contains(old, kind)
	switch {
	case on && !has:
		old += kind
	case !on && has:
		old = strings.ReplaceAll(old, kind, "")
	}
	var sorted string
	for _, k := range []string{"s", "o", "u"} {
		if strings.Contains(old, k) {
			sorted += k
		}
	}
	if sorted == "" {
		sorted = "n"
	}
	j.A["Hold_Types"] = sorted
}

// settle gives a job that does not run the state that its holds and times mean.
func (s *Server) settle(j *job) {
	h := j.home()
	if !slices.Contains([]string{"Q", "H", "W"}, h["job_state"]) {
		return
	}
	state, sub := "Q", "10"
	at := j.A.num("Execution_Time")
	switch {
	case strings.Contains(j.A["Hold_Types"], "s") && j.waits() != nil:
		state, sub = "H", "22"
	case j.A["Hold_Types"] != "n":
		state, sub = "H", "20"
	case int64(at) > s.now().Unix():
		state, sub = "W", "30"
	}
	if state == "Q" {
		if j.A["etime"] == "" {
			j.A["etime"] = strconv.FormatInt(s.now().Unix(), 10)
		}
		delete(j.A, "Execution_Time")
	} else {
		delete(j.A, "etime")
	}
	h["job_state"], h["substate"] = state, sub
}

// finish puts a job that does not run into the history.
func (s *Server) finish(j *job, substate string) {
	now := strconv.FormatInt(s.now().Unix(), 10)
	h := j.home()
	h["job_state"], h["substate"] = "F", substate
	h["history_timestamp"], j.A["mtime"] = now, now
	for _, t := range j.Tasks {
		if t.Index >= 0 {
			if t.state() == "Q" {
				t.A["substate"] = substate
			}
			t.A["job_state"], t.A["history_timestamp"] = "F", now
		}
	}
	s.keep(j)
	s.release(j)
}

package aris

import "github.com/muster-run/muster/internal/units"

// maxLabel is the longest label that lang takes, in bytes.
const maxLabel = 200

// labels makes the names of all jobs distinct. Where ids do not tell jobs
// apart the queue dropped all but one of them; here each has its address.
func (c *converter) labels() {
	owner := map[string]*target{}
	for _, t := range c.targets {
		if len(t.name) == 0 {
			continue
		}
		all := t.each(t.name)
		long := false
		for _, s := range all {
			long = long || len(s) > maxLabel || s == ""
		}
		switch {
		case long:
			c.r.warn(t.src.at, "The ids are too long", "The labels of phase.%s would have more than %d bytes, so its jobs are called by their addresses.", t.id, maxLabel)
			t.name = nil
			continue
		case !t.distinct(t.name):
			t.name = c.ambiguous(t)
			continue
		}
		for _, s := range all {
			if other := owner[s]; other != nil && other != t {
				c.r.warn(t.src.at, "Duplicate id", "%q is the id of a job of phase.%s, too; the queue would drop this one silently. Here the labels of phase.%s begin with its name.", clip(s), other.id, t.id)
				t.name = join(literal(t.id+"-"), t.name)
				break
			}
		}
		for _, s := range t.each(t.name) {
			owner[s] = t
		}
	}
}

func (c *converter) ambiguous(t *target) text {
	at := t.src.at
	if t.src.template != nil && t.src.template.id != nil {
		at = t.src.template.id.at
	}
	ids := map[string]bool{}
	for _, s := range t.each(t.name) {
		ids[s] = true
	}
	if len(ids) > 0 {
		c.r.warn(at, "Duplicate id", "The id names too few axes: %s of phase.%s would share %s, and the queue would drop the others silently. Here all run, called by their addresses.",
			units.Count(len(t.cells), "job"), t.id, units.Count(len(ids), "id"))
	} else {
		c.r.warn(at, "Duplicate id", "The id does not name every axis of phase.%s, so the queue would drop jobs silently. Here all run, called by their addresses.", t.id)
	}
	return nil
}

package live

import (
	"fmt"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/apply/progress"
)

// A pace is from when to when a phase has had work under way in this run.
type pace struct{ began, ended time.Time }

// paces are by phase.
type paces map[string]pace

// see notes the phases that have begun.
func (m paces) see(p progress.Snapshot) {
	for _, ph := range p.Phases {
		if m[ph.Phase].began.IsZero() && !idle(ph) {
			m[ph.Phase] = pace{began: p.At}
		}
		switch c := m[ph.Phase]; {
		case ph.Done < ph.Total || c.began.IsZero():
			c.ended = time.Time{}
			m[ph.Phase] = c
		case c.ended.IsZero():
			c.ended = p.At
			m[ph.Phase] = c
		}
	}
}

// text is "1.5/min, 14m left" once there is a rate to speak of, "in 3m"
// when the phase is done, and else "".
func (m pace) text(p progress.Phase, at progress.Snapshot) string {
	done, elapsed := p.Done-p.Before, at.At.Sub(m.began)
	if !m.ended.IsZero() {
		elapsed = m.ended.Sub(m.began)
	}
	open := p.Total - p.Done - p.Failed - p.Held - p.Blocked - p.Cancelled - p.Unknown - p.HeldThere
	switch {
	case m.began.IsZero() || done < 1:
		return ""
	case p.Done == p.Total && elapsed < time.Second:
		return ""
	case p.Done == p.Total:
		return "in " + units.FormatDuration(elapsed.Round(time.Second))
	case done < 2 || elapsed < 2*time.Second || open <= 0 || at.Final:
		return ""
	}
	each := elapsed / time.Duration(done)
	left := each * time.Duration(open)
	if delay := p.RetryAt.Sub(at.At); delay > 0 { // a job that waits for its retry has its work still before it
		left = max(left, delay+each*time.Duration(p.Waiting))
	}
	return fmt.Sprintf("%s, %s left", rate(each), units.FormatDuration(left.Round(time.Second)))
}

// rate is how often something happens, in the unit that makes it a number of
// at least 1.
func rate(each time.Duration) string {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{time.Second, "s"}, {time.Minute, "min"}, {time.Hour, "h"}} {
		if each <= u.d || u.d == time.Hour {
			return fmt.Sprintf("%.3g/%s", float64(u.d)/float64(max(each, 1)), u.name)
		}
	}
	return ""
}

package checklist

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/ceiling"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// The request of a job to a queue: its pool, its time and its mail.

// terms are those of a request on a backend.
func (f *phase) terms(backend string, request int) offer.Terms {
	var config json.RawMessage
	for _, b := range f.in.Campaign.Backends {
		if b.Address() == backend {
			config = b.Config
		}
	}
	typ := typeOf(backend)
	return f.queues[typ].Terms(config, f.Phase.Requests(lang.Run)[request].Options[typ])
}

// partition: every job fits where it goes, and its smokes do.
func partition(f *phase) (bool, string) {
	if f.nowhere > 0 {
		return false, f.misfit()
	}
	if g := f.Smoke; g != nil && len(g.Run) > 0 && g.Place.Backend == "" {
		return false, "no " + f.words().Pool + " fits its smoke"
	}
	return true, each(f.places, func(d place.Decision) string {
		text := orElse(d.Word, f.words().Pool) + " " + orElse(d.Pool, "by default")
		if q := f.qos(d.Backend); q != "" {
			text += ", qos " + q
		}
		if d.Shape.GPUs > 0 {
			text += fmt.Sprintf(", %d×%s a job", d.Shape.GPUs, orElse(d.GPUClass, "GPU"))
		} else {
			text += fmt.Sprintf(", %s a job", units.Count(d.Shape.CPUs, "core"))
		}
		return text
	})
}

// misfit is why the first candidate with a queue takes no job.
func (f *phase) misfit() string {
	for _, c := range f.lost.Candidates {
		if f.queued(c.Backend) && !c.Fits && c.Why != "" {
			return fmt.Sprintf("%s: %s", strings.TrimSuffix(c.Backend+" "+c.Pool, " "), c.Why)
		}
	}
	return "no " + f.words().Pool + " fits"
}

// qos names the qualities of service under which jobs on a backend run, where
// any are written.
func (f *phase) qos(backend string) string {
	var names []string
	seen := map[string]bool{"": true}
	for _, r := range f.requests {
		if name := f.terms(backend, r).QoS; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// walltime: a job ends within the limit of its partition, or continues from
// its checkpoint in the next segment.
func walltime(f *phase) (bool, string) {
	if f.nowhere > 0 {
		return false, f.misfit()
	}
	for _, d := range f.places {
		if ceiling.Segment(d.Shape, d.Segments).Walltime == 0 {
			return false, "none is written, so the " + f.words().Pool + "'s default ends the jobs: add walltime = \"4h\" to resources"
		}
	}
	return true, each(f.places, func(d place.Decision) string {
		wall := ceiling.Segment(d.Shape, d.Segments).Walltime
		text := units.ShortDuration(wall)
		if d.Segments > 1 {
			text = fmt.Sprintf("%s in %d segments of %s, chained by checkpoint", units.ShortDuration(d.Shape.Walltime), d.Segments, text)
		}
		most := ceiling.Pool(f.in.Pools, d.Backend, d.Pool).MaxTime
		switch own := d.Limits.MaxTime; {
		case wall > most && most > 0: // it would have no place if its qos did not allow it
			text += fmt.Sprintf(", longer than %s of %s %s as its qos allows", units.ShortDuration(most), f.words().Pool, d.Pool)
		case own > 0 && most > 0:
			text += fmt.Sprintf(" of %s allowed by its qos or account, of %s by %s %s", units.ShortDuration(own), units.ShortDuration(most), f.words().Pool, d.Pool)
		case own > 0:
			text += " of " + units.ShortDuration(own) + " allowed by its qos or account"
		case most > 0:
			text += " of " + units.ShortDuration(most) + " allowed"
		}
		switch {
		case d.Segments > 1:
		case f.Phase.Checkpoint != nil:
			text += "; a restart continues from its checkpoint"
		default:
			text += "; no checkpoint: a restart begins from scratch"
		}
		return text
	})
}

// mailSet: the scheduler writes to somebody when jobs end or fail.
func mailSet(f *phase) (bool, string) {
	var to []string
	seen := map[string]bool{}
	for _, r := range f.requests {
		typ := typeOf(f.backend())
		whom := f.terms(f.backend(), r).Mail
		if whom == "" && f.Phase.Requests(lang.Run)[r].Options[typ] != nil {
			return false, fmt.Sprintf("none: add mail = \"me@example.edu\" to options %q", typ)
		}
		if whom == "" {
			return false, fmt.Sprintf("none: in job, add options %q { mail = \"me@example.edu\" }", typ)
		}
		if !seen[whom] {
			seen[whom] = true
			to = append(to, whom)
		}
	}
	return true, "END and FAIL to " + some(to) + ", one for a whole array"
}

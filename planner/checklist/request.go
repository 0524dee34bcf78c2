package checklist

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/launches"
	"github.com/muster-run/muster/planner/place"
)

// What a job asks of Slurm: its partition, its time and its mail.

// slurmOptions are those of options "slurm", and of a backend's block, that
// the points look at.
type slurmOptions struct {
	QoS   string   `json:"qos"`
	Mail  string   `json:"mail"`
	Extra []string `json:"extra"`
}

// options of a request. What does not parse was refused when it was read.
func (f *phase) options(request int) (o slurmOptions) {
	_ = json.Unmarshal(f.Phase.Requests(lang.Run)[request].Options["slurm"], &o)
	return o
}

// partition: every job fits where it goes, and its smokes do.
func partition(f *phase) (bool, string) {
	if f.nowhere > 0 {
		return false, f.misfit()
	}
	if g := f.Smoke; g != nil && len(g.Run) > 0 && g.Place.Backend == "" {
		return false, "no partition fits its smoke"
	}
	return true, each(f.places, func(d place.Decision) string {
		text := orElse(d.Word, "partition") + " " + orElse(d.Pool, "by default")
		if q := f.qos(d.Backend); q != "" {
			text += ", qos " + q
		}
		if d.Shape.GPUs > 0 {
			text += fmt.Sprintf(", %d×%s a job", d.Shape.GPUs, orElse(d.GPUClass, "GPU"))
		} else {
			text += fmt.Sprintf(", %s a job", plural(d.Shape.CPUs, "core"))
		}
		return text
	})
}

// misfit is why the first candidate on Slurm takes no job.
func (f *phase) misfit() string {
	for _, c := range f.lost.Candidates {
		if onSlurm(c.Backend) && !c.Fits && c.Why != "" {
			return fmt.Sprintf("%s: %s", strings.TrimSuffix(c.Backend+" "+c.Pool, " "), c.Why)
		}
	}
	return "no partition fits"
}

// qos names the qualities of service under which jobs on a backend run, where
// any are written.
func (f *phase) qos(backend string) string {
	own := slurmOptions{}
	for _, b := range f.in.Campaign.Backends {
		if b.Address() == backend {
			_ = json.Unmarshal(b.Config, &own)
		}
	}
	var names []string
	seen := map[string]bool{"": true}
	for _, r := range f.requests {
		if name := orElse(f.options(r).QoS, own.QoS); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// walltime: a job ends within what its partition allows, or goes on from its
// checkpoint in the next segment.
func walltime(f *phase) (bool, string) {
	if f.nowhere > 0 {
		return false, f.misfit()
	}
	for _, d := range f.places {
		if launches.Segment(d.Shape, d.Segments).Walltime == 0 {
			return false, `none is written, so the partition's default ends the jobs: add walltime = "4h" to resources`
		}
	}
	return true, each(f.places, func(d place.Decision) string {
		wall := launches.Segment(d.Shape, d.Segments).Walltime
		text := units.ShortDuration(wall)
		if d.Segments > 1 {
			text = fmt.Sprintf("%s in %d segments of %s, chained by checkpoint", units.ShortDuration(d.Shape.Walltime), d.Segments, text)
		}
		most := launches.Pool(f.in.Pools, d.Backend, d.Pool).MaxTime
		switch own := d.Limits.MaxTime; {
		case wall > most && most > 0: // it would have no place if its qos did not allow it
			text += fmt.Sprintf(", longer than %s of partition %s as its qos allows", units.ShortDuration(most), d.Pool)
		case own > 0 && most > 0:
			text += fmt.Sprintf(" of %s allowed by its qos or account, of %s by partition %s", units.ShortDuration(own), units.ShortDuration(most), d.Pool)
		case own > 0:
			text += " of " + units.ShortDuration(own) + " allowed by its qos or account"
		case most > 0:
			text += " of " + units.ShortDuration(most) + " allowed"
		}
		switch {
		case d.Segments > 1:
		case f.Phase.Checkpoint != nil:
			text += "; a restart goes on from its checkpoint"
		default:
			text += "; no checkpoint: a restart begins anew"
		}
		return text
	})
}

// mailSet: Slurm writes to somebody when jobs end or fail.
func mailSet(f *phase) (bool, string) {
	var to []string
	seen := map[string]bool{}
	for _, r := range f.requests {
		whom := f.options(r).mail()
		if whom == "" && f.Phase.Requests(lang.Run)[r].Options["slurm"] != nil {
			return false, `none: add mail = "me@example.edu" to options "slurm"`
		}
		if whom == "" {
			return false, `none: in job, add options "slurm" { mail = "me@example.edu" }`
		}
		if !seen[whom] {
			seen[whom] = true
			to = append(to, whom)
		}
	}
	return true, "END and FAIL to " + some(to) + ", one for a whole array"
}

// mail is the address that mail goes to, written by itself or among the
// further arguments; "" for none.
func (o slurmOptions) mail() string {
	for i, arg := range o.Extra {
		if name, whom, ok := strings.Cut(arg, "="); name == "--mail-user" {
			if !ok && i+1 < len(o.Extra) {
				whom = o.Extra[i+1]
			}
			return whom
		}
	}
	return o.Mail
}

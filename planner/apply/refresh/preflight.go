package refresh

import (
	"context"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers"
)

// A preflight has the checks that backends make before any job is submitted.
type preflight struct {
	*facts
	answers *answers
}

// run checks that the remaining jobs could run: once for all the jobs with the same needs, and
// for each volume.
func (pf *preflight) run(ctx context.Context, a *ask) error {
	if !pf.Preflight || pf.Options.Destroy || a.lang == nil || a.p == nil {
		return nil
	}
	kinds := pf.kinds(a)
	if len(kinds) == 0 {
		return nil
	}
	var checks []providers.Check
	for _, k := range kinds {
		checks = append(checks, k.check)
	}
	volumes := pf.volumes(a)
	for _, v := range volumes {
		checks = append(checks, v.check)
	}
	findings, err := a.p.Preflight(ctx, a.name, checks)
	if err != nil {
		return err
	}
	var said sayings
	for _, f := range findings {
		switch {
		case f.Check >= 0 && f.Check < len(kinds):
			said.ofJobs(f, kinds[f.Check])
		case f.Check >= len(kinds) && f.Check < len(checks):
			said.ofVolume(f, volumes[f.Check-len(kinds)])
		default:
			said.add(f)
		}
	}
	list := make([]observed.Finding, len(said))
	for i, s := range said {
		list[i] = pf.finding(a, s)
	}
	pf.answers.find(list...)
	return nil
}

// A saying is a finding and its jobs.
type saying struct {
	providers.Finding
	phase string  // "" = the backend as a whole
	kinds []*kind // of jobs that it blocks, all of the phase
}

type sayings []*saying

func (s *sayings) add(f providers.Finding) *saying {
	out := &saying{Finding: f}
	*s = append(*s, out)
	return out
}

// ofJobs adds a finding about jobs of a kind, to an equal one of their phase if there is one.
func (s *sayings) ofJobs(f providers.Finding, k *kind) {
	for _, had := range *s {
		if had.phase == k.phase.Name && had.kinds[0].group.Smoke == k.group.Smoke && had.Warning == f.Warning && had.Summary == f.Summary && had.Detail == f.Detail {
			had.kinds = append(had.kinds, k)
			return
		}
	}
	said := s.add(f)
	said.phase, said.kinds = k.phase.Name, []*kind{k}
}

// ofVolume adds a finding about a volume, unless jobs have the same: an unusable workdir is a
// finding of both.
func (s *sayings) ofVolume(f providers.Finding, v volume) {
	for _, had := range *s {
		if had.Summary == f.Summary && had.Detail == f.Detail {
			return
		}
	}
	if v.sum != "" {
		f.Detail += ". " + v.sum + "."
	}
	s.add(f).phase = v.phase
}

// finding is a saying with the cells that it is about.
func (pf *preflight) finding(a *ask, s *saying) observed.Finding {
	f := observed.Finding{Diagnostic: diag.Diagnostic{Summary: diag.Sentence(s.Summary), Detail: s.Detail, Address: "backend." + a.name}, Phase: s.phase}
	if s.Warning {
		f.Severity = diag.Warning
	}
	if f.Pauses = s.Pauses; s.Pauses || s.phase != "" {
		f.On = a.name
	}
	if s.phase != "" {
		f.Address = "phase." + s.phase
		if p := pf.phase(s.phase); p != nil {
			f.Subject = p.Range.Ptr()
		}
	}
	for _, k := range s.kinds {
		f.Smoke = k.group.Smoke
		f.Cells = append(f.Cells, pf.cells(k)...)
	}
	slices.Sort(f.Cells)
	return f
}

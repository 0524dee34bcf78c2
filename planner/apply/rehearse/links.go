package rehearse

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/state"
)

// A link is the bandwidth to and from a backend, bytes a second.
type link struct {
	bytes int64  // 0 takes no time
	how   string // that is known
}

// links are those of a campaign's backends, by name.
func links(in Input) map[string]link {
	out := map[string]link{}
	for _, b := range in.Campaign.Backends {
		l := transfers.LinkOf(b, in.State)
		if l.Bytes > 0 && b.Type != sim.Type && in.Bandwidth > 0 {
			l.Bytes, l.How = in.Bandwidth, "as stated"
		}
		out[b.Address()] = link{l.Bytes, l.How}
	}
	return out
}

// sizes are the mean sizes of outputs as seen, by phase and name.
func sizes(st *state.State) map[string]map[string]int64 {
	type seen struct{ n, bytes int64 }
	sums := map[string]map[string]seen{}
	for _, j := range st.Jobs {
		if j.Smoke || j.Status != state.Completed {
			continue
		}
		for _, o := range j.Outputs {
			if sums[j.Phase] == nil {
				sums[j.Phase] = map[string]seen{}
			}
			s := sums[j.Phase][o.Name]
			sums[j.Phase][o.Name] = seen{s.n + 1, s.bytes + o.Size}
		}
	}
	out := map[string]map[string]int64{}
	for phase, by := range sums {
		out[phase] = map[string]int64{}
		for name, s := range by {
			out[phase][name] = s.bytes / s.n
		}
	}
	return out
}

// Existing are the outputs that simulated backends report as present, by backend.
func Existing(st *state.State) map[string][]sim.ExistingOutput {
	out := map[string][]sim.ExistingOutput{}
	for _, j := range st.All() {
		for _, o := range j.Outputs {
			pool := ""
			if a := j.Last(); a != nil && a.Backend == o.Backend {
				pool = a.Pool
			}
			if !o.Missing {
				out[o.Backend] = append(out[o.Backend], sim.ExistingOutput{Pool: pool, Path: o.Path, Size: o.Size})
			}
			for _, c := range o.Copies {
				name, pool := providers.CutAt(c.Backend)
				out[name] = append(out[name], sim.ExistingOutput{Pool: pool, Path: o.Path, Size: o.Size})
			}
		}
	}
	return out
}

// moves say how the files of a plan's transfers move: how large they are, and
// what the links carry.
func (s *Stage) moves() []string {
	var out []string
	for _, t := range s.plan.Transfers {
		from, to := t.Ends()
		text := fmt.Sprintf("%s: %s from %s to %s", t.Phase, units.Count(t.Files, "file"), from, to)
		size := s.sized(t)
		slow := t.From
		if a, b := s.links[t.From], s.links[t.To]; a.bytes == 0 || b.bytes > 0 && b.bytes < a.bytes {
			slow = t.To
		}
		switch l := s.links[slow]; {
		case l.bytes == 0:
			text += " instantly: no bandwidth is stated"
		case size == "":
			text += " instantly: their sizes are not known"
		default:
			text += fmt.Sprintf(", %s, at %s a second (%s, %s)", size, units.FormatSize(l.bytes), slow, l.how)
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// sized says how large the files of a transfer are, and how that is known; ""
// where it is not, and they count as empty.
func (s *Stage) sized(t planner.Transfer) string {
	if t.Bytes >= 0 {
		return units.FormatSize(t.Bytes)
	}
	if n := s.sizes[t.After][t.Output]; n > 0 {
		return units.FormatSize(n) + " each as seen"
	}
	if n := s.places[t.From].says(t.After).Size; n > 0 {
		return units.FormatSize(n) + " each as backend." + t.From + " says"
	}
	for _, p := range s.campaign.Phases {
		for _, o := range p.Outputs {
			if p.Name == t.After && o.Name == t.Output && o.MinSize > 0 {
				return units.FormatSize(o.MinSize) + " each, the least they may be"
			}
		}
	}
	return ""
}

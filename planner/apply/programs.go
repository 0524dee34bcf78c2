package apply

import (
	"slices"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// programs identify the programs of a plan's phases, by phase.
func programs(p *planner.Plan) map[string]state.Program {
	out := map[string]state.Program{}
	for _, pp := range p.Phases {
		images := slices.Clone(pp.Images)
		slices.Sort(images)
		images = slices.DeleteFunc(slices.Compact(images), func(digest string) bool { return digest == "" })
		if pp.Source.Digest != "" || len(images) > 0 {
			out[pp.Phase.Name] = state.Program{Source: pp.Source.Digest, Revision: state.Revision{Commit: pp.Source.Commit, Dirty: pp.Source.Dirty}, Locks: pp.Source.Locks, Images: images}
		}
	}
	return out
}

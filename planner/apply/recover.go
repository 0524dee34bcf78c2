package apply

import (
	"context"
	"slices"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state"
)

// quietFor is how long files must not have changed: a job of the lost state may still write
// them.
const quietFor = 10 * time.Minute

// Unsettled takes the jobs out of a plan that adopts files which changed lately, and says
// how many they are, by phase.
func Unsettled(p *planner.Plan, now time.Time) map[string]int {
	out := map[string]int{}
	for _, pp := range p.Phases {
		for i, k := range pp.Kind {
			young := func(o state.Output) bool { return now.Sub(time.Unix(0, o.MTime)) < quietFor }
			if k == planner.AdoptFiles && slices.ContainsFunc(pp.Details[i].Seen, young) {
				pp.Kind[i] = planner.Skipped
				out[pp.Phase.Name]++
			}
		}
	}
	return out
}

// Recover records the files that a plan adopts, and a hold on everything, in one go: until
// a person lifts it, nothing starts that a lost state may have started already. It
// returns how many jobs it adopted.
func Recover(ctx context.Context, c Config, hold state.Hold) (adopted int, err error) {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return 0, err
	}
	e.Emit(begin(e.Plan, e.Campaign, e.st.Lineage, mint(), e.Variables, e.Muster, e.Clock()))
	e.Emit(state.HoldSet{Hold: hold})
	before := countAdopted(e.st)
	e.rows.reuse.adoptFiles()
	if !e.Sync() {
		err = e.err
	}
	return countAdopted(e.st) - before, err
}

func countAdopted(st *state.State) (n int) {
	for _, j := range st.Jobs {
		if j.Adopted() {
			n++
		}
	}
	return n
}

package planner

import "github.com/muster-run/muster/lang"

// shownWaits is how many blockers a detail names.
const shownWaits = 3

// block stops cells that wait for something held. Producers are decided
// already; each group of an input is looked at once.
func (ps phases) block(w *draft) {
	for _, name := range w.p.DependsOn {
		if from := ps.byPhase[name]; from != nil {
			if waits := from.stuck(); len(waits) > 0 {
				w.stopStarting(Blocked, Detail{Waits: waits})
				return
			}
		}
	}
	for _, in := range w.p.Inputs {
		from := ps.byPhase[in.From.Name]
		if len(from.stuck()) == 0 {
			continue
		}
		waits, why := make([][]string, in.Groups()), make([]string, in.Groups())
		seen := make([]bool, in.Groups())
		for i, k := range w.pp.Kind {
			if !k.Starts() || k == Resubmit {
				continue
			}
			g := in.GroupOf(i)
			if !seen[g] {
				seen[g] = true
				waits[g], why[g] = ps.shortOf(in, g)
			}
			if waits[g] != nil {
				w.stop(i, Blocked, Detail{Waits: waits[g], Text: why[g]})
			}
		}
		if in.Partial() {
			ps.goOn(w, in)
		}
	}
}

func stuck(k Kind) bool { return k == HeldKind || k == Blocked || k == Altered }

// stuck names the first cells of a phase that are held or blocked.
func (w *draft) stuck() []string {
	var out []string
	for i, k := range w.pp.Kind {
		if stuck(k) {
			if out = append(out, w.p.Address(i)); len(out) == shownWaits {
				break
			}
		}
	}
	return out
}

func (w *draft) stuckAmong(cells []int) []string {
	var out []string
	for _, i := range cells {
		if stuck(w.pp.Kind[i]) {
			if out = append(out, w.p.Address(i)); len(out) == shownWaits {
				break
			}
		}
	}
	return out
}

// blockedBy names the held jobs for which a cell waits, nil when there are
// none.
func (ps phases) blockedBy(w *draft, i int) []string {
	for _, name := range w.p.DependsOn {
		if from := ps.byPhase[name]; from != nil {
			if waits := from.stuck(); len(waits) > 0 {
				return waits
			}
		}
	}
	for _, in := range w.p.Inputs {
		if waits, _ := ps.shortOf(in, in.GroupOf(i)); waits != nil {
			return waits
		}
	}
	return nil
}

func members(in *lang.Input, cell int) []int { return in.Members(in.GroupOf(cell)) }

// stopped is the detail of a cell that a gate or a block stopped and whose
// detail is not kept.
func (ps phases) stopped(w *draft, i int, kind Kind) Detail {
	if kind == HeldKind {
		return Detail{State: w.record(i), Text: w.pp.Hold}
	}
	d := Detail{State: w.record(i), Waits: ps.blockedBy(w, i)}
	if d.Waits == nil {
		for _, cell := range w.p.Pilot {
			if cell != i && stuck(w.pp.Kind[cell]) {
				d.Waits = append(d.Waits, w.p.Address(cell))
			}
		}
	}
	return d
}

package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/plan"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// bytesChanged compares the bytes a job read with the bytes its producers
// have now, for producers that stand.
func (m *maker) bytesChanged(w *work, i int, job *state.Job) []Reason {
	if len(job.InputBytes) == 0 {
		return nil
	}
	var out []Reason
	for _, in := range m.hash.Inputs(w.p) {
		old := job.InputBytes[in.Name]
		if old == "" {
			continue
		}
		if now := m.inputDigest(in, in.GroupOf(i)); now != "" && now != old {
			out = append(out, change.Of("input."+in.Name, change.Short(old), change.Short(now)))
		}
	}
	return out
}

const unknownDigest = "?" // worked out, and not known

// inputDigest is the digest of the bytes a group reads now; "" if a producer
// has not made them or will make them again.
func (m *maker) inputDigest(in *lang.Input, g int) string {
	cache := m.digest[in]
	if cache == nil {
		cache = make([]string, in.Groups())
		m.digest[in] = cache
	}
	if cache[g] == "" {
		cache[g] = unknownDigest
		if d := m.digestOf(in, g); d != "" {
			cache[g] = d
		}
	}
	if cache[g] == unknownDigest {
		return ""
	}
	return cache[g]
}

func (m *maker) digestOf(in *lang.Input, g int) string {
	from := m.byPhase[in.From.Name]
	members := in.Members(g)
	digests := make([]string, 0, len(members))
	for _, p := range members {
		switch from.pp.Kind[p] {
		case None, Move, Bytes, Accept, Record, Skipped:
		case Restore:
			o := observed.RecordOf(&from.restored[p].Job, in.Output)
			if o == nil {
				return ""
			}
			digests = append(digests, o.Digest)
			continue
		default:
			return ""
		}
		d := m.in.Observed.Digest(from.record(p), in.Output)
		if d == "" {
			return ""
		}
		digests = append(digests, d)
	}
	return offer.InputBytes(digests)
}

// rerunMissing re-runs completed jobs whose files are gone and needed by a job
// of this plan, consumers first, so that need travels up.
func (m *maker) rerunMissing() {
	missing := false
	for _, w := range m.works {
		for _, k := range w.pp.Kind {
			missing = missing || k == Missing
		}
	}
	if !missing {
		return
	}
	for at := len(m.works) - 1; at >= 0; at-- {
		w := m.works[at]
		for _, in := range w.p.Inputs {
			from := m.byPhase[in.From.Name]
			needed := make([]bool, in.Groups())
			for i, k := range w.pp.Kind {
				g := in.GroupOf(i)
				if needed[g] || !k.Starts() || !w.chosen(i) {
					continue
				}
				needed[g] = true
				m.need(from, in.Members(g), w.p.Address(i))
			}
		}
	}
}

func (m *maker) need(from *work, producers []int, by string) {
	for _, p := range producers {
		if from.pp.Kind[p] != Missing {
			continue
		}
		d := from.pp.Details[p]
		d.Reasons = append(d.Reasons, change.Of("outputs", "as recorded", fmt.Sprintf("%s, and %s needs them", d.Text, by)))
		d.Text, d.Destroy = "", true
		kind := m.unlessHeld(from, p, &d, Rerun)
		d.Destroy = kind.Destroys()
		from.pp.Kind[p] = kind
		from.pp.Details[p] = d
	}
}

// touched lists the files that somebody touched and that hold the same bytes:
// recorded as they are now, they need not be opened by each plan to come.
func (m *maker) touched() {
	for _, address := range slices.Sorted(maps.Keys(m.in.Observed.Touched)) {
		job := m.st.Jobs[address]
		if job == nil {
			continue
		}
		t := plan.Touched{Address: address}
		for _, o := range m.in.Observed.Touched[address] {
			if rec := observed.RecordOf(job, o.Name); rec != nil {
				t.Outputs = append(t.Outputs, observed.As(rec, &o))
			}
		}
		m.plan.Touched = append(m.plan.Touched, t)
	}
}

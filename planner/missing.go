package planner

import (
	"fmt"
	"maps"
	"slices"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// bytesChanged compares the bytes a job read with the bytes its producers
// have now, for producers that stand.
func (df *differ) bytesChanged(w *draft, i int, job *state.Job) []Reason {
	if len(job.InputBytes) == 0 {
		return nil
	}
	var out []Reason
	for _, in := range df.now.Inputs(w.p) {
		old := job.InputBytes.Get(in.Name)
		if old == "" {
			continue
		}
		now := ""
		if missing := MissingKeys(job, in.Name); len(missing) == 0 {
			now = df.inputDigest(in, in.GroupOf(i))
		} else if out := Without(job); in.Partial() {
			now = df.digestOf(in, slices.DeleteFunc(slices.Clone(members(in, i)), func(m int) bool { return out(in, m) }))
		}
		if now != "" && now != old {
			r := change.Of("input."+in.Name, change.Short(old), change.Short(now))
			r.Files = df.newerFiles(in, in.GroupOf(i), job)
			out = append(out, r)
		}
	}
	return out
}

// newerFiles names those of the files that a group reads that were made or taken
// over after a job had begun; all of them where none tells.
func (df *differ) newerFiles(in *lang.Input, g int, job *state.Job) string {
	from := df.byPhase[in.From.Name]
	var all, newer []string
	for _, p := range in.Members(g) {
		rec := from.record(p)
		if rec == nil {
			continue
		}
		o := observed.RecordOf(rec, in.Output)
		if o == nil {
			continue
		}
		all = append(all, o.Path)
		if at := job.Last(); at != nil && !at.Started.IsZero() && max(o.MTime, o.CTime) > at.Started.UnixNano() {
			newer = append(newer, o.Path)
		}
	}
	if len(newer) > 0 {
		return change.Names(newer)
	}
	return change.Names(all)
}

const unknownDigest = "?" // worked out, and not known

// inputDigest is the digest of the bytes a group reads now; "" if a producer
// has not made them or will make them again.
func (df *differ) inputDigest(in *lang.Input, g int) string {
	cache := df.digest[in]
	if cache == nil {
		cache = make([]string, in.Groups())
		df.digest[in] = cache
	}
	if cache[g] == "" {
		cache[g] = unknownDigest
		if d := df.digestOf(in, in.Members(g)); d != "" {
			cache[g] = d
		}
	}
	if cache[g] == unknownDigest {
		return ""
	}
	return cache[g]
}

func (df *differ) digestOf(in *lang.Input, members []int) string {
	from := df.byPhase[in.From.Name]
	digests := make([]string, 0, len(members))
	for _, p := range members {
		switch from.pp.Kind[p] {
		case None, Move, Bytes, Accept, Record, Skipped:
		case Restore, AdoptFiles:
			o := observed.RecordOf(&from.restored[p].Job, in.Output)
			if o == nil {
				return ""
			}
			digests = append(digests, o.Digest)
			continue
		default:
			return ""
		}
		d := df.in.Observed.Digest(from.record(p), in.Output)
		if d == "" {
			return ""
		}
		digests = append(digests, d)
	}
	return offer.InputBytes(digests)
}

// rerunMissing re-runs completed jobs whose files are gone and needed by a job
// of this plan, consumers first, so that need travels up.
func (df *differ) rerunMissing() {
	missing := false
	for _, w := range df.drafts {
		for _, k := range w.pp.Kind {
			missing = missing || k == Missing
		}
	}
	if !missing {
		return
	}
	for at := len(df.drafts) - 1; at >= 0; at-- {
		w := df.drafts[at]
		for _, in := range w.p.Inputs {
			from := df.byPhase[in.From.Name]
			needed := make([]bool, in.Groups())
			for i, k := range w.pp.Kind {
				g := in.GroupOf(i)
				if needed[g] || !k.Starts() || !w.chosen(i) {
					continue
				}
				needed[g] = true
				df.need(from, in.Members(g), w.p.Address(i))
			}
		}
	}
}

func (df *differ) need(from *draft, producers []int, by string) {
	for _, p := range producers {
		if from.pp.Kind[p] != Missing {
			continue
		}
		d := from.pp.Details[p]
		d.Reasons = append(d.Reasons, change.Of("outputs", "as recorded", fmt.Sprintf("%s, and %s needs them", d.Text, by)))
		d.Text, d.Destroy = "", true
		kind := df.unlessHeld(from, p, &d, Rerun)
		d.Destroy = kind.Destroys()
		from.pp.Kind[p] = kind
		from.pp.Details[p] = d
	}
}

// touched lists the files that somebody touched and that hold the same bytes:
// recorded as they are now, they need not be opened by each plan to come.
func touched(fs *facts) (out []Touched) {
	for _, address := range slices.Sorted(maps.Keys(fs.in.Observed.Touched)) {
		job := fs.st.Jobs[address]
		if job == nil {
			continue
		}
		t := Touched{Address: address}
		for _, o := range fs.in.Observed.Touched[address] {
			if rec := observed.RecordOf(job, o.Name); rec != nil {
				t.Outputs = append(t.Outputs, observed.As(rec, &o))
			}
		}
		out = append(out, t)
	}
	return out
}

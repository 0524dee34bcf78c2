package planner

import (
	"slices"
	"strings"
	"sync"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/rounds"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Facts are the input of a plan and what follows from it alone. Every step may
// ask them, and none changes them.
type facts struct {
	in          Input
	st          *state.State // never nil
	holds       []hold
	filesystems *transfers.Filesystems

	verdicts func() map[string]state.Validation // of smokes, by fingerprint: the latest
	rises    func() map[place.PoolAt]place.Rise // pools that billed more than they quote
	rounds   func() []*rounds.Round
}

func newFacts(in Input) (*facts, diag.List) {
	fs := &facts{in: in, st: in.State, filesystems: transfers.NewFilesystems(in.Pools, in.Campaign.Backends)}
	if fs.st == nil {
		fs.st = &state.State{}
	}
	if len(in.Observed.Rentals) > 0 {
		now := *fs.st
		now.Rentals = in.Observed.Machines(now.Rentals, in.Now)
		fs.st = &now
	}
	fs.rises = sync.OnceValue(func() map[place.PoolAt]place.Rise { return place.Rises(fs.st) })
	fs.rounds = sync.OnceValue(func() []*rounds.Round { return rounds.Of(in.Campaign, fs.st) })
	fs.verdicts = sync.OnceValue(func() map[string]state.Validation {
		out := map[string]state.Validation{}
		for _, v := range fs.st.Validations {
			if old, ok := out[v.Fingerprint]; !ok || v.At.After(old.At) {
				out[v.Fingerprint] = v
			}
		}
		return out
	})
	var diags diag.List
	fs.holds, diags = holdsOf(fs.st)
	return fs, diags
}

// observe joins a record with the refresh.
func (fs *facts) observe(job *state.Job) observed.Fact { return fs.in.Observed.Join(job, fs.in.Now) }

// heldBy says who holds a cell and why; "" when nobody does.
func (fs *facts) heldBy(w *draft, i int) string {
	if text := fs.heldByPerson(w, i); text != "" {
		return text
	}
	if b, open := breakerOf(fs.st.Breakers, w.p, i); open {
		return breakerText(b)
	}
	return rounds.Holds(w.p, fs.rounds())
}

// mayBeHeld reports whether a breaker, or the round before it, holds cells of a phase.
func (fs *facts) mayBeHeld(p *lang.Phase) bool {
	for _, b := range fs.st.Breakers {
		if b.Phase == p.Name {
			return true
		}
	}
	return rounds.Holds(p, fs.rounds()) != ""
}

// heldByPerson says which hold covers a cell and why; "" when none does.
func (fs *facts) heldByPerson(w *draft, i int) string {
	for at := range fs.holds {
		if h := &fs.holds[at]; h.covers(addr.Job{Phase: w.p.Name, Key: w.p.Key(i)}, w.p.Label(i)) {
			return h.text()
		}
	}
	return ""
}

// retries reports whether a failed fact is tried again by the phase's policy.
func (fs *facts) retries(p *lang.Phase, f observed.Fact) bool {
	n := 0
	var earlier []string
	if at := f.Job.Last(); at != nil {
		n = max(at.N, 1)
		for i := range f.Job.Attempts {
			if a := &f.Job.Attempts[i]; a.N < at.N {
				earlier = append(earlier, a.Class)
			}
		}
	}
	for _, c := range fs.in.Campaign.Failures {
		if class := orElse(c.Class, c.Name); class == f.Class && c.Action != "" {
			return c.Action == "retry" && n < p.Retry.Launches()
		}
	}
	return p.Retry.Spare(f.Class, earlier) || p.Retry.Covers(f.Class) && n < p.Retry.Launches()
}

// unasked reports whether a job starts only by the default of one more launch
// after a fault of its machine: nobody wrote a retry of its class.
func (fs *facts) unasked(w *draft, i int) bool {
	job := w.record(i)
	if w.pp.Kind[i] != Retry || job == nil || w.is(w.rerun, i) {
		return false
	}
	class := fs.observe(job).Class
	return !w.p.Retry.Covers(class) && !slices.ContainsFunc(fs.in.Campaign.Failures, func(c lang.Failure) bool { return orElse(c.Class, c.Name) == class && c.Action == "retry" })
}

// override finds a person's word for a phase's gate or one cell of it.
func (fs *facts) override(w *draft, cell int, print string) (state.Override, bool) {
	for at := len(fs.st.Overrides) - 1; at >= 0; at-- {
		o := fs.st.Overrides[at]
		if o.Fingerprint != "" && o.Fingerprint != print {
			continue
		}
		switch o.Address {
		case "phase." + w.p.Name, w.p.Address(cell), state.SmokeAddress(w.p.Address(cell)):
			return o, true
		}
	}
	return state.Override{}, false
}

// guarded reports whether prevent_rerun holds for a phase: it is written, or
// remembered and not disarmed.
func (fs *facts) guarded(w *draft) bool {
	l := w.p.Lifecycle
	return l.PreventRerun || fs.st.Protected[w.p.Name] && !l.PreventRerunSet
}

func (fs *facts) backend(address string) *lang.Backend {
	for _, b := range fs.in.Campaign.Backends {
		if b.Address() == address {
			return b
		}
	}
	return nil
}

// can is the capabilities of a backend.
func (fs *facts) can(address string) offer.Capabilities {
	typ, _, _ := strings.Cut(address, ".")
	return fs.in.Can[typ]
}

// rents reports whether a backend's machines are rented for the jobs.
func (fs *facts) rents(address string) bool {
	b := fs.backend(address)
	return b != nil && fs.in.Can[b.Type].Rents
}

// keepsFiles reports whether a backend's files outlive its rented machines.
func (fs *facts) keepsFiles(address string) bool {
	b := fs.backend(address)
	return b != nil && fs.in.Can[b.Type].KeepsFiles
}

// family is the GPU family of a decision's pool, "" for CPU work.
func (fs *facts) family(d place.Decision) string {
	if d.Shape.GPUs == 0 {
		return ""
	}
	for _, p := range fs.in.Pools {
		if p.Backend == d.Backend && p.Name == d.Pool {
			return p.Family(fs.in.Pools)
		}
	}
	return ""
}

// imported is the attempt that the adoption of a job will be, nil where none is
// adopted under an address.
func (fs *facts) imported(address string) *state.Attempt {
	for _, im := range fs.in.Campaign.Imports {
		if im.To == address && !im.Files() {
			o := fs.in.Observed.Imported[address]
			return &state.Attempt{N: 1, Backend: strings.TrimPrefix(im.Backend, "backend."), Pool: o.Pool, Started: o.Started}
		}
	}
	return nil
}

// targeted reports whether -target leaves a record that has no cell in the plan.
func (fs *facts) targeted(job *state.Job) bool {
	if len(fs.in.Options.Targets) == 0 {
		return true
	}
	phase, key, ok := addr.Split(job.Address)
	return ok && slices.ContainsFunc(fs.in.Options.Targets, func(text string) bool {
		s, err := addr.ParseSelection(text)
		return err == nil && s.Match(addr.Job{Phase: phase, Key: key}, job.Name)
	})
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func wording(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

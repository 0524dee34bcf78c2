package apply

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
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

// A Recalled job is one that its backend keeps a record of, of a campaign whose state is lost.
type Recalled struct {
	Backend string
	offer.Observation
}

// Over reports whether it has ended for good.
func (r *Recalled) Over() bool {
	return r.Status == offer.Completed || r.Status == offer.Failed || r.Status == offer.Cancelled || r.Status == offer.Lost
}

// newer reports whether r is a later job of the address of other: one that is not over, else the
// one that ended last.
func (r *Recalled) newer(other *Recalled) bool {
	if r.Over() != other.Over() {
		return !r.Over()
	}
	if !r.Ended.Equal(other.Ended) {
		return r.Ended.After(other.Ended)
	}
	return r.Record.First > other.Record.First
}

// A Lost state signed workdirs of backends with the name of its campaign.
type Lost struct {
	site.Signature
	Signed map[string]bool // backends
}

// States are the states that signed the workdirs of a campaign's backends, first those of its
// own folder on this machine.
func States(ctx context.Context, c *lang.Campaign, pools []offer.Pool, provider func(string) (providers.Provider, error)) (out []Lost) {
	own := site.TenantOf(c)
	at := map[string]int{}
	for _, pool := range pools {
		i := slices.IndexFunc(c.Backends, func(b *lang.Backend) bool { return b.Address() == pool.Backend })
		if i < 0 {
			continue
		}
		b := c.Backends[i]
		p, err := provider(b.Type)
		if err != nil {
			continue
		}
		for _, s := range site.Signatures(ctx, p, site.FilesystemOf(site.Backend(c, b, ""), pools, pool.Name)) {
			if s.Campaign != c.Name || !minted(s.Lineage) {
				continue
			}
			i, seen := at[s.Lineage]
			if !seen {
				i = len(out)
				at[s.Lineage] = i
				out = append(out, Lost{s, map[string]bool{}})
			}
			out[i].Signed[pool.Backend] = true
		}
	}
	slices.SortFunc(out, func(a, b Lost) int {
		return cmp.Or(order(b.Tenant == own)-order(a.Tenant == own), strings.Compare(a.Lineage, b.Lineage))
	})
	return out
}

// mostFence bounds the fence of the lost state that a backend may report: no campaign has had
// so many holders.
const mostFence = 1 << 32

// minted reports whether a text may be an id that muster made.
func minted(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == 16
}

func order(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// Recall asks backends, which are configured for a lineage, for their records of its jobs; of
// each address it returns the latest. Unasked are the backends that keep none, did not answer, or
// were signed by that state and have lost their records, and why.
func Recall(ctx context.Context, names []string, signed map[string]bool, can func(backend string) offer.Capabilities, provider func(string) (providers.Provider, error)) (jobs []Recalled, unasked map[string]string) {
	unasked = map[string]string{}
	latest := map[string]*Recalled{}
	for _, name := range names {
		if !can(name).Recalls {
			unasked[name] = "it keeps no records of jobs"
			continue
		}
		typ, _, _ := strings.Cut(name, ".")
		p, err := provider(typ)
		var seen []offer.Observation
		if err == nil {
			seen, err = p.Find(ctx, name, nil)
		}
		var e *providers.Error
		if errors.As(err, &e) && e.Class == providers.NotFound && !signed[name] && !can(name).Rents {
			continue
		}
		if err != nil {
			unasked[name] = providers.Reason(err)
			continue
		}
		for _, o := range seen {
			if o.Record == nil || o.Presence != offer.Found || !minted(o.Token) || o.Record.First < 1 || o.Record.Fence > mostFence {
				unasked[name] = "a record that it showed is damaged"
				continue
			}
			r := &Recalled{name, o}
			if was := latest[r.key()]; was == nil || r.newer(was) {
				latest[r.key()] = r
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(latest)) {
		jobs = append(jobs, *latest[key])
	}
	return jobs, unasked
}

// key is the address of its record in the state.
func (r *Recalled) key() string {
	if r.Record.Smoke {
		return state.SmokeAddress(r.Record.Address)
	}
	return r.Record.Address
}

// A Recovered says what Recover did.
type Recovered struct {
	Recorded int  // jobs that backends keep records of
	Adopted  int  // other jobs, whose files it adopted
	Held     bool // everything is held
}

// Recover records the jobs that backends recalled as submitted, and the files that a plan adopts;
// the next refresh finds the status of the jobs. Unless complete, and where the campaign has a
// recalled job no longer, it sets a hold on everything: other jobs that the lost state started
// may run. Else it clears the hold.
func Recover(ctx context.Context, c Config, known []Recalled, complete bool, hold state.Hold) (r Recovered, err error) {
	e, done, err := quiet(ctx, c)
	defer done()
	if err != nil {
		return r, err
	}
	e.Emit(begin(e.Plan, e.Campaign, e.st.Lineage, mint(), e.Variables, e.Muster, e.Clock()))
	e.Emit(state.HoldSet{Hold: hold})
	before := countAdopted(e.st)
	for i := range known {
		if e.backends.Contacts[known[i].Backend] == nil {
			if err := e.backends.Open(known[i].Backend); err != nil {
				return r, err
			}
		}
		if e.rows.recall(&known[i]) {
			r.Recorded++
		}
	}
	e.rows.reuse.adoptFiles()
	if r.Held = !complete || r.Recorded < len(known); !r.Held {
		e.Emit(state.HoldClear{By: e.Who, At: e.Clock()})
	}
	if !e.Sync() {
		err = e.err
	}
	r.Adopted = countAdopted(e.st) - before
	return r, err
}

// recall records a job of the lost state as submitted. It reports whether the campaign has it.
func (rw *rows) recall(r *Recalled) bool {
	j, err := addr.Parse(r.Record.Address)
	p := rw.byName[j.Phase]
	b := rw.backends.At(r.Backend, r.Pool)
	if err != nil || p == nil || b == nil {
		return false
	}
	i, ok := p.Index(j.Key)
	if !ok {
		return false
	}
	f := &attempt{Attempt: backends.Attempt{Key: r.key(), Addr: r.Record.Address, Token: r.Token, B: b, Pool: r.Pool, N: r.Record.First, First: r.Record.First, Status: cells.Queued, Handle: r.Handle},
		p: p, cell: int32(i), smoke: r.Record.Smoke, max: r.Record.First}
	if f.where = p.places.On(f.cell, b.Name, r.Pool); f.where == nil || f.smoke {
		f.where = f.whereItWas(rw.Plan)
	}
	rw.accounts.setAside(f, nil)
	v := f.variant()
	rec := rw.builder.record(f, p.Requests(v)[p.RequestOf(i, v)], p.Label(i))
	rec.Result = r.Record.Result // of the campaign as it was
	rw.Emit(state.Intended{Job: rec, Fresh: true, At: rw.Clock(), Attempt: state.Attempt{N: f.N, Token: r.Token, Backend: b.Name, Pool: r.Pool, Host: site.Host(b.Conf),
		Workdir: f.filesystem().Workdir, Queue: b.Pools[r.Pool].Queue, Fence: rw.Session.Fence(), Ceiling: f.tab.One, Rates: f.where.Rates(f.where.Shape)}})
	rw.Emit(state.Submitted{Address: f.Key, Token: r.Token, Handle: r.Handle, Stage: string(r.Stage), At: rw.Clock()})
	rw.accounts.adopt(f)
	return true
}

func countAdopted(st *state.State) (n int) {
	for _, j := range st.Jobs {
		if j.Adopted() {
			n++
		}
	}
	return n
}

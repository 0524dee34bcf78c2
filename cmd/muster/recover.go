package main

import (
	"context"
	"flag"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/snapshot"
	"github.com/muster-run/muster/state/store"
)

func recoverCommand(a *app) *command.Command {
	return &command.Command{
		Name: "recover", Short: "rebuild a lost state from the records and files on the backends", MaxArgs: 0,
		Long: `For a campaign whose state is lost with its backup and history. Asks every backend for its records of the lost state's jobs, and searches
for the outputs of the others; shows its findings and the questions that no backend can answer, and asks. With your approval it records
the jobs that backends know, whether they wait, run or have ended, verifies the outputs of the others, and records those that pass as done
(adopted). If a backend cannot be asked, or keeps no records, it sets a hold on everything: jobs of the lost state may still run
there, so check for them before you run muster resume. It fails if the state records a job that muster ran.`,
		Examples: []command.Example{{"muster recover", "look, ask, record"}, {"muster recover -dry-run", "look, and record nothing"},
			{"muster recover -lineage=4f1c0f6e2b9d4c5aa1b2c3d4e5f60718", "take over the jobs of another folder or machine, which must run no muster any more"}},
		Exits: []command.Exit{command.Locked},
		Setup: func(fs *flag.FlagSet) command.Action {
			r := recovering{app: a}
			r.v.register(fs)
			fs.BoolVar(&r.dryRun, "dry-run", false, "show the outputs, and record nothing")
			fs.BoolVar(&r.yes, "auto-approve", false, "do not ask")
			fs.StringVar(&r.lineage, "lineage", "", "`ID` of the lost state, where this folder is not the one that it was in")
			fs.BoolVar(&r.json, "json", false, "print as JSON")
			return r.run
		},
	}
}

type recovering struct {
	*app
	v                 varFlags
	dryRun, yes, json bool
	lineage           string
}

func (r *recovering) run(ctx context.Context, _ []string) error {
	c, s, err := r.openStore(r.v)
	if err != nil {
		return err
	}
	st, err := s.Read(ctx)
	if err != nil {
		return err
	}
	if err := lost(st); err != nil {
		return err
	}
	for _, p := range c.Phases {
		if len(p.Outputs) > 0 {
			c.Imports = append(c.Imports, lang.Import{To: "phase." + p.Name})
		}
	}
	f, err := r.find(ctx, c, st)
	if f != nil {
		defer f.close()
	}
	if err != nil {
		return err
	}
	r.describe(f)
	if !r.json {
		r.printf("%s", f.page.Text(r.out.Width))
	} else if r.dryRun {
		return r.encode(f.page)
	}
	if r.dryRun {
		return nil
	}
	if err := r.confirm(f.page); err != nil {
		return err
	}
	hold := r.hold()
	if len(f.jobs) > 0 && f.lineage != st.Lineage {
		if err := r.begin(ctx, c, f, hold); err != nil {
			return err
		}
	}
	return r.change(ctx, c, "recover", func(s store.Session) error {
		if err := lost(s.State()); err != nil {
			return err
		}
		return r.record(ctx, c, s, f, hold)
	})
}

// lost refuses a state that records work of muster's own.
func lost(st *state.State) error {
	n := 0
	for _, j := range st.All() {
		if !j.Adopted() {
			n++
		}
	}
	if n > 0 {
		return command.Usagef("the state has %s that muster ran or started: nothing is lost. To adopt files of other jobs, add an import block", units.Count(n, "record"))
	}
	return nil
}

// A found is the backends' records of a campaign whose state is lost.
type found struct {
	*work
	lineage  string // of the lost state; "" = none is known
	signed   map[string]bool
	jobs     []apply.Recalled
	unasked  map[string]string
	others   []page.OtherState
	complete bool // every backend was asked for its records
	page     page.Recovery
}

// find looks for the lost state's lineage and for the backends' records of it.
func (r *recovering) find(ctx context.Context, c *lang.Campaign, st *state.State) (*found, error) {
	first, err := r.look(ctx, c, st, apply.Lost{}, false)
	if err != nil {
		return first, err
	}
	states := apply.States(ctx, c, first.input.Pools, first.provider(ctx))
	if st.Lineage != "" {
		first.close()
		if r.lineage != "" && r.lineage != st.Lineage {
			return nil, command.Usagef("the state here has lineage %s already: move the muster.state files aside, and run muster recover -lineage=%s again", st.Lineage, r.lineage)
		}
		return r.look(ctx, c, st, signed(states, st.Lineage), false)
	}
	own := site.TenantOf(c)
	best, asked, complete := first, 0, true
	for _, s := range states {
		if s.Lineage != r.lineage && (r.lineage != "" || s.Tenant != own) {
			continue
		}
		f, err := r.look(ctx, c, st, s, false)
		if err != nil {
			best.close()
			return f, err
		}
		complete = complete && f.complete
		switch asked++; {
		case asked == 1 || len(best.jobs) == 0:
			best.close()
			best = f
		case len(f.jobs) == 0:
			f.close()
		default:
			f.close()
			best.close()
			return nil, command.Usagef("backends keep records of jobs of two lost states of this campaign: name one with -lineage=%s or -lineage=%s", best.lineage, s.Lineage)
		}
	}
	if asked == 0 && r.lineage != "" {
		best.close()
		return nil, command.Usagef("no backend has files of a state with lineage %s", r.lineage)
	}
	best.complete = best.complete && complete
	for _, s := range states {
		if s.Tenant != own && s.Lineage != best.lineage {
			best.others = append(best.others, page.OtherState{Lineage: s.Lineage, Dir: s.Dir, Host: s.Host})
		}
	}
	return best, nil
}

// signed is the state of a lineage among some.
func signed(states []apply.Lost, lineage string) apply.Lost {
	if i := slices.IndexFunc(states, func(l apply.Lost) bool { return l.Lineage == lineage }); i >= 0 {
		return states[i]
	}
	return apply.Lost{Signature: site.Signature{Lineage: lineage}}
}

// look plans as if nothing were held, and asks backends for their records of a lineage, unless
// all of them are known to have none.
func (r *recovering) look(ctx context.Context, c *lang.Campaign, st *state.State, of apply.Lost, none bool) (*found, error) {
	free := *st
	free.Holds, free.Lineage = nil, of.Lineage
	w, err := r.planTrusted(ctx, c, &free, planFlags{refresh: true})
	if w == nil || w.plan == nil {
		return nil, err
	}
	f := &found{work: w, lineage: of.Lineage, signed: of.Signed, complete: none}
	if err != nil {
		return f, err
	}
	if f.lineage != "" && !none {
		f.recall(ctx)
	}
	return f, nil
}

// describe makes the page before the question. Unless every backend showed its records, files
// that changed lately are not adopted: an unknown job may still write them.
func (r *recovering) describe(f *found) {
	young := map[string]int{}
	if !f.complete {
		young = apply.Unsettled(f.plan, r.now())
	}
	f.page = page.RecoveryOf(f.campaign.Name, f.plan, f.input.Observed, f.input.Pools, young, f.counts(), f.complete)
	f.page.Lineage, f.page.Unasked, f.page.Others = f.lineage, f.unasked, f.others
}

// recall asks each backend that answers for its records, and leaves their jobs' files alone.
func (f *found) recall(ctx context.Context) {
	var names []string
	for _, p := range f.input.Pools {
		if !slices.Contains(names, p.Backend) {
			names = append(names, p.Backend)
		}
	}
	can := func(name string) offer.Capabilities {
		typ, _, _ := strings.Cut(name, ".")
		return f.input.Can[typ]
	}
	f.jobs, f.unasked = apply.Recall(ctx, names, f.signed, can, f.provider(ctx))
	f.complete = len(f.signed) > 0 && len(f.unasked) == 0 && len(f.input.Observed.AllAway()) == 0
	known := map[string]bool{}
	for _, j := range f.jobs {
		known[j.Record.Address] = known[j.Record.Address] || !j.Record.Smoke
	}
	for _, pp := range f.plan.Phases {
		for i, k := range pp.Kind {
			if k == planner.AdoptFiles && known[pp.Phase.Address(i)] {
				pp.Kind[i] = planner.Skipped
			}
		}
	}
}

// counts are the recalled jobs of each phase.
func (f *found) counts() map[string]page.Recalled {
	out := map[string]page.Recalled{}
	for _, j := range f.jobs {
		a, _ := addr.Parse(j.Record.Address)
		n := out[a.Phase]
		if j.Over() {
			n.Ended++
		} else {
			n.Unfinished++
		}
		out[a.Phase] = n
	}
	return out
}

func (r *recovering) confirm(found page.Recovery) error {
	if r.yes {
		return nil
	}
	yes, err := r.ask(found.Question() + " Only \"yes\" is accepted: ")
	if err == nil && !yes {
		r.printf("Nothing was recorded.\n")
		err = command.Failed
	}
	return err
}

func (r *recovering) hold() state.Hold {
	who, _ := whoami()
	return state.Hold{Who: who, Reason: "recovered: jobs of the lost state may still run", At: r.now()}
}

// begin writes a state with the lineage and the fence of the lost one, with everything held
// until the jobs are in it.
func (r *recovering) begin(ctx context.Context, c *lang.Campaign, f *found, hold state.Hold) error {
	s, err := r.storeTo(c, true)
	if err != nil {
		return err
	}
	st := &state.State{Version: state.SchemaVersion, Campaign: c.Name, Lineage: f.lineage, Holds: []state.Hold{hold}}
	for _, j := range f.jobs {
		st.Fence = max(st.Fence, j.Record.Fence)
	}
	data, err := snapshot.Bytes(st)
	if err != nil {
		return err
	}
	return s.Push(ctx, data, false)
}

// record looks again, under the lease, and records its findings.
func (r *recovering) record(ctx context.Context, c *lang.Campaign, s store.Session, seen *found, hold state.Hold) error {
	of := apply.Lost{Signature: site.Signature{Lineage: s.State().Lineage}, Signed: seen.signed}
	f, err := r.look(ctx, c, s.State(), of, seen.complete && len(seen.jobs) == 0)
	if f != nil {
		defer f.close()
	}
	if err != nil {
		return err
	}
	f.complete = f.complete && seen.complete
	r.describe(f)
	who, host := whoami()
	did, err := apply.Recover(ctx, apply.Config{Plan: f.plan, Campaign: f.campaign, Session: s, Provider: f.provider(ctx), Who: who, Host: host, Muster: version, Progress: r.said}, f.jobs, f.complete, hold)
	if err != nil {
		return err
	}
	f.page.Recorded, f.page.Adopted, f.page.Held = did.Recorded, did.Adopted, did.Held
	if r.json {
		return r.encode(f.page)
	}
	r.printf("%s", f.page.Ending(r.out.Width))
	return nil
}

// said prints why files were not adopted.
func (r *recovering) said(p progress.Snapshot) {
	if p.Bad && p.Note != "" {
		r.notef("%s\n", term.CleanLine(term.Join(": ", p.Address, p.Note)))
	}
}

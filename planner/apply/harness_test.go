package apply

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/planner/apply/refresh"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A stage is a campaign, a world to run it in, and a disk that remembers.
type stage struct {
	t     testing.TB
	dir   string
	world *world
	disk  *disk
	conf  func(*Config)
	opts  planner.Options
	notes []string
}

func newStage(t testing.TB, hcl string) *stage {
	t.Helper()
	s := &stage{t: t, dir: t.TempDir(), world: newWorld(), disk: &disk{}}
	s.write(hcl)
	return s
}

func (s *stage) write(hcl string) {
	s.t.Helper()
	if !strings.Contains(hcl, "campaign ") {
		hcl = "campaign \"c\" {}\n" + hcl
	}
	if err := os.WriteFile(filepath.Join(s.dir, "c.muster.hcl"), []byte(hcl), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) load() *lang.Campaign {
	s.t.Helper()
	c, diags := lang.Load(lang.LoadOptions{Dir: s.dir, Schemas: map[string]offer.Schema{"local": {Type: "local", Can: s.world.can}, "far": {Type: "far", Can: s.world.can}}})
	if diags.HasErrors() {
		s.t.Fatalf("load: %v", diags.Err())
	}
	return c
}

// plan refreshes and plans as the command does.
func (s *stage) plan(c *lang.Campaign, st *state.State, f *fake) *planner.Plan {
	s.t.Helper()
	provider := func(string) (providers.Provider, error) { return f, nil }
	r := refresh.Observe(s.t.Context(), refresh.Input{Campaign: c, State: st, Provider: provider, Now: time.Now(), Refresh: true, Options: s.opts})
	p, diags := planner.Make(planner.Input{Campaign: c, State: st, Observed: r.Observed, Pools: r.Pools, Quotes: r.Quotes, Can: r.Can, Now: time.Now(), Options: s.opts})
	if diags.HasErrors() {
		s.t.Fatalf("plan: %v", diags.Err())
	}
	return p
}

// apply plans and applies, as one process that may die.
func (s *stage) apply(ctx context.Context, alive func() error) (progress.Outcome, error) {
	s.t.Helper()
	f := &fake{world: s.world}
	m := s.disk.open(alive)
	c := s.load()
	plan := s.plan(c, m.st, f)
	f.alive = alive
	conf := s.config(plan, c, m, f)
	if s.conf != nil {
		s.conf(&conf)
	}
	return Run(ctx, conf)
}

func (s *stage) config(plan *planner.Plan, c *lang.Campaign, m *memory, f *fake) Config {
	return Config{Plan: plan, Campaign: c, Session: m, Who: "ada", Host: "h", Environ: []string{},
		Provider: func(string) (providers.Provider, error) { return f, nil },
		Progress: func(p progress.Snapshot) {
			if p.Note != "" && p.Waits == "" { // a wait is told by a timer of its own
				s.notes = append(s.notes, p.Note)
			}
		}}
}

func (s *stage) must(ctx context.Context) progress.Outcome {
	s.t.Helper()
	o, err := s.apply(ctx, nil)
	if err != nil {
		s.t.Fatalf("apply: %v", err)
	}
	return o
}

// state is the durable events, folded.
func (s *stage) state() *state.State {
	st := &state.State{Version: state.SchemaVersion}
	for _, ev := range s.disk.events {
		st.Apply(ev)
	}
	return st
}

// counts are the actions of a plan made now, as text.
func (s *stage) counts() planner.Counts {
	s.t.Helper()
	return s.plan(s.load(), s.state(), &fake{world: s.world}).Counts
}

// agree checks the state against the world's own record.
func (s *stage) agree() {
	s.t.Helper()
	for token, n := range s.world.starts {
		if n != 1 {
			s.t.Errorf("launch %s started %d times", token, n)
		}
	}
	st := s.state()
	for _, j := range s.world.jobs {
		key := j.Address
		if j.Smoke {
			key = state.SmokeAddress(key)
		}
		rec := st.Jobs[key]
		if rec == nil {
			continue
		}
		if last := rec.Last(); last != nil && connection.Stem(last.Token) == j.Token && rec.Status != state.Held {
			want := map[offer.Status]state.Status{offer.Completed: state.Completed, offer.Failed: state.Failed, offer.Cancelled: state.Cancelled}[j.status]
			if want != "" && rec.Status != want {
				s.t.Errorf("%s is %s in the state and %s in the world", key, rec.Status, j.status)
			}
		}
	}
	for key, rec := range st.Jobs {
		if rec.Status == state.Completed && s.world.jobs[connection.Stem(rec.Last().Token)] == nil {
			s.t.Errorf("%s is completed, and the world never saw it", key)
		}
	}
}

func (s *stage) check(o progress.Outcome, want string) {
	s.t.Helper()
	got := fmt.Sprintf("%s done=%d failed=%d held=%d blocked=%d left=%d", cmp.Or(string(o.Stopped), "end"), o.Done, o.Failed, o.Held, o.Blocked, o.Left)
	if got != want {
		s.t.Errorf("outcome\n got %s (%s)\nwant %s\nnotes: %s", got, o.Why, want, strings.Join(s.notes, "\n       "))
	}
	s.agree()
}

// story is the failures in the state, and every durable event.
func (s *stage) story() string {
	var b strings.Builder
	for _, ev := range s.disk.events {
		if ev.Kind() != "began" && ev.Kind() != "defined" {
			fmt.Fprintf(&b, "%s %s\n", ev.Kind(), text(ev))
		}
	}
	return b.String()
}

// notesWith are the notes that contain a text.
func (s *stage) notesWith(text string) (out []string) {
	for _, n := range s.notes {
		if strings.Contains(n, text) {
			out = append(out, n)
		}
	}
	return out
}

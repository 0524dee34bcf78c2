package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/progress"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A mortal process dies at its nth step, and stays dead.
type mortal struct {
	mu   sync.Mutex
	left int
	dead bool
	die  context.CancelFunc
}

var errCrash = errors.New("crash")

func (m *mortal) step() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left <= 0 {
		m.dead = true
	}
	if m.dead {
		m.die()
		return errCrash
	}
	return nil
}

// campaignOf draws a campaign of up to three phases joined in every way.
func campaignOf(t *rapid.T) string {
	var b strings.Builder
	axis := func(name string) string {
		n := rapid.IntRange(1, 4).Draw(t, name)
		var vs []string
		for i := range n {
			vs = append(vs, fmt.Sprint(i))
		}
		return name + " = [" + strings.Join(vs, ", ") + "]"
	}
	x := axis("x")
	smoke := rapid.Bool().Draw(t, "smoke")
	pilot := rapid.Bool().Draw(t, "pilot")
	far := [3]string{} // phases that run elsewhere
	for i := range far {
		if rapid.Bool().Draw(t, "far") {
			far[i] = "  place { candidates = [backend.far.x] }\n"
		}
	}
	b.WriteString("backend \"far\" \"x\" { workdir = \"/w\" }\n")
	retry := "  retry {\n    on = [\"oom\"]\n    max_attempts = 3\n    delay = \"1ms\"\n  }\n"
	fmt.Fprintf(&b, "phase \"a\" {\n  grid { axes = { %s } }\n%s  job {\n    command = \"run ${cell.x} > ${output.o}\"\n    output \"o\" { path = \"a${cell.x}\" }\n  }\n", x, retry+far[0])
	if smoke {
		b.WriteString("  smoke { cells = \"ends\" }\n")
	}
	if pilot {
		b.WriteString("  pilot { cells = \"first\" }\n")
	}
	b.WriteString("}\n")
	if rapid.Bool().Draw(t, "b") {
		fmt.Fprintf(&b, "phase \"b\" {\n  grid { axes = {\n    %s\n    %s\n  } }\n%s  job {\n    command = \"run ${input.i} ${cell.x} ${cell.y} > ${output.o}\"\n    input \"i\" { from = phase.a.output.o }\n    output \"o\" { path = \"b${cell.x}_${cell.y}\" }\n  }\n}\n", x, axis("y"), retry+far[1])
		b.WriteString("phase \"c\" {\n" + retry + far[2] + "  job {\n    command = \"sum ${input_file.all} > ${output.o}\"\n    input \"all\" { from_all = phase.b.output.o }\n    output \"o\" { path = \"c\" }\n  }\n}\n")
	} else if rapid.Bool().Draw(t, "d") {
		b.WriteString("phase \"d\" {\n  depends_on = [phase.a]\n" + retry + far[1] + "  job {\n    command = \"run > ${output.o}\"\n    output \"o\" { path = \"d\" }\n  }\n}\n")
	}
	return b.String()
}

// TestCrashesAtAnyStep kills the engine again and again, at steps drawn at
// random, tearing the journal as it goes. In the end everything is done, no
// launch started twice, and state and world tell the same story.
func TestCrashesAtAnyStep(t *testing.T) {
	// Requirement: SUB-01, SUB-02, SUB-03
	rapid.Check(t, func(rt *rapid.T) {
		hcl := campaignOf(rt)
		s := newStage(t, hcl)
		s.world.slots = rapid.IntRange(1, 4).Draw(rt, "slots")
		s.world.can.HostQueue = rapid.Bool().Draw(rt, "host queue")
		s.world.can.Retries = s.world.can.HostQueue
		flaky := rapid.IntRange(0, 3).Draw(rt, "flaky")
		s.world.result = func(j providers.Job, launch int) jobResult {
			if !j.Smoke && launch == 1 && flaky > 0 && len(j.Address)%3 == flaky-1 {
				return jobResult{exit: 1, class: "oom_host"}
			}
			return jobResult{}
		}
		crashes := rapid.IntRange(0, 12).Draw(rt, "crashes")
		for i := range crashes {
			steps := rapid.IntRange(1, 40).Draw(rt, "steps")
			tear := rapid.IntRange(0, 8).Draw(rt, "tear")
			ctx, die := context.WithCancel(t.Context())
			m := &mortal{left: steps, die: die}
			s.conf = func(c *Config) {
				mem := c.Session.(*memory)
				mem.alive, mem.tear = m.step, tear
				c.Time = stepping{clock.Wall, time.Duration(i) * time.Millisecond}
			}
			o, err := s.applyMortal(ctx, m)
			die()
			if err == nil && o.Stopped == progress.None && o.Failed == 0 && !m.dead {
				break
			}
		}
		s.conf = nil
		o, err := s.apply(t.Context(), nil)
		if err != nil {
			rt.Fatalf("the last apply: %v\n%s", err, hcl)
		}
		if o.Done != o.Total || o.Stopped != progress.None {
			rt.Fatalf("outcome %+v\n%s\n%s\n%s", o, hcl, strings.Join(s.notes, "\n"), s.story())
		}
		s.agree()
		for key, n := range s.world.onces {
			if n != 1 {
				rt.Errorf("%s completed %d times\n%s", key, n, hcl)
			}
		}
		if c := s.counts(); c.Changes() {
			rt.Errorf("the plan of an applied plan: %+v\n%s", c, hcl)
		}
		if t.Failed() {
			rt.Fatalf("campaign:\n%s\nstate: %s", hcl, text(s.state().Jobs))
		}
	})
}

// TestCrashesBetweenEdits kills the engine and edits the campaign while nobody
// looks, again and again: what was under way then ends as another job than is
// wanted now. In the end all is done as it was written last.
func TestCrashesBetweenEdits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hcl := campaignOf(rt)
		s := newStage(t, hcl)
		s.world.slots = rapid.IntRange(1, 4).Draw(rt, "slots")
		s.world.can.HostQueue = rapid.Bool().Draw(rt, "host queue")
		s.world.can.Retries = s.world.can.HostQueue
		flaky := rapid.IntRange(0, 3).Draw(rt, "flaky")
		s.world.result = func(j providers.Job, launch int) jobResult {
			if !j.Smoke && flaky > 0 && len(j.Address)%3 == flaky-1 && launch == 1 {
				return jobResult{exit: 1, class: "oom_host"}
			}
			return jobResult{}
		}
		edit := func() {
			b, c := rapid.SampledFrom([]string{"run", "run -v", "run -w"}).Draw(rt, "b"), rapid.SampledFrom([]string{"sum", "sum -v"}).Draw(rt, "c")
			s.write(strings.NewReplacer("run ", b+" ", "sum ", c+" ").Replace(hcl))
		}
		for range rapid.IntRange(1, 6).Draw(rt, "crashes") {
			ctx, die := context.WithCancel(t.Context())
			m := &mortal{left: rapid.IntRange(1, 40).Draw(rt, "steps"), die: die}
			s.conf = func(c *Config) { c.Session.(*memory).alive = m.step }
			_, _ = s.applyMortal(ctx, m)
			die()
			if rapid.Bool().Draw(rt, "ends") {
				s.world.until(func() bool {
					s.world.step()
					return !slices.ContainsFunc(slices.Collect(maps.Values(s.world.jobs)), func(j *fakeJob) bool { return j.status == offer.Running })
				})
			}
			edit()
		}
		s.write(hcl)
		s.conf = nil
		o := s.must(t.Context())
		if c := s.counts(); o.Done != o.Total || c.Changes() {
			rt.Fatalf("outcome %+v, and the plan then: %+v\n%s\n%s", o, c, hcl, strings.Join(s.notes, "\n"))
		}
		for _, j := range s.state().Jobs {
			if made := s.world.jobs[connection.Stem(j.Last().Token)]; !j.Smoke && strings.Contains(made.Shell, " -") {
				rt.Errorf("%s is done as %q\n%s", j.Address, made.Shell, hcl)
			}
		}
	})
}

// applyMortal plans as a living process and applies as one that dies.
func (s *stage) applyMortal(ctx context.Context, m *mortal) (progress.Outcome, error) {
	f := &fake{world: s.world}
	mem := s.disk.open(nil)
	c := s.load()
	plan := s.plan(c, mem.st, f)
	f.alive = m.step
	conf := Config{Plan: plan, Campaign: c, Session: mem, Who: "ada", Environ: []string{},
		Provider: func(string) (providers.Provider, error) { return f, nil }}
	s.conf(&conf)
	return Run(ctx, conf)
}

// stepping is a clock that differs from run to run.
type stepping struct {
	clock.Clock
	by time.Duration
}

func (s stepping) Now() time.Time { return time.Now().Add(s.by) }

var _ = state.Queued

package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/precedent"
	"github.com/muster-run/muster/state"
)

// A SecondLook is for a reader who approves a plan, where the campaign has known
// patterns or a policy that asks for more than one person.
type SecondLook struct {
	// Approvals is how many persons must approve the plan; 0 is a campaign without
	// known patterns and without such a policy. Why says which conditions of the
	// policy hold; it is empty where one person is enough.
	Approvals int       `json:"approvals"`
	Why       []string  `json:"why,omitempty"`
	Verdicts  []Verdict `json:"verdicts,omitempty"` // the worst first
}

// A Verdict is one thing that was looked at.
type Verdict struct {
	Color Color  `json:"color"`
	Of    string `json:"of,omitempty"` // an address
	Text  string `json:"text"`
}

// A Color is how a verdict reads at a glance.
type Color string

// The colors, the worst first. A plan with a red one needs a saved plan or cannot
// be applied at all; its text says which.
const (
	Red    Color = "red"
	Yellow Color = "yellow"
	Green  Color = "green"
)

// secondLook holds the jobs that start against the known patterns, and the plan
// against the policy.
func secondLook(fs *facts, ps phases, money forecast.Forecast) (out SecondLook, told report) {
	c := fs.in.Campaign
	policy := c.Policy.SecondLook
	asked := policy.Approvals > 1
	if !asked && len(c.Known) == 0 || !ps.anythingStarts() {
		return out, told
	}
	out.Approvals = 1
	s := &looking{phases: ps, verdicts: map[Color][]Verdict{}}
	for _, k := range c.Known {
		s.known(k)
	}
	if n := len(c.Known) - s.matched; n > 0 {
		s.say(Green, "", fmt.Sprintf("%s of %s of the catalogue match no job that starts", units.FormatCount(int64(n)), units.Count(len(c.Known), "pattern")))
	}
	if asked {
		if out.Why = s.policy(fs, policy, money); len(out.Why) > 0 {
			out.Approvals = policy.Approvals
			s.asks = append(s.asks, fmt.Sprintf("%s must approve it (%s): save it with -out, and let each of the others run `muster approve FILE` before you apply it",
				units.Count(policy.Approvals, "person"), strings.Join(out.Why, "; ")))
		}
	}
	for _, color := range []Color{Red, Yellow, Green} {
		out.Verdicts = append(out.Verdicts, s.verdicts[color]...)
	}
	return out, s.report
}

// looking is one second look under way.
type looking struct {
	phases
	report
	verdicts map[Color][]Verdict
	matched  int // patterns that match a job
}

func (s *looking) say(color Color, of, text string) {
	s.verdicts[color] = append(s.verdicts[color], Verdict{Color: color, Of: of, Text: text})
}

// known holds the jobs of all phases against one pattern.
func (s *looking) known(k *lang.Known) {
	found := false
	for _, w := range s.drafts {
		n, first := s.matches(k, w)
		if n == 0 {
			continue
		}
		found = true
		of := "phase." + w.p.Name
		seen := ""
		if k.Seen != "" {
			seen = ", seen " + k.Seen
		}
		text := fmt.Sprintf("known pattern %q (%s%s) in %s, first %s: %s", k.Name, k.Risk, seen, amount.Jobs(n), w.p.Address(first), k.Mitigation)
		switch k.Risk {
		case "critical":
			s.say(Red, of, text)
			s.diags.Errorat(k.Range, fmt.Sprintf("Known %q forbids jobs of %s", k.Name, of), "It matches %s of %s, first %s%s. %s\n\nChange the campaign until the pattern's `when` is false for them. Nothing was started.",
				amount.Jobs(n), of, w.p.Address(first), seen, k.Mitigation)
		case "high":
			s.say(Red, of, text)
			s.asks = append(s.asks, fmt.Sprintf("the known pattern %q, of high risk, matches %s of %s", k.Name, amount.Jobs(n), of))
		default:
			s.say(Yellow, of, text)
		}
	}
	if found {
		s.matched++
	}
}

// matches counts the jobs of a phase that start and that a pattern is about.
func (s *looking) matches(k *lang.Known, w *draft) (n, first int) {
	m := k.Matcher(w.p)
	if m == nil {
		return 0, 0
	}
	for i, kind := range w.pp.Kind {
		if !kind.Starts() {
			continue
		}
		d := w.pp.Decision(i)
		if m.Matches(i, lang.KnownSite{Backend: d.Backend, Pool: d.Pool}) {
			if n++; n == 1 {
				first = i
			}
		}
	}
	if ds := m.Unread(); len(ds) > 0 {
		s.say(Yellow, "phase."+w.p.Name, fmt.Sprintf("known %q cannot be judged for some jobs: %s", k.Name, strings.TrimRight(ds[0].Detail, ".")))
		for _, d := range ds {
			d.Severity = diag.Warning
			s.diags.Append(d)
		}
	}
	return n, first
}

// policy is which conditions of a second look hold.
func (s *looking) policy(fs *facts, p lang.SecondLook, money forecast.Forecast) (why []string) {
	if p.Always {
		return []string{fmt.Sprintf("policy require_approvals is %d", p.Approvals)}
	}
	hold := func(holds bool, bad, good string) {
		if holds {
			why = append(why, bad)
			s.say(Yellow, "", bad)
		} else {
			s.say(Green, "", good)
		}
	}
	if p.WalltimeAbove > 0 {
		of, longest := s.longest()
		limit := units.FormatDuration(p.WalltimeAbove)
		may := "run " + units.FormatDuration(longest)
		if longest == endless {
			may = "run without end"
		}
		hold(longest > p.WalltimeAbove, fmt.Sprintf("a job of %s may %s, and policy walltime_above is %s", of, may, limit), "no job that starts may run longer than "+limit)
	}
	if p.MoneyAbove != "" {
		limit := amount.Words("usd", p.MoneyAbove)
		line := forecast.LineOf(money.All(), "usd")
		switch {
		case line.Unit != "" && line.AtMost.Mark == forecast.Unknown:
			hold(true, fmt.Sprintf("its cost is unknown, and policy money_above is %s", limit), "")
		default:
			most := amount.Words("usd", line.AtMost.Text)
			hold(amount.Exceeds(amount.Of(line.AtMost.Text), amount.Of(p.MoneyAbove)), fmt.Sprintf("it may cost up to %s, and policy money_above is %s", most, limit), "it costs no more than "+limit)
		}
	}
	if p.FirstOfKind {
		var first []string
		kinds := s.firstOfKind(fs)
		for _, k := range kinds {
			if of := "phase." + k.w.p.Name; k.like != nil {
				s.say(Green, of, "first of its kind here, like "+k.like.Text())
			} else {
				first = append(first, k.w.p.Name)
				s.say(Yellow, of, "first of its kind: no job of it was ever completed")
			}
		}
		if len(first) > 0 {
			why = append(why, "no job of "+phaseNames(first)+" was ever completed")
		} else if len(kinds) == 0 {
			s.say(Green, "", "each phase that starts jobs completed some before")
		}
	}
	return why
}

// endless is the walltime of a job that states none.
const endless = time.Duration(math.MaxInt64)

// longest is the longest walltime of a job that starts, and its phase.
func (s *looking) longest() (of string, longest time.Duration) {
	for _, w := range s.drafts {
		asked := w.p.Requests(lang.Run)
		for i, kind := range w.pp.Kind {
			if !kind.Starts() {
				continue
			}
			wall := asked[w.p.RequestOf(i, lang.Run)].Shape.Walltime
			if wall == 0 {
				wall = endless
			}
			if wall > longest {
				of, longest = "phase."+w.p.Name, wall
			}
		}
	}
	return of, longest
}

// first is a phase that starts jobs and completed none so far.
type first struct {
	w    *draft
	like *precedent.Record // of the same code, in another campaign; nil = none
}

// firstOfKind are the phases that start jobs and completed none so far. Results
// that jobs did not make here count, too: a person looked at them.
func (ps phases) firstOfKind(fs *facts) (out []first) {
	completed := map[string]bool{}
	for _, job := range fs.st.Jobs {
		if !job.Smoke && slices.ContainsFunc(job.Attempts, func(a state.Attempt) bool { return !a.Ended.IsZero() && a.Class == "" }) {
			completed[job.Phase] = true
		}
	}
	for _, w := range ps.drafts {
		if started(w.pp) == 0 || completed[w.p.Name] {
			continue
		}
		k := first{w: w}
		if like := ps.precedent(fs, w); like != nil && like.Source == w.pp.Source.Digest {
			k.like = like
		}
		out = append(out, k)
	}
	return out
}

// precedent is the result of another campaign for the work of a phase, nil if none.
func (ps phases) precedent(fs *facts, w *draft) *precedent.Record {
	if len(fs.in.Precedents) == 0 {
		return nil
	}
	work := precedent.Work{Campaign: fs.in.Campaign.Name, Phase: w.p.Name, Kind: lang.KindOf(w.p), Source: w.pp.Source.Digest}
	for i, k := range w.pp.Kind {
		if k.Starts() {
			d := w.pp.Decision(i)
			work.Backend, work.GPUs = d.Backend, d.Shape.GPUs
			break
		}
	}
	return precedent.Of(fs.in.Precedents, work)
}

// notePrecedents says which phases without a completed job other campaigns have done,
// unless the second look does.
func notePrecedents(fs *facts, ps phases) (notes []string) {
	if len(fs.in.Precedents) == 0 {
		return nil
	}
	policy := fs.in.Campaign.Policy.SecondLook
	looked := policy.Approvals > 1 && policy.FirstOfKind && !policy.Always
	for _, k := range ps.firstOfKind(fs) {
		like := ps.precedent(fs, k.w)
		if like == nil || looked && k.like != nil {
			continue
		}
		text := fmt.Sprintf("phase.%s is the first of its kind here, like %s.", k.w.p.Name, like.Text())
		if k.like == nil {
			text += " Its code was another."
		}
		notes = append(notes, text)
	}
	return notes
}

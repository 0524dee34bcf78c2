package addr

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/shell"
)

// A Selection names jobs as a person types it:
//
//	phase.students["N=384,seed=42"]   one job; also without the shell-eaten quotes
//	phase.students["N=384,*"]         all jobs with N=384
//	phase.students["seed=4*"]         globs * and ? in values; without a * element all axes must be given
//	phase.students                    all jobs of a phase
//	seed=42                           the jobs with these values, of the one phase that has them
//	s42_N384_n50000                   a job's label
type Selection struct {
	Text  string
	Phase string // "" = any
	Pairs []Match
	Open  bool   // other axes may have any value
	Label string // alone: no phase, no pairs
}

// A Match is a condition on one axis.
type Match struct {
	Axis string
	Text string
	Glob bool // Text holds * or ?
}

// ParseSelection reads one selection. Anything that is neither an address nor
// axis=value is taken for a label.
func ParseSelection(s string) (Selection, error) {
	text := strings.TrimSpace(s)
	sel := Selection{Text: text}
	if text == "" {
		return sel, fmt.Errorf("the address is empty: write phase.NAME, phase.NAME[\"axis=value,…\"], axis=value or a job's name")
	}
	rest, isPhase := strings.CutPrefix(text, "phase.")
	if !isPhase {
		if axis, _, ok := strings.Cut(text, "="); ok && ValidName(axis) {
			sel.Open = true
			return sel, sel.pairs(text)
		}
		sel.Label = text
		return sel, nil
	}
	name, sub, has := strings.Cut(rest, "[")
	if !validPattern(name) {
		return sel, fmt.Errorf("%q is not a phase's name", clip(name))
	}
	sel.Phase = name
	if !has {
		sel.Open = true
		return sel, nil
	}
	key, err := innerKey(sub)
	if err != nil {
		return sel, fmt.Errorf("%q: %w", clip(text), err)
	}
	return sel, sel.pairs(key)
}

// validPattern is a name that may contain * and ?.
func validPattern(s string) bool {
	plain := strings.NewReplacer("*", "a", "?", "a").Replace(s)
	return ValidName(plain)
}

// innerKey takes the key out of the text after "[": quoted as an address has
// it, in single quotes, or bare when the shell ate the quotes.
func innerKey(sub string) (string, error) {
	sub = strings.TrimSuffix(sub, "]")
	switch {
	case strings.HasPrefix(sub, `"`):
		key, n, err := unquote(sub)
		if err != nil || n != len(sub) {
			return "", fmt.Errorf("the key must be inside [\"…\"]")
		}
		return key, nil
	case len(sub) > 1 && sub[0] == '\'' && sub[len(sub)-1] == '\'':
		return sub[1 : len(sub)-1], nil
	case sub == "":
		return "", fmt.Errorf("the key is empty: write axis=value, or * for all jobs")
	}
	return sub, nil
}

// pairs reads axis=value elements and lone asterisks.
func (s *Selection) pairs(key string) error {
	for rest := key; ; {
		if lone, after, more := strings.Cut(rest, ","); lone == "*" {
			s.Open = true
			if !more {
				return nil
			}
			rest = after
			continue
		}
		axis, val, ok := strings.Cut(rest, "=")
		if !ok || !ValidName(axis) {
			return fmt.Errorf("%q is not axis=value", clip(rest))
		}
		for _, m := range s.Pairs {
			if m.Axis == axis {
				return fmt.Errorf("axis %s is twice in %q", axis, clip(key))
			}
		}
		m, n, err := matchOf(axis, val)
		if err != nil {
			return err
		}
		s.Pairs = append(s.Pairs, m)
		if rest = val[n:]; rest == "" {
			return nil
		}
		rest = rest[1:]
	}
}

// matchOf reads one value, quoted or a glob, and returns its length.
func matchOf(axis, val string) (Match, int, error) {
	if strings.HasPrefix(val, `"`) {
		text, n, err := unquote(val)
		if err == nil && n < len(val) && val[n] != ',' {
			err = fmt.Errorf("text follows the closing quote")
		}
		if err != nil {
			return Match{}, 0, fmt.Errorf("axis %s: %w", axis, err)
		}
		return Match{Axis: axis, Text: text}, n, nil
	}
	n := strings.IndexByte(val, ',')
	if n < 0 {
		n = len(val)
	}
	return Match{Axis: axis, Text: val[:n], Glob: strings.ContainsAny(val[:n], "*?")}, n, nil
}

// Match reports whether a job is selected.
func (s Selection) Match(j Job, label string) bool {
	if s.Label != "" {
		return j.String() == s.Label || label != "" && globMatch(s.Label, label)
	}
	if s.Phase == "" && label == s.Text {
		return true // a label may look like axis=value
	}
	if s.Phase != "" && !globMatch(s.Phase, j.Phase) {
		return false
	}
	if len(s.Pairs) == 0 {
		return s.Open
	}
	pairs, err := ParseKey(j.Key)
	return err == nil && s.matchPairs(pairs)
}

func (s Selection) matchPairs(pairs []Pair) bool {
	if !s.Open && len(pairs) != len(s.Pairs) {
		return false
	}
	for _, m := range s.Pairs {
		found := false
		for _, p := range pairs {
			if p.Axis == m.Axis {
				found = p.Text == m.Text || m.Glob && globMatch(m.Text, p.Text)
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// globMatch matches * (any text) and ? (one character), in linear space and
// at most quadratic time.
func globMatch(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	pi, ti, star, mark := 0, 0, -1, 0
	for ti < len(t) {
		switch {
		case pi < len(p) && p[pi] == '*':
			star, mark = pi, ti
			pi++
		case pi < len(p) && (p[pi] == '?' || p[pi] == t[ti]):
			pi++
			ti++
		case star >= 0:
			mark++
			pi, ti = star+1, mark
		default:
			return false
		}
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// A Candidate is a job that may be selected.
type Candidate struct {
	Job
	Label string
}

// Select returns the jobs, ascending and once each, that any of the texts
// selects. Each text must select a job; axis=value without a phase must mean
// one phase only.
func Select(texts []string, jobs []Candidate) ([]int, diag.List) {
	var ds diag.List
	chosen := make([]bool, len(jobs))
	for _, text := range texts {
		sel, err := ParseSelection(text)
		if err != nil {
			ds.Errorf("Invalid address", "%v.", err)
			continue
		}
		hits := sel.hits(jobs)
		switch {
		case len(hits) == 0:
			ds.Errorf("No such job", "%s", sel.unknown(jobs))
			continue
		case sel.Phase == "" && sel.Label == "":
			if phases := phasesOf(jobs, hits); len(phases) > 1 {
				ds.Errorf("The address is ambiguous", "%s selects jobs of %s. Say which phase: %s.", clip(text), strings.Join(phases, ", "), sel.within(phases[0], jobs))
				continue
			}
		}
		for _, i := range hits {
			chosen[i] = true
		}
	}
	var picked []int
	for i, yes := range chosen {
		if yes {
			picked = append(picked, i)
		}
	}
	return picked, ds
}

func (s Selection) hits(jobs []Candidate) (hits []int) {
	for i := range jobs {
		if s.Match(jobs[i].Job, jobs[i].Label) {
			hits = append(hits, i)
		}
	}
	return hits
}

func phasesOf(jobs []Candidate, hits []int) (names []string) {
	seen := map[string]bool{}
	for _, i := range hits {
		if p := jobs[i].Phase; !seen[p] {
			seen[p] = true
			names = append(names, p)
		}
	}
	return names
}

// unknown names the missing jobs, and similar names.
func (s Selection) unknown(jobs []Candidate) string {
	all := make([]int, len(jobs))
	for i := range all {
		all[i] = i
	}
	phases := phasesOf(jobs, all)
	switch {
	case s.Label != "":
		known := append([]string(nil), phases...)
		for _, j := range jobs {
			if len(known) < 10_000 { // enough to suggest from
				known = append(known, j.Label)
			}
		}
		return fmt.Sprintf("%q is not the address or name of a job%s", clip(s.Text), hint(s.Label, known, "phase.", phases))
	case s.Phase != "" && len((Selection{Phase: s.Phase, Open: true}).hits(jobs)) == 0:
		return fmt.Sprintf("There is no phase %q%s", s.Phase, hint(s.Phase, phases, "", nil))
	}
	if bad, axes := s.badAxis(jobs); bad != "" {
		return fmt.Sprintf("%q: there is no axis %q%s", clip(s.Text), bad, hint(bad, axes, "", nil))
	}
	open := s
	open.Open = true
	switch hits := open.hits(jobs); {
	case s.Open:
		return fmt.Sprintf("No job matches %s.", clip(s.Text))
	case len(hits) > 0:
		return fmt.Sprintf("No job has the address %s. Where you leave axes out, end with *: %s.", clip(s.Text), s.within(jobs[hits[0]].Phase, jobs))
	}
	return fmt.Sprintf("No job has the address %s.", clip(s.Text))
}

// within is the selection of the same jobs of one phase, as a shell takes it:
// with a * where the phase has further axes.
func (s Selection) within(phase string, jobs []Candidate) string {
	var key []byte
	for _, m := range s.Pairs {
		if len(key) > 0 {
			key = append(key, ',')
		}
		if key = append(append(key, m.Axis...), '='); m.Glob {
			key = append(key, m.Text...)
		} else {
			key = AppendKeyText(key, m.Text)
		}
	}
	for _, j := range jobs {
		if j.Phase != phase {
			continue
		}
		if pairs, err := ParseKey(j.Key); err == nil && len(pairs) > len(s.Pairs) {
			key = append(key, ",*"...)
		}
		break // all jobs of a phase have the same axes
	}
	return shell.Enclose(Job{Phase: phase, Key: string(key)}.String())
}

// badAxis finds an axis that none of the phase's jobs has.
func (s Selection) badAxis(jobs []Candidate) (bad string, axes []string) {
	have := map[string]bool{}
	last := ""
	for _, j := range jobs {
		if j.Phase == last || s.Phase != "" && !globMatch(s.Phase, j.Phase) {
			continue // all jobs of a phase have the same axes
		}
		last = j.Phase
		pairs, _ := ParseKey(j.Key)
		for _, p := range pairs {
			if !have[p.Axis] {
				have[p.Axis] = true
				axes = append(axes, p.Axis)
			}
		}
	}
	for _, m := range s.Pairs {
		if !have[m.Axis] {
			return m.Axis, axes
		}
	}
	return "", nil
}

func hint(given string, known []string, prefix string, prefixed []string) string {
	s := diag.Suggest(given, known)
	for _, p := range prefixed {
		if p == s || p == given {
			return fmt.Sprintf("; did you mean %q?", prefix+p)
		}
	}
	if s == "" {
		return "."
	}
	return fmt.Sprintf("; did you mean %q?", s)
}

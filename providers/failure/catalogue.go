package failure

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// maxPattern bounds a campaign's pattern, in bytes; RE2 makes matching linear
// in the tail, this bounds the factor.
const maxPattern = 4 << 10

// A Catalogue is a campaign's rules, compiled, in front of the built-in ones.
// The zero value holds the built-in ones alone. It may be used concurrently.
type Catalogue struct {
	own []compiled
}

type compiled struct {
	Rule
	re *regexp.Regexp // nil: matches by exit code alone
}

// Compile readies rules for Classify. The catalogue holds the good rules even
// when the error names bad ones.
func Compile(rules []Rule) (*Catalogue, error) {
	c := &Catalogue{}
	var errs []error
	for _, r := range rules {
		k, err := compile(r)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.own = append(c.own, k)
	}
	return c, errors.Join(errs...)
}

// compile makes ^ and $ match at lines, as people mean them in a log.
func compile(r Rule) (compiled, error) {
	k := compiled{Rule: r}
	switch {
	case r.Match == "" && len(r.Exit) == 0:
		return k, fmt.Errorf("failure %q: neither match nor exit_codes", r.Name)
	case len(r.Match) > maxPattern:
		return k, fmt.Errorf("failure %q: match is longer than %d bytes", r.Name, maxPattern)
	case r.Match == "":
		return k, nil
	}
	re, err := regexp.Compile("(?m)" + r.Match)
	if err != nil {
		return k, fmt.Errorf("failure %q: match: %w", r.Name, err)
	}
	k.re = re
	return k, nil
}

// verdict is the verdict of a campaign's rule on a job, if it matches.
func (k compiled) verdict(e Evidence, tail []byte) (Verdict, bool) {
	v := Verdict{Class: k.Class, Rule: k.Name, Hint: k.Hint, Action: k.Action}
	if v.Class == "" {
		v.Class = k.Name
	}
	if k.re != nil {
		if loc := lastMatch(k.re, tail); loc >= 0 {
			v.Line = cleanLine(lineAt(tail, loc))
			return v, true
		}
	}
	return v, e.Exit != nil && slices.Contains(k.Exit, *e.Exit)
}

// lastMatch is where the last match begins, or -1.
func lastMatch(re *regexp.Regexp, b []byte) int {
	all := re.FindAllIndex(b, -1)
	if len(all) == 0 {
		return -1
	}
	return all[len(all)-1][0]
}

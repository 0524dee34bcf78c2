package command

import (
	"flag"
	"slices"
	"strings"
)

// Complete proposes the last of words. Bare addresses have no quotes.
func (t *Table) Complete(words []string, bare bool) []string {
	if len(words) > 1 && words[0] == "help" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := strings.TrimLeft(words[len(words)-1], `'"`)
	prefix, all := "", []string(nil)
	if c, rest, ok := t.find(words[:len(words)-1]); ok {
		prefix, all = t.completeArgs(c, rest, last)
	} else {
		all = t.commandWords(words[:len(words)-1])
	}
	var out []string
	for _, s := range all {
		if s = prefix + s; bare || strings.Contains(last, "[") && !strings.Contains(last, `["`) {
			s = strings.NewReplacer(`\"`, "", `"`, "").Replace(s)
		}
		if bare && strings.Contains(s, " ") && last == words[len(words)-1] {
			continue // would be two words
		}
		if strings.HasPrefix(s, last) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *Table) commandWords(before []string) []string {
	var out []string
	for _, c := range t.Commands {
		words := strings.Fields(c.Name)
		if !c.Hidden && len(words) > len(before) && slices.Equal(words[:len(before)], before) {
			out = append(out, words[len(before)])
		}
	}
	return out
}

// completeArgs proposes the value of an option, an option, or an argument;
// each goes on after prefix.
func (t *Table) completeArgs(c *Command, before []string, last string) (prefix string, all []string) {
	fs, _ := t.FlagSet(c)
	if name, value, has := strings.Cut(last, "="); has && strings.HasPrefix(last, "-") {
		return name + "=", t.flagValues(fs.Lookup(strings.TrimLeft(name, "-")), value)
	}
	if strings.HasPrefix(last, "-") {
		dashes := "-"
		if strings.HasPrefix(last, "--") {
			dashes = "--"
		}
		fs.VisitAll(func(f *flag.Flag) { all = append(all, dashes+f.Name) })
		return "", all
	}
	if n := len(before); n > 0 && strings.HasPrefix(before[n-1], "-") {
		if f := fs.Lookup(strings.TrimLeft(before[n-1], "-")); f != nil && !isSwitch(f) {
			return "", t.flagValues(f, last)
		}
	}
	if c.Complete == nil || t.Settle() != nil {
		return "", nil
	}
	return "", c.Complete(last)
}

// isSwitch reports whether a flag takes no value.
func isSwitch(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// flagValues proposes values of an option; nil where that is a file or
// anything.
func (t *Table) flagValues(f *flag.Flag, begun string) []string {
	if f == nil || t.Settle() != nil {
		return nil
	}
	if v := t.Values(f.Name, begun); v != nil {
		return v
	}
	if isSwitch(f) {
		return []string{"true", "false"}
	}
	return nil
}

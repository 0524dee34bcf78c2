package retry

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// Rules are the campaign's own failure catalogue as providers take it.
func Rules(c *lang.Campaign) []failure.Rule {
	var out []failure.Rule
	for _, f := range c.Failures {
		out = append(out, failure.Rule{Name: f.Name, Match: f.Match, Exit: f.ExitCodes, Class: orName(f.Class, f.Name), Action: f.Action, Hint: remedy(f)})
	}
	return out
}

// classify reads the evidence of a failed launch.
func classify(o *offer.Observation, rules []failure.Rule) failure.Verdict {
	return failure.Classify(failure.Evidence{Exit: o.Exit, Signal: o.Signal, OOMKills: -1, HostOOMKills: -1,
		Tail: []byte(strings.Join(o.Tail, "\n")), GPUs: len(o.GPUs) > 0}, rules)
}

// Classified fills in a class where the backend gave none.
func Classified(o *offer.Observation, rules []failure.Rule) *offer.Observation {
	c := *o
	if o.Status == offer.Lost {
		c.Class = failure.NodeFailure
		return &c
	}
	if c.Class = classify(&c, rules).Class; c.Class == "" {
		c.Class = failure.Unknown
	}
	return &c
}

// Signature tells failures of one cause from those of another.
func Signature(o *offer.Observation, rules []failure.Rule) string {
	v := classify(o, rules)
	if v.Signature == "" || v.Class != o.Class {
		return o.Class + ": " + Text(o)
	}
	return v.Signature
}

// Text is the class, the exit and the log's telling line.
func Text(o *offer.Observation) string {
	text := o.Class
	switch {
	case o.Signal != "":
		text += ", signal " + strings.TrimPrefix(o.Signal, "SIG")
	case o.Exit != nil:
		text += fmt.Sprintf(", exit %d", *o.Exit)
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	if line := failure.Telling(o.Tail, o.Exit); line != "" && line != o.Reason {
		text += ": " + line
	}
	return text
}

// remedy is a failure block's text beside a failure: why it happens, and what to do.
func remedy(f lang.Failure) string { return term.Join("; ", f.Cause, f.Hint) }

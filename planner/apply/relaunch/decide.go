// Package relaunch decides whether a job that failed is launched again, and
// as what.
package relaunch

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// An Action is what follows a failure.
type Action string

// The actions.
const (
	Retry Action = "retry"
	Hold  Action = "hold"
	Fail  Action = "fail"
)

// A Case is one launch that failed.
type Case struct {
	Class      string
	Launch     int // counted from 1
	Most       int // launches in all
	Smoke      bool
	Rides      bool // its queue has tried what the policy allows
	Paid       bool // a launch costs money
	Before     []state.Attempt
	Policy     retry.Policy
	Checkpoint bool // the phase has one
}

// Decide is what follows.
func Decide(c Case, catalogue []lang.Failure) Action {
	if c.Class == failure.InputChanged {
		return Hold // it has not run, and would find the same again
	}
	if c.Smoke {
		return Fail
	}
	if c.Class == failure.NotItsOwn {
		return Hold // a person decides over the file
	}
	rule := ruleFor(c.Class, catalogue)
	if rule == Hold || rule == Fail {
		return rule
	}
	if infrastructure(c.Class) && c.Paid {
		// A paid machine that fails costs money each time: once more, whatever
		// the policy says of it.
		if c.machineFailures() < 1 {
			return Retry
		}
		return Fail
	}
	switch {
	case c.Rides, c.Launch >= c.Most:
		return Fail
	case c.Class == failure.Walltime && !c.Checkpoint:
		return Fail // it would come to the same end
	case rule == Retry, c.Policy.Covers(c.Class):
		return Retry
	}
	return Fail
}

// ruleFor is the action that the campaign's own catalogue names for a class.
func ruleFor(class string, catalogue []lang.Failure) Action {
	for _, f := range catalogue {
		if name := orName(f.Class, f.Name); name == class && f.Action != "" {
			return Action(f.Action)
		}
	}
	return ""
}

func orName(class, name string) string {
	if class != "" {
		return class
	}
	return name
}

// Elsewhere reports whether a class is about the machine, so that the next
// launch is better made on another.
func Elsewhere(class string) bool {
	switch class {
	case failure.Preempted, failure.NodeFailure, failure.GPULost:
		return true
	}
	return false
}

func infrastructure(class string) bool {
	switch class {
	case failure.NodeFailure, failure.GPULost, failure.Transport, failure.NCCLHang:
		return true
	}
	return false
}

// machineFailures counts the earlier launches that their machine failed.
func (c Case) machineFailures() int {
	n := 0
	for i := range c.Before {
		if a := &c.Before[i]; a.N < c.Launch && infrastructure(a.Class) {
			n++
		}
	}
	return n
}

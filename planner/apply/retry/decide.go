// Package retry decides the next step after a failure: whether the engine
// launches the job again, and with what resources; when the breaker of its phase
// opens, since jobs fail alike; and how many launches may follow from launches.
package retry

import (
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
	"github.com/muster-run/muster/state"
)

// An Action is the next step after a failure.
type Action string

// The actions.
const (
	Again Action = "retry"
	Hold  Action = "hold"
	Fail  Action = "fail"
)

// A Case is one launch that failed.
type Case struct {
	Class  string
	Launch int // counted from 1
	Smoke  bool
	On     string // the backend of the launch
	Rides  bool   // its queue has made all the tries that the policy allows
	Paid   bool   // a launch costs money
	Before []state.Attempt
	Policy retry.Phase
	Shape  offer.Shape // of the launch
	Most   retry.Bound // that its place gives
	Moved  bool        // its checkpoint moved; Decide may be asked with true, to see whether it matters
}

// Decide is the action after a failure, and the reason in words where the job
// is not launched again, "" where that is clear.
func Decide(c Case, catalogue []lang.Failure) (Action, retry.Reason) {
	if c.Class == failure.InputChanged {
		return Hold, "" // it has not run, and would find the same again
	}
	if c.Smoke {
		return Fail, ""
	}
	if c.Class == failure.NotItsOwn || c.Class == failure.Unverified {
		return Hold, "" // a person decides over the file
	}
	rule := ruleFor(c.Class, catalogue)
	if rule == Hold || rule == Fail {
		return rule, ""
	}
	if c.Paid && machine(c.Class) {
		// A paid machine that fails costs money each time: once more, whatever
		// the policy says of it.
		if c.machineFailures() < 1 {
			return Again, ""
		}
		return Fail, ""
	}
	if c.Policy.Spare(c.Class, c.earlier()) {
		return Again, ""
	}
	_, leaves := c.Policy.Leaves(c.Class, c.On)
	if c.Rides && !leaves {
		return Fail, ""
	}
	next := c.Policy.After(retry.Failure{Class: c.Class, Action: string(rule), Launch: c.Launch, Moved: c.Moved, Leaves: leaves}, c.Shape, c.Most)
	if next.Again {
		return Again, ""
	}
	return Fail, next.Why
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

// machine reports whether a class may be the fault of the machine.
func machine(class string) bool {
	return class == failure.NCCLHang || class != failure.Preempted && failure.Infrastructure(class)
}

// machineFailures counts the earlier launches that their machine failed.
func (c Case) machineFailures() int {
	n := 0
	for _, class := range c.earlier() {
		if machine(class) {
			n++
		}
	}
	return n
}

// earlier are the classes of the launches before this one.
func (c Case) earlier() (out []string) {
	for i := range c.Before {
		if a := &c.Before[i]; a.N < c.Launch && a.Class != "" {
			out = append(out, a.Class)
		}
	}
	return out
}

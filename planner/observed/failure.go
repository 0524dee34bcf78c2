package observed

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// Failure is the class, the reason and person, and the last lines of the log.
func (f Fact) Failure() string {
	if said := f.refused(); said != "" {
		return strings.TrimSuffix(said+"\n"+strings.Join(f.Tail[:len(f.Tail)-1], "\n"), "\n")
	}
	var parts []string
	if f.Class != "" && !strings.HasPrefix(f.Reason, f.Class+",") {
		parts = append(parts, f.Class)
	}
	switch at := f.Job.Last(); {
	case f.Reason != "":
		parts = append(parts, f.Reason)
	case at != nil && at.Signal != "":
		parts = append(parts, "signal "+at.Signal)
	case at != nil && at.Exit != nil:
		parts = append(parts, fmt.Sprintf("exit %d", *at.Exit))
	}
	if f.By != "" {
		parts = append(parts, "by "+f.By)
	}
	head := strings.Join(parts, ", ")
	if head == "" {
		head = string(f.Status)
	}
	if len(f.Tail) > 0 {
		head += "\n" + strings.Join(f.Tail, "\n")
	}
	return head
}

// refused is a verifier's reason for refusing the outputs of a job that ended
// well; it is at the end of its log.
func (f Fact) refused() string {
	at := f.Job.Last()
	if at == nil || at.Exit == nil || *at.Exit != 0 || at.Signal != "" || f.Reason != "" || len(f.Tail) == 0 {
		return ""
	}
	if said := f.Tail[len(f.Tail)-1]; strings.HasPrefix(said, "output ") {
		return "exit 0, and " + said
	}
	return ""
}

// Head is the first line of a failure.
func (f Fact) Head() string {
	head, _, _ := strings.Cut(f.Failure(), "\n")
	return head
}

// GaveUp reports whether a recorded job ended without a result and nobody keeps it
// from running: it failed, was cancelled, or muster holds it. A person who holds a job
// has not given it up.
func GaveUp(job *state.Job) bool {
	if job == nil {
		return false
	}
	switch job.Status {
	case state.Failed:
		return true
	case state.Cancelled:
		return job.Class != offer.Blocked
	case state.Held:
		return job.By == "muster"
	}
	return false
}

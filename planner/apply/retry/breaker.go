package retry

import (
	"fmt"

	"github.com/muster-run/muster/providers/failure/breaker"
)

// A Breaker counts how the jobs of a phase end, in this batch: since the run
// or a resume. Open stops starts there.
type Breaker struct {
	breaker.Count
	again map[string]*breaker.Streak // by job, of launches that others follow
}

// A Failure is how one launch of a job failed.
type Failure struct {
	Job string // address
	breaker.Failure
}

// A Trip says why a breaker opens.
type Trip = breaker.Trip

// Success counts a job that completed.
func (b *Breaker) Success(policy breaker.Policy) (trip *Trip, warning string) {
	b.again = nil
	trip, warning = b.Well(policy)
	return trip, isNear(warning, policy)
}

// Again counts a launch that failed and is made again as it was.
func (b *Breaker) Again(f Failure, policy breaker.Policy) (trip *Trip) {
	if b.again == nil {
		b.again = map[string]*breaker.Streak{}
	}
	b.again[f.Job], trip = b.Count.Again(policy, b.again[f.Job], f.Failure)
	return trip
}

// Failed counts a job that failed for good. It returns a trip when the breaker
// has to open, and a warning when that is near.
func (b *Breaker) Failed(f Failure, policy breaker.Policy) (trip *Trip, warning string) {
	delete(b.again, f.Job)
	trip, warning = b.Count.Failed(policy, f.Failure)
	return trip, isNear(warning, policy)
}

// isNear is a warning with the limit that it names.
func isNear(warning string, policy breaker.Policy) string {
	if warning == "" {
		return ""
	}
	return fmt.Sprintf("%s; at %.0f %% nothing more is started", warning, policy.Share*100)
}

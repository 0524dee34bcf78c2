package refresh

import (
	"slices"
	"strings"
	"sync"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
)

// Answers are the findings so far, from many goroutines. Readers and writers of the result
// hold the lock.
type answers struct {
	sync.Mutex
	Result
}

func newAnswers(in Input) *answers {
	return &answers{Result: Result{Can: map[string]offer.Capabilities{}, Versions: map[string]string{}, Observed: planner.Observed{
		Refreshed: in.Refresh, Jobs: map[string]offer.Observation{}, Unreachable: map[string]string{}, Logins: map[string]bool{}, Unasked: map[string]bool{}, Outputs: map[string][]offer.Output{}, Touched: map[string][]offer.Output{},
		Sources: map[string]planner.SourceDigest{}, Versions: map[string]map[string]string{}, Imported: map[string]offer.Observation{}, Uncopied: map[string][]string{}, Ground: map[string]observed.Ground{}, Replaced: map[string]bool{}, Copied: map[string]map[string]int64{},
	}}}
}

// tell adds diagnostics for the user.
func (a *answers) tell(list ...diag.Diagnostic) {
	a.Lock()
	defer a.Unlock()
	a.Diags.Append(list...)
}

// find adds the findings of checks.
func (a *answers) find(list ...observed.Finding) {
	a.Lock()
	defer a.Unlock()
	a.Observed.Findings = append(a.Observed.Findings, list...)
}

// away reports whether a backend could not be asked.
func (a *answers) away(backend string) bool {
	a.Lock()
	defer a.Unlock()
	_, is := a.Observed.Unreachable[backend]
	return is
}

// unasked notes that nobody asked a backend.
func (a *answers) unasked(backend, why string) {
	a.Lock()
	defer a.Unlock()
	a.Observed.Unreachable[backend], a.Observed.Unasked[backend] = why, true
}

// unreachable notes that a backend could not be asked.
func (a *answers) unreachable(backend, why string, login bool) {
	a.Lock()
	defer a.Unlock()
	a.Observed.Unreachable[backend], a.Observed.Logins[backend] = why, login
}

// sort makes the answers independent of who was first.
func (a *answers) sort() {
	slices.SortFunc(a.Pools, func(a, b offer.Pool) int { return compare(a.Backend, b.Backend, a.Name, b.Name) })
	slices.SortStableFunc(a.Quotes, func(a, b place.Quoted) int {
		return compare(a.Quote.Backend, b.Quote.Backend, a.Quote.Pool, b.Quote.Pool)
	})
	slices.SortStableFunc(a.Observed.Findings, func(a, b observed.Finding) int { return compare(a.Address, b.Address, a.Summary, b.Summary) })
	slices.SortFunc(a.Observed.Undigested, func(a, b result.File) int { return strings.Compare(a.Path, b.Path) })
	slices.SortStableFunc(a.Diags, func(a, b diag.Diagnostic) int { return compare(a.Summary, b.Summary, a.Detail, b.Detail) })
}

func compare(a, b, c, d string) int {
	if n := strings.Compare(a, b); n != 0 {
		return n
	}
	return strings.Compare(c, d)
}

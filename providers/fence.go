package providers

import "fmt"

// A Fence is the latest holder of a campaign's lease that a backend has heard
// of. The number grows with every holder; two copies of one state may have
// counted alike, so the first holder seen owns its number.
type Fence struct {
	N      uint64 `json:"n"`
	Holder string `json:"holder,omitempty"` // "" = not told, by an older muster
}

// Admit is the fence after somebody called with a number and a holder, and
// whether it differs; a holder that was overtaken is refused.
func (f Fence) Admit(n uint64, holder string) (next Fence, changed bool, err error) {
	switch {
	case n < f.N:
		return f, false, &Error{Class: StaleFence, Summary: "Another muster has taken over this campaign",
			Detail: fmt.Sprintf("Its lease number is %[2]d, and this one's is %[1]d: this one can watch jobs, but not start or cancel them.", n, f.N)}
	case n > f.N:
		return Fence{n, holder}, true, nil
	case holder == "" || holder == f.Holder:
		return f, false, nil
	case f.Holder == "":
		return Fence{n, holder}, true, nil
	}
	return f, false, &Error{Class: StaleFence, Summary: "A copy of this campaign's state is in use",
		Detail: fmt.Sprintf("A muster with another copy has the same lease number (%d) and used this backend first. This one can watch jobs, but not start or cancel them.", n),
		Hint:   "Find the copy that knows the jobs with `muster status`, apply only there, and move the other away."}
}

package breaker

import "github.com/muster-run/muster/providers/failure"

// A Streak is launches of one job that failed with the same signature and were repeated, while no
// job of its phase completed.
type Streak struct {
	Signature string `json:"signature"`
	N         int    `json:"n"`
	Batch     int    `json:"batch,omitempty"` // the count's, when it began
	Good      int    `json:"good,omitempty"`
}

// Again counts a launch that failed and is repeated unchanged, in the row of its job, nil
// where it has none. It counts for its own job alone, which may do better next time: flaky
// jobs side by side stop nothing, but a job that fails alike in every launch does, if no job
// of its phase completed between.
func (c *Count) Again(p Policy, r *Streak, f Failure) (*Streak, *Trip) {
	if p.SameError <= 0 || !failure.Repeats(f.Class) {
		return r, nil
	}
	if r = r.after(f.Signature, c); r.N < p.SameError || c.Open {
		return r, nil
	}
	return r, inRow(r.N, f)
}

// after is the row with one launch more.
func (r *Streak) after(signature string, c *Count) *Streak {
	if r == nil || r.Signature != signature || r.Batch != c.Batch || r.Good != c.Good {
		return &Streak{signature, 1, c.Batch, c.Good}
	}
	return &Streak{signature, r.N + 1, c.Batch, c.Good}
}

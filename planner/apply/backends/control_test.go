package backends

import "testing"

// TestTook: a queue that took one order has not therefore taken another.
func TestTook(t *testing.T) {
	t.Parallel()
	type given struct {
		order Order
		whole bool
	}
	for name, c := range map[string]struct {
		missed, took given
		still        bool
	}{
		"the same, for some":              {given{HoldOrder, false}, given{HoldOrder, false}, false},
		"the same, for all":               {given{HoldOrder, true}, given{HoldOrder, true}, false},
		"a hold of all, then of some":     {given{HoldOrder, true}, given{HoldOrder, false}, true},
		"a hold of some, then of all":     {given{HoldOrder, false}, given{HoldOrder, true}, false},
		"a hold of some, then the limits": {given{HoldOrder, false}, given{LimitsOrder, true}, true},
		"a hold of all, then the limits":  {given{HoldOrder, true}, given{LimitsOrder, true}, false},
		"a hold, then a release of some":  {given{HoldOrder, true}, given{ReleaseOrder, false}, true},
		"a release, then a hold of all":   {given{ReleaseOrder, false}, given{HoldOrder, true}, false},
		"a hold, then a resume":           {given{HoldOrder, true}, given{ResumeOrder, false}, true},
		"a resume, then a hold of all":    {given{ResumeOrder, false}, given{HoldOrder, true}, true},
	} {
		b := &Backend{Contact: &Contact{}, untaken: []untaken{{c.missed.order, c.missed.whole, "it is away"}}}
		b.took(c.took.order, c.took.whole)
		if got := b.Untaken(c.missed.order); (got != "") != c.still {
			t.Errorf("%s: untaken %q", name, got)
		}
		if got := b.Untaken(); got != "" {
			t.Errorf("%s: of an order that was never given: %q", name, got)
		}
	}
}

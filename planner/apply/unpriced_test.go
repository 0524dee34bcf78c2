package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// unpriced is a campaign with a place that charges service units, and another
// of which nobody knows what it charges in them.
const unpriced = `
backend "far" "x" {}
backend "far" "y" {}
phase "a" {
  grid { axes = { n = [1, 2, 3] } }
  place { candidates = [backend.far.x, backend.far.y] }
  job {
    command = "train ${cell.n}"
    resources { walltime = "1h" }
  }
  retry {
    on           = ["node_failure"]
    max_attempts = 2
    delay        = "1ms"
  }
}`

// ran is how many jobs went where.
func ran(s *stage) (x, y int) {
	for _, j := range s.state().Jobs {
		for i := range j.Attempts {
			switch j.Attempts[i].Backend {
			case "far.x":
				x++
			case "far.y":
				y++
			}
		}
	}
	return x, y
}

// An absent provider cannot reach a backend for a while.
type absent struct {
	*fake
	backend string
	left    *int // times that it says so
}

func (a absent) Configure(ctx context.Context, b providers.Backend) error {
	if b.Name == a.backend && *a.left > 0 {
		*a.left--
		return providers.Errorf(providers.Unreachable, "no route")
	}
	return a.fake.Configure(ctx, b)
}

// TestNothingThatIsLimitedGoesWhereItsPriceIsNotKnown: what is limited in service
// units goes to no place that may charge any number of them, by whatever way it
// would come there; and a place that is away for a while is waited for.
func TestNothingThatIsLimitedGoesWhereItsPriceIsNotKnown(t *testing.T) {
	t.Parallel()
	const all = "end done=3 failed=0 held=0 blocked=0 left=0"
	for name, c := range map[string]struct {
		budget string
		away   int  // times that the priced place cannot be reached
		node   bool // its node fails under the first launch of each
		full   bool // it takes nothing
		x, y   int
		end    string
		why    string
	}{
		"the budget is used up":    {budget: "service_units = 250", x: 2, end: "budget done=2 failed=0 held=0 blocked=0 left=1", why: `200 service units spent`},
		"of two units":             {budget: "service_units = 250, usd = 9", x: 2, end: "budget done=2 failed=0 held=0 blocked=0 left=1", why: `200 service units spent`},
		"the priced place is away": {budget: "service_units = 900", away: 3, x: 3, end: all},
		"away, and approved alone": {away: 3, x: 3, end: all},
		"a node fails":             {budget: "service_units = 900", node: true, x: 6, end: all},
		"it takes nothing":         {budget: "service_units = 900", full: true, end: "end done=0 failed=0 held=3 blocked=0 left=0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := ""
			if c.budget != "" {
				limits = "budget \"b\" { limits = { " + c.budget + " } }\n"
			}
			s := newStage(t, limits+unpriced)
			s.world.prices = map[string]offer.Price{"far.x": {SUPerCPUHour: "100"}, "far.y": {UnknownSU: true}}
			s.world.can.HostQueue, s.world.can.Retries = false, false
			s.world.result = func(_ providers.Job, launch int) jobResult {
				if c.node && launch == 1 {
					return jobResult{exit: 1, class: "node_failure", lasted: time.Hour}
				}
				return jobResult{lasted: time.Hour}
			}
			if c.full {
				s.world.reject = func(providers.Job) *providers.Error { return providers.Errorf(providers.Invalid, "no such account") }
			}
			left := c.away
			s.conf = func(conf *Config) {
				f := &fake{world: s.world}
				conf.Provider = func(string) (providers.Provider, error) { return absent{f, "far.x", &left}, nil }
			}
			o := s.must(t.Context())
			if x, y := ran(s); x != c.x || y != c.y || !strings.Contains(o.Why, c.why) {
				t.Errorf("%d launches at the priced place and %d at the other: %s\n%s", x, y, o.Why, s.story())
			}
			s.check(o, c.end)
		})
	}
}

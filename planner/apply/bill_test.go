package apply

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestARunningJobCostsWhatItTookUp: a launch is billed as large as it was when it
// was launched, whatever the campaign says by the time it ends: what asks for
// less by then, has another name, or is gone has taken up no less.
func TestARunningJobCostsWhatItTookUp(t *testing.T) {
	t.Parallel()
	const was = `
phase "a" {
  job {
    command = "train > ${output.o}"
    resources {
      cpus     = 8
      walltime = "1h"
    }
    output "o" { path = "o" }
  }
}`
	for name, is := range map[string]string{
		"asked for less": strings.Replace(was, "= 8", "= 1", 1),
		"renamed":        strings.Replace(was, `"a"`, `"b"`, 1) + "\nmoved {\n  from = phase.a\n  to = phase.b\n}\n",
		"gone":           "phase \"z\" {\n  job { command = \"true\" }\n}\n",
	} {
		for _, price := range []offer.Price{{SUPerCPUHour: "1"}, {}} {
			t.Run(name+" for "+price.SUPerCPUHour, func(t *testing.T) {
				t.Parallel()
				s := newStage(t, was)
				s.world.price, s.world.slots = price, 1
				s.world.result = func(providers.Job, int) result { return result{hang: true, lasted: time.Hour} }
				s.conf = func(c *Config) { c.Mode = Detach }
				s.must(t.Context())
				s.world.until(func() bool { return len(s.world.runs) == 1 })
				s.write(is)
				s.conf = nil
				s.world.mu.Lock()
				s.world.result = nil
				for _, j := range s.world.jobs {
					j.res.hang = name == "gone" // what nobody wants is cancelled
				}
				s.world.mu.Unlock()
				ctx, leave := context.WithTimeout(t.Context(), time.Minute)
				defer leave()
				s.must(ctx)
				var spent state.Entry
				for _, en := range s.state().Ledger {
					if en.Attempt == 1 && strings.HasPrefix(en.Backend, "local") && en.Phase != "z" {
						spent = en
					}
				}
				if got := spent.Spent; got["cpu_hours"] != "8" || price.SUPerCPUHour != "" && got["service_units"] != "8" {
					t.Errorf("eight cores for an hour: %+v\n%s", spent, s.story())
				}
			})
		}
	}
}

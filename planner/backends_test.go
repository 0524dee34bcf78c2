package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
)

func TestOldFactsSayTheirAge(t *testing.T) {
	t.Parallel()
	camp := load(t, func(*lang.Campaign) {}, phaseSpec{name: "a", seeds: []int{1}, lr: "1"})
	camp.Policy.StaleAfter = 180 * 24 * time.Hour
	in := input(camp, nil)
	in.Now = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	in.Pools = laptop()
	in.Pools[0].Verified = "2026-03"
	p, _ := Make(in)
	for _, d := range p.Diags {
		if strings.Contains(d.Detail, "verified in 2026-03, 8 months ago") {
			return
		}
	}
	t.Errorf("nothing says that facts are 8 months old: %v", p.Diags)
}

package ledger

import (
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Tariff is how launches on one place are charged.
type Tariff struct {
	Price     offer.Price
	WholeNode bool
	Around    time.Duration // billed beside each launch: boot, and the quoted wait where the site bills the queue
	Boot      time.Duration // of Around
	Hold      time.Duration // a machine is kept so long after its last job
}

// TariffOf is how launches are charged where a decision puts them.
func TariffOf(d *place.Decision) Tariff {
	return Tariff{Price: d.Price, WholeNode: d.WholeNode, Around: d.Around(), Boot: d.Boot, Hold: d.Hold}
}

// Recorded is the tariff of an attempt at its launch; nil without a record. Service units that
// were unknown then are those of today at its place; where may be nil.
func Recorded(a *state.Attempt, where *place.Decision) *Tariff {
	var today place.Decision
	if where != nil {
		today = *where
	}
	d, ok := today.Charged(a)
	if !ok {
		return nil
	}
	t := TariffOf(&d)
	return &t
}

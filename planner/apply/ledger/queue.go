package ledger

import (
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// waitStep is for how much longer a wait that is billed is set aside each time.
const waitStep = time.Minute

// Queued reports whether the wait of a launch is billed, at a price that is known.
func (t *Tab) Queued() bool {
	return t.Tariff != nil && t.Tariff.Price.BillsWhileQueued && t.Tariff.Price.Known && t.Left > 0
}

// Await sets aside the wait of the present launch beyond its quote, and some more. It returns
// for how long that suffices.
func (bs *Books) Await(t *Tab, s offer.Shape, waited time.Duration) time.Duration {
	covered := max(t.Tariff.Around-t.Tariff.Boot, t.covered)
	if waited < covered {
		return covered - waited
	}
	t.covered = waited + waitStep
	longer := *t.Tariff
	longer.Around = t.Tariff.Boot + t.covered
	bs.count(t, -1)
	t.Waited = Parse(longer.Ceiling(s))
	t.Waited.Add(Parse(t.Tariff.Ceiling(s)), -1)
	bs.count(t, 1)
	return waitStep
}

// TakeBack sets aside only the possible cost of the wait for a launch that is
// taken back from its queue.
func (bs *Books) TakeBack(t *Tab, s offer.Shape) {
	bs.count(t, -1)
	wait := t.Tariff.Waiting(s, max(t.Tariff.Around-t.Tariff.Boot, t.covered))
	t.Dues = Dues{One: wait.Text(), Each: wait, Left: 1}
	bs.count(t, 1)
}

// Waiting is the consumption of a launch that waits, and never runs.
func (t Tariff) Waiting(s offer.Shape, waited time.Duration) Amounts {
	t.Boot = 0
	a, _ := t.Took(s, 0, waited)
	return a
}

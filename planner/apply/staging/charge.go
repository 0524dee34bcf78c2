package staging

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Charge is the amount that may be billed for a move: files that leave a backend.
type Charge struct {
	Phase, Address, Output string // whose output it is; of a file that no phase makes: who reads it first, and its path
	Digest                 string // of the output: a new result leaves again
	Backend, Pool          string // that it leaves
	To                     string
	Bytes                  int64
}

// Entry is the ledger's entry of a charge, where its place bills egress; false
// where it is free. The caller sets its plan and time.
func (f Charge) Entry(b *lang.Backend, pool offer.Pool) (state.Entry, bool) {
	rate := place.OutRate(b, pool)
	return state.Entry{Address: f.Address, Token: f.token(), Backend: f.Backend, Pool: f.Pool, Phase: f.Phase,
		Spent: state.TextsOf(state.Amounts{place.USD: place.Leaving(rate, f.Bytes).String()})}, rate.IsPositive()
}

// token tells the moves of one job's outputs apart in the ledger.
func (f Charge) token() string {
	sum := sha256.Sum256([]byte(f.Output + "\x00" + f.Digest + "\x00" + f.Backend + "\x00" + f.To))
	return hex.EncodeToString(sum[:4])
}

// Paid reports whether a ledger has a charge already: it is paid once,
// however often the move is tried. Launches have their attempt beside them.
func Paid(ledger []state.Entry, charge state.Entry) bool {
	for i := range ledger {
		if was := &ledger[i]; was.Attempt == 0 && was.Address == charge.Address && was.Token == charge.Token {
			return true
		}
	}
	return false
}

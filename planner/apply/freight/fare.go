package freight

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A Fare is what may be billed of a move: files that leave a place.
type Fare struct {
	Phase, Address, Output string // whose output it is
	Digest                 string // of the output: what is made anew leaves anew
	Backend, Pool          string // that it leaves
	To                     string
	Bytes                  int64
}

// Entry is how a fare stands in the ledger, where its place bills what leaves
// it; false where it is free. Whose plan it is under, and when, is for the
// caller to say.
func (f Fare) Entry(b *lang.Backend, pool offer.Pool) (state.Entry, bool) {
	rate := place.OutRate(b, pool)
	return state.Entry{Address: f.Address, Token: f.token(), Backend: f.Backend, Pool: f.Pool, Phase: f.Phase,
		Spent: state.Amounts{place.USD: place.Leaving(rate, f.Bytes).String()}}, rate.IsPositive()
}

// token tells the moves of one job's outputs apart in the ledger.
func (f Fare) token() string {
	sum := sha256.Sum256([]byte(f.Output + "\x00" + f.Digest + "\x00" + f.Backend + "\x00" + f.To))
	return hex.EncodeToString(sum[:4])
}

// Paid reports whether a fare stands in a ledger already: it is paid once,
// however often the move is tried. Launches have their attempt beside them.
func Paid(ledger []state.Entry, fare state.Entry) bool {
	for i := range ledger {
		if was := &ledger[i]; was.Attempt == 0 && was.Address == fare.Address && was.Token == fare.Token {
			return true
		}
	}
	return false
}

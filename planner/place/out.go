package place

import (
	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// bytesPerGB is the unit in which files that leave a backend are billed.
var bytesPerGB = decimal.NewFromInt(1e9)

// OutRate is a backend's charge for 10^9 bytes that leave it, in money: as its
// block states, else its pool. Zero where neither states one.
func OutRate(b *lang.Backend, p offer.Pool) decimal.Decimal {
	rate, err := decimal.NewFromString(sound(outPrice(b, p)).USDPerGBOut)
	if err != nil {
		return decimal.Zero
	}
	return rate
}

// OutGuessed reports whether that rate is an estimate.
func OutGuessed(b *lang.Backend, p offer.Pool) bool { return outPrice(b, p).Estimated }

func outPrice(b *lang.Backend, p offer.Pool) offer.Price {
	if b != nil && b.Price.Known {
		return b.Price
	}
	return p.Price
}

// Leaving is the cost of so many bytes that leave a backend.
func Leaving(rate decimal.Decimal, bytes int64) decimal.Decimal {
	return rate.Mul(decimal.NewFromInt(bytes)).DivRound(bytesPerGB, billedPlaces).RoundCeil(billedPlaces)
}

// billedPlaces is how many decimal places an amount that is billed has.
const billedPlaces = 9

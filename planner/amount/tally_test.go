package amount

import (
	"math/big"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"
)

// TestTallyIsExact holds it against decimals added one by one.
func TestTallyIsExact(t *testing.T) {
	texts := rapid.OneOf(
		rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,12})?`),
		rapid.StringMatching(`-?[0-9]{1,4}\.[0-9]{1,30}`),
		rapid.SampledFrom([]string{"", "0", "1.", ".5", "999999999999999999", "9223372036854775807", "1e3", "-1", "0.000000735"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		var sum Tally
		want := decimal.NewFromBigInt(new(big.Int), 0)
		for _, text := range rapid.SliceOfN(texts, 0, 40).Draw(t, "texts") {
			sum.Add(text)
			want = want.Add(Of(text))
		}
		if got := sum.Total(); !got.Equal(want) {
			t.Fatalf("%s, and decimals add up to %s", got, want)
		}
	})
}

func TestTallyPassesTheLargestWholeNumber(t *testing.T) {
	var sum Tally
	want := decimal.Zero
	for range 20 {
		sum.Add("999999999999999999")
		want = want.Add(Of("999999999999999999"))
	}
	if got := sum.Total(); !got.Equal(want) {
		t.Errorf("%s, not %s", got, want)
	}
}

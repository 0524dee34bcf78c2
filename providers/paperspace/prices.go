package paperspace

import "github.com/shopspring/decimal"

// A kind is a machine type. The API has no list of them and no prices.
type kind struct {
	label    string // of the API
	gpu      string // as nvidia-smi calls it, but for its maker
	gpus     int
	memory   int64 // of a GPU, bytes
	hourly   string
	everyone bool // in all regions; others are in New York alone
}

// kinds are the GPU types of the public price page of 2026-09-20, for Linux, by the
// hour and without a commitment. Those with 2, 4 and 8 GPUs cost as many times that.
var kinds = []kind{
	{"P4000", "P4000", 1, 8e9, "0.51", true},
	{"RTX4000", "RTX 4000", 1, 8e9, "0.56", true},
	{"A4000", "A4000", 1, 16e9, "0.76", true},
	{"P5000", "P5000", 1, 16e9, "0.78", true},
	{"RTX5000", "RTX 5000", 1, 16e9, "0.82", true},
	{"P6000", "P6000", 1, 24e9, "1.10", true},
	{"A5000", "A5000", 1, 24e9, "1.38", true},
	{"A6000", "A6000", 1, 48e9, "1.89", true},
	{"V100", "V100 16GB", 1, 16e9, "2.30", true},
	{"A100-80G", "A100 80GB", 1, 80e9, "3.18", false},
	{"H100", "H100 80GB", 1, 80e9, "5.95", false},
	{"A4000x2", "A4000", 2, 16e9, "1.52", true},
	{"A4000x4", "A4000", 4, 16e9, "3.04", true},
	{"A5000x2", "A5000", 2, 24e9, "2.76", true},
	{"A5000x4", "A5000", 4, 24e9, "5.52", true},
	{"A6000x2", "A6000", 2, 48e9, "3.78", true},
	{"A6000x4", "A6000", 4, 48e9, "7.56", true},
	{"A100-80Gx8", "A100 80GB", 8, 80e9, "25.44", false},
	{"H100x8", "H100 80GB", 8, 80e9, "47.60", false},
}

// The regions, in the words that clients in production send.
var regions = []string{"East Coast (NY2)", "West Coast (CA1)", "Europe (AMS1)"}

func (k *kind) regions() []string {
	if k.everyone {
		return regions
	}
	return regions[:1]
}

// sizes are the disks that there are, GB.
var sizes = []int64{50, 100, 250, 500, 1000, 2000}

// gb is a GB of the service, bytes.
const gb = 1e9

// disk is the smallest that has as many bytes, 0 if none has.
func disk(bytes int64) int64 {
	for _, size := range sizes {
		if size*gb >= bytes {
			return size
		}
	}
	return 0
}

// Beside compute: a disk costs at most $0.10 a GB and month by the published prices, a public
// address $0.0045 an hour.
var (
	diskMonthly   = decimal.RequireFromString("0.10")
	addressHourly = decimal.RequireFromString("0.0045")
)

// hoursOfMonth turn a price by the month into one by the hour.
var hoursOfMonth = decimal.NewFromInt(730)

func diskHourly(gb int64) decimal.Decimal {
	return diskMonthly.Mul(decimal.NewFromInt(gb)).DivRound(hoursOfMonth, 6)
}

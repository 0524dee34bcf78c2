package sim

import (
	"hash/fnv"
	"math"
	"strconv"
	"time"
)

// z90 is the 90th percentile of the normal distribution.
const z90 = 1.2816

// Uniform draws from [0, 1) for a name: the same seed and name give the same
// number, in whatever order they are asked for.
func Uniform(seed uint64, names ...string) float64 {
	h := fnv.New64a()
	var b [8]byte
	for i := range b {
		b[i] = byte(seed >> (8 * i))
	}
	h.Write(b[:])
	for _, n := range names {
		h.Write([]byte(n))
		h.Write([]byte{0})
	}
	// The finalizer of MurmurHash3: FNV alone leaves names that differ in
	// their end alone close to one another.
	x := h.Sum64()
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// Normal draws from the standard normal distribution for a name.
func Normal(seed uint64, names ...string) float64 {
	return Deviation(Uniform(seed, names...))
}

// Deviation is the quantile u of the standard normal distribution.
func Deviation(u float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*min(max(u, 1e-12), 1-1e-12)-1)
}

// Spread is a time with a median and a 90th percentile at a deviation z of the
// normal distribution: times are lognormal, as the planner's model has them.
func Spread(median, p90 time.Duration, z float64) time.Duration {
	if median <= 0 || p90 <= median {
		return median
	}
	sigma := math.Log(float64(p90)/float64(median)) / z90
	return time.Duration(min(float64(median)*math.Exp(sigma*z), float64(math.MaxInt64)/4))
}

// Attempt names a launch of a job, for a draw.
func Attempt(launch int) string { return strconv.Itoa(launch) }

package forecast

import (
	"math"
	"time"
)

// What all jobs of a phase are off together, however many were seen: the day,
// the neighbours, the data that a first part did not hold. Both are judgements
// of ours: without them the 90th percentile of a thousand jobs would be their
// mean, and no second day is like the first.
const (
	leastCommon   = 0.1  // share of the variance of log t
	leastTogether = 0.05 // standard deviation of log t, where runtimes vary at all
)

// common is the share of the variance of log t that all jobs have in common.
// What was seen is a sample of n: of the variance of the next job 1/(n+1) is
// that of the sample's own mean. Of what nobody has seen all is common: whoever
// overstates one walltime overstates all.
func (r Runtime) common() float64 {
	if r.Seen <= 0 {
		return 1
	}
	return max(1/float64(r.Seen+1), leastCommon)
}

// sigma is the standard deviation of log t: runtimes are lognormal.
func (r Runtime) sigma() float64 {
	from := r.Median
	if from <= 0 {
		from = r.Expected
	}
	if from <= 0 || r.P90 <= from {
		return 0
	}
	return math.Log(float64(r.P90)/float64(from)) / z90
}

// together is the standard deviation of log t by which all jobs are off alike.
func (r Runtime) together() float64 {
	sigma := r.sigma()
	if r.Seen <= 0 || sigma == 0 {
		return sigma
	}
	return max(sigma*math.Sqrt(r.common()), leastTogether)
}

// own is the standard deviation of log t that a job has by itself.
func (r Runtime) own() float64 { return r.sigma() * math.Sqrt(1-r.common()) }

// Draw is the runtime of one launch, given how far all jobs of its phase are
// off together and how far it is off by itself, both in standard deviations.
// Over many jobs that are not off together it has the expected mean.
func (r Runtime) Draw(together, alone float64) time.Duration {
	own := r.own()
	return r.times(r.together()*together + own*alone - own*own/2)
}

// times is the expected runtime times e to a power, ended at the walltime.
func (r Runtime) times(power float64) time.Duration {
	d := float64(r.Expected) * math.Exp(power)
	if r.Ceiling > 0 {
		d = min(d, float64(r.Ceiling))
	}
	return time.Duration(min(d, math.MaxInt64/4))
}

// Average is what the average of so many launches stays below with 90 %: a sum
// of lognormal values is about lognormal (Fenton 1960), and the part that is
// common to all does not average out.
func (r Runtime) Average(jobs float64) time.Duration {
	common := r.together()
	if r.Seen <= 0 || common == 0 {
		return r.P90
	}
	own := r.own()
	left := math.Log(1 + (math.Exp(own*own)-1)/max(jobs, 1))
	off := z90*math.Sqrt(left+common*common) - left/2
	return max(min(r.times(off), r.ended(off)), r.Expected)
}

// ended is the mean of launches that are off together by a power of e, those
// that the walltime ends counted as that long (the limited expected value of a
// lognormal distribution).
func (r Runtime) ended(off float64) time.Duration {
	own := r.own()
	if r.Ceiling <= 0 || own == 0 {
		return r.times(off)
	}
	mean := math.Log(float64(r.Expected)) - own*own/2 + off
	limit := (math.Log(float64(r.Ceiling)) - mean) / own
	return time.Duration(math.Exp(mean+own*own/2)*below(limit-own) + float64(r.Ceiling)*(1-below(limit)))
}

// below is the standard normal distribution function.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// deviation is the quantile u of the standard normal distribution.
func deviation(u float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*min(max(u, 1e-12), 1-1e-12)-1)
}

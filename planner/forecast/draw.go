package forecast

import (
	"math"
	"time"
)

// The common deviation of a phase's jobs, however many were seen, has two
// parts: the difference between a first part of them and the rest, and the day
// on which they run, which all phases have in common: the neighbours on the
// machine, its clock, the file system. leastCommon is a judgement of ours; the
// others are from how far measured campaigns were off where the machine was
// busier than their history had seen it (docs/accuracy.md).
const (
	leastCommon = 0.1                   // share of the variance of log t
	day         = 0.1                   // standard deviation of log t, where runtimes vary at all
	startUp     = 20 * time.Millisecond // of a launch, for the day: starting it takes longer on a busy machine
	mostStartUp = 0.5                   // of a runtime
)

// common is the share of the variance of log t that all jobs have in common. The evidence is a
// sample of n: of the variance of the next job 1/(n+1) is that of the sample's own mean.
// Without evidence all of it is common: a person who overstates one walltime overstates all.
func (r Runtime) common() float64 {
	if r.Seen <= 0 {
		return 1
	}
	return max(1/float64(r.Seen+1), leastCommon)
}

// sigma is the standard deviation of log t: runtimes are lognormal.
func (r Runtime) sigma() float64 {
	if r.shape != nil {
		return r.shape.spread
	}
	from := r.Median
	if from <= 0 {
		from = r.Expected
	}
	if from <= 0 || r.P90 <= from {
		return 0
	}
	return math.Log(float64(r.P90)/float64(from)) / r.bound()
}

// bound is how many standard deviations the 90th percentile is off the median. Of few values
// it is Student's, for their standard deviation s is not known well either: the estimate is
// s·√(f/χ²) with f degrees of freedom. bound uses the median of χ² (Wilson and Hilferty 1931).
func (r Runtime) bound() float64 {
	if r.Seen <= 1 {
		return z90
	}
	f := float64(r.Seen - 1)
	return student90(r.Seen-1) * math.Pow(1-2/(9*f), 1.5)
}

// loose is the standard deviation of the logarithm of sigma itself: of √(f/χ²),
// half the root of the trigamma function of f/2, which this is within 2 % of from
// f = 2 on.
func (r Runtime) loose() float64 {
	if r.Seen <= 1 {
		return 0
	}
	return 1 / math.Sqrt(max(2*float64(r.Seen-1)-1.5, 0.8))
}

// phase is the standard deviation of log t by which the jobs of one phase are
// off alike, beside the day.
func (r Runtime) phase() float64 { return r.sigma() * math.Sqrt(r.common()) }

// today is the standard deviation of log t that the day makes. The deviation
// of an unmeasured runtime is larger than a day's, and a runtime that never
// varied has no day.
func (r Runtime) today() float64 {
	if r.Seen <= 0 || r.sigma() == 0 {
		return 0
	}
	return math.Hypot(day, min(float64(startUp)/float64(r.Expected), mostStartUp))
}

// together is the standard deviation of log t by which all jobs are off alike.
func (r Runtime) together() float64 { return math.Hypot(r.phase(), r.today()) }

// own is the standard deviation of log t that a job has by itself.
func (r Runtime) own() float64 { return r.sigma() * math.Sqrt(1-r.common()) }

// An Off is the deviation of a launch from its expectation, in standard deviations: that of
// the day, which all phases share, that of its phase, the part by which its phase spreads more
// than the evidence, and its own.
type Off struct{ Day, Phase, Spread, Alone float64 }

// Draw is the runtime of one launch that is so far off. Over many jobs that are
// not off together it has the expected mean.
func (r Runtime) Draw(off Off) time.Duration {
	wider := math.Exp(r.loose() * off.Spread)
	return r.times(r.today()*off.Day + wider*r.phase()*off.Phase + r.alone(off.Alone, wider))
}

// alone is how far off the mean, in log t, a job is by itself that is so many
// deviations off, where jobs differ so many times as much as was seen.
func (r Runtime) alone(z, wider float64) float64 {
	if r.shape != nil {
		return wider * r.shape.at(z, math.Sqrt(1-r.common()))
	}
	own := r.own()
	return wider*own*z - own*own/2
}

// times is the expected runtime times e to a power, ended at the walltime.
func (r Runtime) times(power float64) time.Duration {
	d := float64(r.Expected) * math.Exp(power)
	if r.Ceiling > 0 {
		d = min(d, float64(r.Ceiling))
	}
	return time.Duration(min(d, math.MaxInt64/4))
}

// Average is the 90 % quantile of the average of so many launches: a sum of
// lognormal values is about lognormal (Fenton 1960), and the part that is
// common to all does not average out.
func (r Runtime) Average(jobs float64) time.Duration {
	own := r.own()
	common := math.Hypot(r.together(), own*own*r.loose()) // the mean of a lognormal grows with its spread
	if r.Seen <= 0 || common == 0 {
		return r.P90
	}
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

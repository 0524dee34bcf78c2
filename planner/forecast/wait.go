package forecast

import (
	"math"
	"time"
)

// Waits in a queue differ more than runtimes do, and a campaign that may submit
// only so many jobs at a time waits for the mean of them over and over.

const (
	// waitsAlike is the share of the variance of log wait that all have in common: a
	// queue is long or short for all jobs in it at the same time. A judgement
	// of ours.
	waitsAlike = 0.25
	// waitClasses is into how many classes jobs are divided by their wait.
	waitClasses = 8
)

// waitAt is the wait of a launch that is off by itself, and with all others, by so
// many standard deviations; 0 = as all of its line.
func (g *Group) waitAt(alone, alike float64) time.Duration {
	wait := max(g.Decision.Wait-g.Turn, 0)
	if g.WaitSpread <= 0 || g.InFlight || wait == 0 {
		return 0
	}
	return Waits(wait, g.WaitSpread, math.Sqrt(1-waitsAlike)*alone+math.Sqrt(waitsAlike)*alike) + g.Decision.Boot
}

// longestWait is where a wait that is drawn ends: nobody has waited longer, and
// a time holds no more than some of these one after another.
const longestWait = 365 * 24 * time.Hour

// Waits is a wait that is off by so many standard deviations of its logarithm.
func Waits(wait time.Duration, spread, off float64) time.Duration {
	return time.Duration(min(float64(wait)*math.Exp(spread*off), float64(max(wait, longestWait))))
}

// waitClass is the class of the wait of the k-th cell in a deal, and waitOf the
// wait of such a class.
func (g *Group) waitClass(k int, d deal) int {
	if g.waitAt(0, 0) == 0 {
		return 0
	}
	return int(fraction(0.5+float64(k)*bronze+float64(d.nth)*golden) * waitClasses)
}

func (g *Group) waitOf(class int, d deal) time.Duration {
	return g.waitAt(deviation((float64(class)+0.5)/waitClasses), d.day())
}

package ledger

import (
	"fmt"
	"math/bits"
	"time"

	moments "github.com/muster-run/muster/internal/units"
)

// Park sets nothing aside for a tab whose job is kept from starting. Unpark
// sets it aside again.
func (bs *Books) Park(t *Tab) {
	bs.count(t, -1)
	t.parked = true
}

// Unpark is the opposite of Park.
func (bs *Books) Unpark(t *Tab) {
	t.parked = false
	bs.count(t, 1)
}

// Raise makes the rest of a tab cost more, or no more than its rates say.
func (bs *Books) Raise(t *Tab, by Rise) {
	bs.count(t, -1)
	t.Rise = by
	bs.count(t, 1)
}

// Passed reports whether the ledger plus launches in flight pass a limit.
func (bs *Books) Passed(now time.Time) bool {
	for _, a := range bs.accounts {
		if a.passed(now) {
			return true
		}
	}
	return false
}

// Relieves says which limit that is passed a tab counts in, "" for none: the
// limit is passed by less, or no more, without it.
func (bs *Books) Relieves(t *Tab, now time.Time) string {
	rest := t.Rest()
	for _, a := range bs.accounts {
		if !a.counts(t.Item) {
			continue
		}
		if a.late(now) {
			return a.lateText()
		}
		for u := range units {
			if rest[u] > 0 && a.over(u) {
				return fmt.Sprintf("%s of %s does not cover it", a.name, words(u, a.limit[u]))
			}
		}
	}
	return ""
}

func (a *account) late(now time.Time) bool { return !a.deadline.IsZero() && now.After(a.deadline) }

func (a *account) lateText() string {
	return fmt.Sprintf("the deadline of %s, %s, has passed", a.name, moments.FormatTime(a.deadline.UTC()))
}

func (a *account) over(u int) bool {
	return a.has[u] && plus(a.used[u], a.inFlight[u]) > a.limit[u]
}

func (a *account) passed(now time.Time) bool {
	if a.late(now) {
		return true
	}
	for u := range units {
		if a.over(u) {
			return true
		}
	}
	return false
}

// Deadline is the next deadline of a budget; zero for none.
func (bs *Books) Deadline(now time.Time) (next time.Time) {
	for _, a := range bs.accounts {
		if d := a.deadline; d.After(now) && (next.IsZero() || d.Before(next)) {
			next = d
		}
	}
	return next
}

// RiseOf is by how much a launch was billed above the rates of its tab; the zero Rise for none
// or an unknown one.
func (t *Tab) RiseOf(l EndedLaunch) (r Rise, told bool) {
	if t.Tariff == nil || l.Seen == nil || l.Seen.Usage == nil || unbegun(l.Seen) {
		return r, false
	}
	unit, billed, ok := Billed(l.Seen.Usage.Billed)
	elapsed, measured := elapsedOf(l.Seen, l.Limit)
	if !ok || !measured || unit >= gpuHours {
		return r, false
	}
	waited := l.Waited
	if waited >= 0 {
		waited = max(waited-t.Tariff.Boot, 0)
	}
	rated, _ := t.Tariff.Took(l.Shape, elapsed, waited)
	if rated[unit] <= 0 {
		return r, false
	}
	r = Rise{Billed: billed, Rated: rated[unit]}
	if high, _ := bits.Mul64(uint64(max(billed-rated[unit], 0)), tolerance); billed <= rated[unit] || high == 0 && uint64(billed-rated[unit])*tolerance <= uint64(rated[unit]) {
		return Rise{}, true
	}
	return r, true
}

// tolerance is the part of a bill by which it may differ from its rates, as
// bills are rounded: a thousandth.
const tolerance = 1000

package remarks

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/forecast"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/transfers"
	"github.com/muster-run/muster/providers/offer"
)

// Uncounted says what a plan's figures leave out, so that nobody takes what is
// not known for nothing.
func Uncounted(works []Work, moves []transfers.Transfer, pools []offer.Pool) (notes []string) {
	if text := moving(moves); text != "" {
		notes = append(notes, text)
	}
	for _, w := range works {
		for _, d := range w.Placements {
			at := slices.IndexFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && p.Name == d.Pool })
			if d.Backend == "" || at < 0 {
				continue
			}
			if _, bounded := forecast.Bound(pools[at], d); !bounded && w.Len() > 1 {
				notes = append(notes, fmt.Sprintf("How many jobs %s runs at once is not known and counted as no limit.", d.Where()))
			}
			if unrated(pools, d) {
				notes = append(notes, fmt.Sprintf("What %s charges in service units is not known and counted as none: other %s of backend.%s charge them.",
					d.Where(), several(d.Word), d.Backend))
			}
		}
	}
	return notes
}

// moving says of files that move that the time for it is in no figure.
func moving(moves []transfers.Transfer) string {
	files, bytes, known := 0, int64(0), true
	for _, t := range moves {
		if files += t.Files; t.Bytes < 0 {
			known = false
		} else {
			bytes += t.Bytes
		}
	}
	if files == 0 {
		return ""
	}
	what := units.Count(files, "file")
	switch {
	case known:
		what += " (" + units.FormatSize(bytes) + ")"
	case bytes > 0:
		what += " (" + units.FormatSize(bytes) + " and more)"
	}
	return fmt.Sprintf("The walltime leaves out moving %s between backends; `muster rehearse` plays it.", what)
}

// unrated reports whether a place has no price in service units although others
// of its backend have one.
func unrated(pools []offer.Pool, d place.Decision) bool {
	return !inUnits(d.Price) && slices.ContainsFunc(pools, func(p offer.Pool) bool { return p.Backend == d.Backend && inUnits(p.Price) })
}

func inUnits(p offer.Price) bool {
	return p.SUPerGPUHour != "" || p.SUPerNodeHour != "" || p.SUPerCPUHour != ""
}

// several is what a site calls its pools.
func several(word string) string {
	if word == "" {
		return "pools"
	}
	return word + "s"
}

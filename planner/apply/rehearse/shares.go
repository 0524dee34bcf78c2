package rehearse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/failure"
)

// Shares are a person's statements about failures, instead of the history.
type Shares struct {
	Launches map[string]float64 // that fail, by class; nil: as history shows
	Smokes   *float64           // that say other than expected, the same
}

// ParseShares reads the values of -fail, each CLASS=SHARE. An error names the
// value that means nothing, or says that all together are more than every
// launch.
func ParseShares(list []string) (Shares, error) {
	var s Shares
	if len(list) == 0 {
		return s, nil
	}
	out, sum := map[string]float64{}, 0.0
	for _, text := range list {
		class, share, ok := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(share, 64)
		switch {
		case !ok || err != nil || !(v >= 0 && v <= 1):
			return s, fmt.Errorf("-fail=%s: a failure class and a share from 0 to 1 are needed, such as preempted=0.1", text)
		case class == "none" && v == 0:
			continue
		case class == failure.OOM:
			return s, fmt.Errorf("-fail=%s: oom is three classes; say which: oom_gpu, oom_host, oom_sched", text)
		}
		if _, twice := out[class]; twice {
			return s, fmt.Errorf("-fail=%s: %s is stated twice", text, class)
		}
		out[class] = v
		if class != Unexpected {
			sum += v
		}
	}
	if sum > 1 {
		return s, fmt.Errorf("the shares of -fail add up to %g, which is more than every launch", sum)
	}
	if share, ok := out[Unexpected]; ok {
		s.Smokes = &share
		if delete(out, Unexpected); len(out) == 0 {
			return s, nil // of launches nothing was said
		}
	}
	s.Launches = out
	return s, nil
}

// Check refuses classes that nothing of a campaign can fail with; own is its
// catalogue.
func (s Shares) Check(own []lang.Failure) error {
	known := failure.Known()
	for i := range own {
		if class := cmp.Or(own[i].Class, own[i].Name); !slices.Contains(known, class) {
			known = append(known, class)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Launches)) {
		if !slices.Contains(known, class) {
			meant := diag.Suggest(class, known)
			if meant != "" {
				meant = "; did you mean " + meant + "?"
			}
			return fmt.Errorf("-fail=%s=%g: %q is not a failure class of this campaign%s There are %s", class, s.Launches[class], class, cmp.Or(meant, "."), strings.Join(known, ", "))
		}
	}
	return nil
}

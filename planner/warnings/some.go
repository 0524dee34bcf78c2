// Package warnings writes the notes of a plan: its assumptions, costs and
// deletions that happen even without an apply, and the jobs that continue with
// muster off. It decides nothing.
package warnings

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
)

// mostNamed is how many of many are named; the rest are counted.
const mostNamed = 20

// Some names the first of many.
func Some(names []string) string {
	named := names[:min(len(names), mostNamed)]
	text := strings.Join(named, ", ")
	if more := len(names) - len(named); more > 0 {
		text += fmt.Sprintf(" and %s more", units.FormatCount(int64(more)))
	}
	return text
}

package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
)

// A Clean is the JSON of `muster clean -json`: the files that may be removed, or were.
type Clean struct {
	FormatVersion string            `json:"format_version"`
	Older         float64           `json:"older_seconds"`
	Keep          int               `json:"keep"` // launches of a job whose logs stay, and failed ones whose outputs stay
	Items         []CleanItem       `json:"items"`
	Problems      map[string]string `json:"problems,omitempty"` // by backend: why it was not looked at, or not cleaned
}

// A CleanItem is files of one kind in one place.
type CleanItem struct {
	Backend string   `json:"backend"`
	At      string   `json:"at"`   // the backend, or BACKEND/POOL
	What    string   `json:"what"` // logs, replaced, torn, failed
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Paths   []string `json:"paths"` // files, or folders of replaced results, checkpoints moved aside, and failed launches; below the workdir
	Removed bool     `json:"removed"`
}

// CleanOf is a page before its first item.
func CleanOf(older time.Duration, keep int) Clean {
	return Clean{FormatVersion: FormatVersion, Older: older.Seconds(), Keep: keep, Items: []CleanItem{}, Problems: map[string]string{}}
}

// Problem notes why a backend was not looked at, or not cleaned.
func (c *Clean) Problem(backend, why string) { c.Problems[backend] = why }

// Total is how much there is, in words.
func (c *Clean) Total() string {
	n, bytes := 0, int64(0)
	for _, item := range c.Items {
		n, bytes = n+item.Files, bytes+item.Bytes
	}
	return fmt.Sprintf("%s, %s", units.Count(n, "file"), units.FormatSize(bytes))
}

// Text is the page; every: with each path.
func (c *Clean) Text(every bool, width int) string {
	var b strings.Builder
	older := units.FormatDuration(time.Duration(c.Older * float64(time.Second)))
	for _, item := range c.Items {
		what := fmt.Sprintf("Logs of launches that ended more than %s ago, or that are not among the newest %d of a job.", older, c.Keep)
		switch item.What {
		case "torn":
			what = fmt.Sprintf("Checkpoints that launches moved aside, torn or of other work, which ended more than %s ago.", older)
		case "failed":
			what = fmt.Sprintf("Outputs that failed launches left, which ended more than %s ago, or that are not among the newest %d failed ones of a job.", older, c.Keep)
		case "replaced":
			what = fmt.Sprintf("%s that others replaced more than %s ago. They cannot be restored afterwards.", units.Count(len(item.Paths), "result"), older)
		}
		fmt.Fprintf(&b, "\n  backend.%s: %s, %s\n%s", item.At, units.Count(item.Files, "file"), units.FormatSize(item.Bytes), wrapped("    ", "    ", what, width))
		if every {
			for _, p := range item.Paths {
				fmt.Fprintf(&b, "      %s\n", term.CleanLine(p))
			}
		}
	}
	if len(c.Items) > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

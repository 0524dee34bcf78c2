package view

import (
	"fmt"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
)

// shownVerdicts is how many verdicts of a second look a screen shows.
const shownVerdicts = 8

// secondLook is what to read before the plan is approved.
func (h Human) secondLook(p *planner.Plan) string {
	list := p.Second.Verdicts
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("  Second look:\n")
	for i, v := range list {
		if i == shownVerdicts && !h.Verbose && len(list) > shownVerdicts+1 {
			b.WriteString("  … and " + units.Count(len(list)-i, "more verdict") + "; -verbose shows them\n")
			break
		}
		b.WriteString(h.short(verdict(v), fmt.Sprintf("  %-8s", v.Color), strings.Repeat(" ", 10)))
	}
	return b.String()
}

func verdict(v planner.Verdict) string {
	if v.Of == "" {
		return v.Text
	}
	return v.Of + ": " + v.Text
}

// markdownSecondLook is the same as a list.
func markdownSecondLook(b *strings.Builder, p *planner.Plan) {
	list := p.Second.Verdicts
	if len(list) == 0 {
		return
	}
	b.WriteString("**Second look:**\n\n")
	for i, v := range list {
		if i == shownVerdicts && len(list) > shownVerdicts+1 {
			fmt.Fprintf(b, "- … and %s\n", units.Count(len(list)-i, "more verdict"))
			break
		}
		fmt.Fprintf(b, "- **%s** %s\n", v.Color, escape(clip(verdict(v), 400)))
	}
	b.WriteByte('\n')
}

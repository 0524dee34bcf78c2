package view

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	money "github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/transfers"
)

func transferLine(t planner.Transfer) line {
	label := "⇣ pull"
	if t.Push {
		label = "⇡ push"
	}
	size := "size known after " + t.After
	if t.Bytes >= 0 {
		size = units.FormatSize(t.Bytes)
	}
	size += transferCost(t.Cost)
	from, to := t.Ends()
	files := "files"
	if t.Files == 1 {
		files = "file"
	}
	return line{label: label, amount: fmt.Sprintf("%s %s", commas(t.Files), files), shape: fmt.Sprintf("%s → %s, %s", from, to, size)}
}

// transferCost is the cost of a transfer: known, guessed from files made
// before, or unknown.
func transferCost(c *transfers.Cost) string {
	switch {
	case c == nil:
		return ""
	case c.Expected == "":
		return fmt.Sprintf(", at %s a GB: unknown until they are made", money.Words("usd", c.PerGB))
	case c.Guessed:
		return fmt.Sprintf(", %s * at %s a GB", money.Words("usd", c.Expected), money.Words("usd", c.PerGB))
	}
	return ", " + money.Words("usd", c.Expected)
}

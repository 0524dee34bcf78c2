package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Once merges equal diagnostics of several jobs into one that counts them.
func (l List) Once() List {
	type key struct {
		severity               Severity
		summary, detail, where string
	}
	at := map[key]int{}
	more := map[int]int{}
	addresses := map[int]map[string]bool{}
	var out List
	for _, d := range l {
		k := key{severity: d.Severity, summary: d.Summary, detail: d.Detail}
		if d.Subject != nil {
			k.where = d.Subject.String()
		} else {
			k.where = d.Address
		}
		i, seen := at[k]
		if !seen {
			at[k] = len(out)
			addresses[len(out)] = map[string]bool{d.Address: true}
			out = append(out, d)
			continue
		}
		if !addresses[i][d.Address] {
			addresses[i][d.Address] = true
			more[i]++
		}
	}
	for i, n := range more {
		d := &out[i]
		who := "another"
		if n > 1 {
			who = fmt.Sprintf("%d others", n)
		}
		if d.Address != "" {
			d.Detail = fmt.Sprintf("%s\n\nThe same applies to %s and %s.", d.Detail, d.Address, who)
		}
	}
	return out
}

// Alike merges diagnostics of several phases that have the same summary and detail into one, which
// names the other phases.
func (l List) Alike() List {
	type key struct {
		severity        Severity
		summary, detail string
	}
	at := map[key]int{}
	var out List
	for _, d := range l {
		k := key{d.Severity, d.Summary, d.Detail}
		i, seen := at[k]
		switch {
		case d.Subject == nil || !strings.HasPrefix(d.Address, "phase.") || strings.Contains(d.Address, "["):
			out = append(out, d)
		case !seen:
			at[k] = len(out)
			out = append(out, d)
		case d.Address != out[i].Address && !slices.Contains(out[i].Also, d.Address):
			out[i].Also = append(slices.Clip(out[i].Also), d.Address)
		default:
			out = append(out, d)
		}
	}
	for i := range out {
		d := &out[i]
		if n := len(d.Also); n > mostAlso {
			d.Detail += fmt.Sprintf("\n\nThe same applies to %s and %d more phases.", strings.Join(d.Also[:mostAlso], ", "), n-mostAlso)
		} else if n > 1 {
			d.Detail += fmt.Sprintf("\n\nThe same applies to %s and %s.", strings.Join(d.Also[:n-1], ", "), d.Also[n-1])
		} else if n == 1 {
			d.Detail += "\n\nThe same applies to " + d.Also[0] + "."
		}
	}
	return out
}

// mostAlso is how many other phases a diagnostic names.
const mostAlso = 8

package diag

import "fmt"

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

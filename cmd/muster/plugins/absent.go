package plugins

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers"
)

// unknownType is the summary with which lang meets a type without a schema.
const unknownType = "Unknown type of backend"

// ExplainAbsent replaces lang's message about a backend's type, which knows
// only that its provider is not there, by the reason why it cannot be used.
func ExplainAbsent(diags diag.List, absent map[string]error) diag.List {
	said := map[string]bool{}
	for i, d := range diags {
		for typ, err := range absent {
			if d.Summary != unknownType || !strings.Contains(d.Detail, fmt.Sprintf("of type %q", typ)) {
				continue
			}
			said[typ] = true
			var e *providers.Error
			if errors.As(err, &e) && e.Class == providers.NotFound {
				diags[i].Detail = d.Detail + "\n\n" + e.Detail
				continue
			}
			why := Fault(err)
			diags[i].Summary, diags[i].Detail = why.Summary, why.Detail
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(absent)) {
		if !said[typ] {
			diags.Append(Fault(absent[typ]))
		}
	}
	return diags
}

// Fault describes a provider's error, with the next step.
func Fault(err error) diag.Diagnostic {
	var e *providers.Error
	if errors.As(err, &e) {
		return diag.Diagnostic{Summary: diag.Sentence(e.Summary), Detail: strings.TrimSpace(e.Detail + "\n\n" + e.Hint)}
	}
	return diag.FromError(err)
}

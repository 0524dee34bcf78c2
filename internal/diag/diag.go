// Package diag holds the diagnostics about a user's input: values that are
// collected, never printed where they arise, and rendered once, for a terminal
// or as JSON, from the same struct.
package diag

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Severity tells whether a diagnostic stops the command.
type Severity int

// The severities. The zero value is an error, so that a forgotten field is
// never quieter than it should be.
const (
	Error Severity = iota
	Warning
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// A Diagnostic says what is wrong and where, quotes the value found, and names the next step.
type Diagnostic struct {
	Severity Severity
	// Summary is a short sentence without a period.
	Summary string
	// Detail is the value found and the next step; a blank line separates paragraphs, and the
	// view wraps them.
	Detail string
	// Address is the job, phase or backend concerned, if any.
	Address string
	// Also are the addresses of other phases with the same summary and detail; List.Alike sets it.
	Also []string
	// In names the enclosing block as people say it: `phase "teachers"`.
	In string
	// Subject is the place at fault; Context a wider range to show around it.
	Subject, Context *hcl.Range
	// Values are the symbols of the failed expression and their values.
	Values []Value
}

// A Value is one symbol used by the expression at fault.
type Value struct {
	Traversal string // as written: "var.n"
	Statement string // "is 12"
}

// List collects diagnostics. The zero value is ready.
type List []Diagnostic

// HasErrors reports whether any entry is an error.
func (l List) HasErrors() bool {
	for _, d := range l {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// Append adds the diagnostics of another list.
func (l *List) Append(more ...Diagnostic) { *l = append(*l, more...) }

// Errorf adds an error without a place.
func (l *List) Errorf(summary, detail string, args ...any) {
	l.Append(Diagnostic{Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// Warnf adds a warning without a place.
func (l *List) Warnf(summary, detail string, args ...any) {
	l.Append(Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(detail, args...)})
}

// Errorat adds an error at a place.
func (l *List) Errorat(at hcl.Range, summary, detail string, args ...any) {
	l.Append(Diagnostic{Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: at.Ptr()})
}

// Warnat adds a warning at a place.
func (l *List) Warnat(at hcl.Range, summary, detail string, args ...any) {
	l.Append(Diagnostic{Severity: Warning, Summary: summary, Detail: fmt.Sprintf(detail, args...), Subject: at.Ptr()})
}

// Err returns the list as an error, or nil when it holds no error. For
// plumbing only: views render the list itself.
func (l List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return listError(l)
}

type listError List

func (e listError) Error() string {
	var parts []string
	for _, d := range e {
		if d.Severity == Error {
			parts = append(parts, d.String())
		}
	}
	return strings.Join(parts, "; ")
}

// String is the one-line form, for logs and tests.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.Subject != nil {
		fmt.Fprintf(&b, "%s:%d: ", d.Subject.Filename, d.Subject.Start.Line)
	}
	b.WriteString(d.Summary)
	if d.Detail != "" {
		b.WriteString(": ")
		b.WriteString(strings.ReplaceAll(d.Detail, "\n", " "))
	}
	return b.String()
}

// FromHCL converts HCL's diagnostics, those of function calls to muster's words.
func FromHCL(ds hcl.Diagnostics) List {
	var l List
	for _, d := range ds {
		sev := Error
		if d.Severity == hcl.DiagWarning {
			sev = Warning
		}
		summary, detail, ok := ofCall(d)
		if !ok {
			summary, detail = strings.TrimSuffix(d.Summary, "."), d.Detail
		}
		l.Append(Diagnostic{Severity: sev, Summary: summary, Detail: detail, Subject: d.Subject, Context: d.Context})
	}
	return l
}

// Suggest returns the candidate nearest to a mistyped name, or "" when none
// is near enough to be meant: at most a third of the name's letters differ.
// Two letters in the wrong order count as one, other capitals as none.
func Suggest(given string, candidates []string) string {
	best, bestDist := "", 2*(len([]rune(given))/3)+1
	for _, c := range candidates {
		d := 2 * distance(strings.ToLower(given), strings.ToLower(c))
		if d == 0 && c == given {
			d = -1
		}
		if d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// longestName bounds compared names, in letters.
const longestName = 100

// distance is the optimal string alignment distance: insertions, deletions,
// replacements and swaps of neighbours.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > longestName || len(y) > longestName {
		return longestName
	}
	before, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(y)]
}

// Package change holds the reason for an action as data: the field that
// differs, its old value and its new one.
package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
)

// A Reason is one cause: the field, its old and its new value.
type Reason struct {
	Field string
	Old   string
	New   string
	Files string `json:",omitempty"` // whose bytes differ: the first and how many more
}

// Of is the cause that a field went from old to now.
func Of(field, old, now string) Reason { return Reason{Field: field, Old: old, New: now} }

// Names are the first of some files and how many more there are.
func Names(files []string) string {
	const most = 3
	if len(files) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
	}
	return strings.Join(files, ", ")
}

// Text is the reason in words: "param.steps: 100 → 200".
func (r Reason) Text() string {
	if r.Files != "" {
		files := r.Files
		r.Files = ""
		return r.Text() + ": " + files
	}
	switch {
	case r.Old == "" && r.New == "":
		return r.Field
	case r.Old == "":
		return r.Field + ": now " + r.New
	case r.New == "":
		return r.Field + ": was " + r.Old
	}
	return r.Field + ": " + r.Old + " → " + r.New
}

// Fields compares two lists of fields by name.
func Fields(old, now []lang.Field) []Reason {
	var out []Reason
	was := map[string]string{}
	for _, f := range old {
		was[f.Name] = f.Text
	}
	is := map[string]bool{}
	for _, f := range now {
		is[f.Name] = true
		if t, ok := was[f.Name]; !ok || t != f.Text {
			out = append(out, Of(f.Name, t, f.Text))
		}
	}
	for _, f := range old {
		if !is[f.Name] {
			out = append(out, Of(f.Name, f.Text, ""))
		}
	}
	slices.SortStableFunc(out, func(a, b Reason) int { return strings.Compare(a.Field, b.Field) })
	return out
}

// Short is enough of a digest to tell two apart.
func Short(digest string) string {
	digest = strings.TrimPrefix(digest, "sha256:")
	const enough = 12
	if len(digest) > enough {
		return digest[:enough]
	}
	return digest
}

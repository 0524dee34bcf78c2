package diag

import (
	"errors"
	"testing"
)

func TestSentence(t *testing.T) {
	for given, want := range map[string]string{
		"":                            "",
		"no route to host":            "No route to host",
		"muster was killed":           "muster was killed",
		"phase.a is held":             "phase.a is held",
		"/tmp/x is not a directory":   "/tmp/x is not a directory",
		`phase["N=1"] waits for that`: `phase["N=1"] waits for that`,
		"N=1 is no cell":              "N=1 is no cell",
	} {
		if got := Sentence(given); got != want {
			t.Errorf("%q became %q, want %q", given, got, want)
		}
	}
}

func TestFromError(t *testing.T) {
	d := FromError(errors.New("open the journal: no space\n\nMake room on /scratch."))
	if d.Summary != "Open the journal: no space" || d.Detail != "Make room on /scratch." || d.Severity != Error {
		t.Errorf("%+v", d)
	}
}

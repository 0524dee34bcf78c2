package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
)

// ask puts a question on the terminal; only the word yes is a yes.
func (a *app) ask(question string) (bool, error) {
	if !a.global.input {
		return false, usagef("input is off (-input=false or CI=true), so nobody can be asked")
	}
	a.notef("%s", question)
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if errors.Is(err, io.EOF) && line == "" {
		a.notef("\n")
	}
	return strings.TrimSpace(line) == "yes", nil
}

// resultLine is a result under the last word of a run; a long one is cut, and
// the command named that shows it whole.
func (a *app) resultLine(r lang.ResultValue) string {
	const whole = "  (whole: muster outputs)"
	line := "  " + resultText(r)
	if term.Width(line) > a.out.Width {
		line = term.Fit(line, a.out.Width-len(whole)) + whole
	}
	return line + "\n"
}

// resultText is one result of the campaign, or how far it is known.
func resultText(r lang.ResultValue) string {
	switch {
	case r.Error != "":
		return fmt.Sprintf("result.%s: cannot be computed: %s", r.Name, term.CleanLine(r.Error))
	case !r.Known:
		return fmt.Sprintf("result.%s: known after %d of %d", r.Name, r.Done, r.Total)
	}
	return fmt.Sprintf("result.%s = %s", r.Name, term.CleanLine(r.JSON))
}

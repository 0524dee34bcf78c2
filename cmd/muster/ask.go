package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
)

// ask puts a question on the terminal; only the word yes is a yes.
func (a *app) ask(question string) (bool, error) {
	if !a.global.input {
		return false, command.Usagef("input is off (-input=false or CI=true), so nobody can be asked")
	}
	a.notef("%s", question)
	if a.answers == nil {
		a.answers = bufio.NewReader(a.stdin) // one for all questions: it reads ahead
	}
	line, err := a.answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if errors.Is(err, io.EOF) && line == "" {
		a.notef("\n")
	}
	return strings.TrimSpace(line) == "yes", nil
}

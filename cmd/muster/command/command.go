// Package command defines commands in a table. It makes flags, help, completion
// and reference pages from the rows, and runs the command that a command line
// names.
package command

import (
	"context"
	"flag"
)

// A Command is one row of the command table. Help, completion, the CLI
// reference and the flags themselves all come from it.
type Command struct {
	Name     string // "plan", "state list"
	Args     string // "[PLAN]", "ADDR…"
	Short    string // one line, no period
	Long     string
	Examples []Example
	Exits    []Exit // codes beside 0 and 1
	Hidden   bool
	// Setup declares flags and returns what to run once they are parsed.
	Setup func(fs *flag.FlagSet) Action
	// Complete proposes completions of a positional argument.
	Complete func(begun string) []string
	// MinArgs and MaxArgs bound the positional arguments; MaxArgs -1 = any.
	MinArgs, MaxArgs int
}

// An Action runs a command, once its flags are parsed; args are the other words.
type Action func(ctx context.Context, args []string) error

// An Example is a command line and its purpose. The help shows it, and a test runs it.
type Example [2]string

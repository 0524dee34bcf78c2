package command

import "fmt"

// An Exit ends a command with a code after everything was said already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// The exit codes are a promise to scripts.
const (
	Done        Exit = 0
	Failed      Exit = 1
	Changes     Exit = 2
	Held        Exit = 3
	Budget      Exit = 4
	Locked      Exit = 5
	TimedOut    Exit = 124 // as timeout(1)
	Interrupted Exit = 130
)

// means says what each means; each help text lists those it uses.
var means = map[Exit]string{
	Done:        "done, warnings or not",
	Failed:      "an error; the message says what and where",
	Changes:     "changes are present (plan -detailed-exitcode), or unapproved work remains (apply)",
	Held:        "ended with jobs that are held, failed, cancelled, blocked or unknown",
	Budget:      "the plan exceeds a budget or a deadline (plan), or one stopped the run (apply)",
	Locked:      "the state is locked by another muster",
	TimedOut:    "-timeout has passed (wait)",
	Interrupted: "interrupted; jobs are still running",
}

// UsageError is a mistake on the command line.
type UsageError struct{ Text string }

func (e UsageError) Error() string { return e.Text }

// Usagef is a mistake on the command line in a short sentence.
func Usagef(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

package sshx

import (
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

// Class says what an Error means for the caller.
type Class int

// The classes. Only Unreachable passes by itself.
const (
	// Unreachable: nothing is known about the far side; ask again later.
	Unreachable Class = iota
	// Auth: the server accepted none of the keys.
	Auth
	// HostKey: the host could not prove that it is the host.
	HostKey
	// Config: ssh's own configuration is unusable.
	Config
)

func (c Class) String() string {
	return [...]string{"unreachable", "auth", "host key", "config"}[c]
}

// An Error is why a host was not reached, for the person who has to see to it.
type Error struct {
	Class Class
	// Summary is a short sentence without a period.
	Summary string
	// Detail is the finding, Hint the remedy; both may be empty.
	Detail, Hint string

	// Login is the command by which a person opens a connection that muster can share; empty
	// unless the server needs a person to type.
	Login string

	cause   error
	broke   bool     // it had answered before
	typed   bool     // somebody answered the server
	control *control // where that connection will be
}

func (e *Error) Error() string {
	parts := []string{e.Summary}
	for _, p := range []string{e.Detail, e.Hint} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

func (e *Error) Unwrap() error { return e.cause }

// isUnreachable reports whether an error leaves the far side unknown.
func isUnreachable(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == Unreachable
}

// Broke reports whether an error concerns a connection on which the far side had answered: a
// new one may work.
func Broke(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.broke
}

// Untold reports whether a command ended on a working connection without the server saying
// how: some servers cannot name the signal that killed it.
func Untold(err error) bool {
	var e *Error
	var missing *ssh.ExitMissingError
	return errors.As(err, &e) && e.broke && errors.As(e.cause, &missing)
}

func configError(summary, detail, hint string) *Error {
	return &Error{Class: Config, Summary: summary, Detail: detail, Hint: hint}
}

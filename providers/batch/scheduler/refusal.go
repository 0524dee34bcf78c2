package scheduler

import (
	"errors"

	"github.com/muster-run/muster/providers"
)

// A Refusal is a scheduler's answer that it does not change a job.
type Refusal struct {
	Err error
	// Gone says that the job has ended, or is not known.
	Gone bool
	// Unchangeable says that the job no longer waits, or that the site does not
	// let users change this.
	Unchangeable bool
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Gone reports whether an error refuses a change of a job that has ended.
func Gone(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Gone
}

// Unchangeable reports whether an error refuses a change that was understood.
func Unchangeable(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Unchangeable
}

// Heard reports whether an error is an answer of the scheduler.
func Heard(err error) bool {
	var e *providers.Error
	return Gone(err) || Unchangeable(err) || errors.As(err, &e) && e.Class != providers.Unreachable
}

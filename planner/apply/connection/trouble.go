package connection

import (
	"context"
	"errors"
	"time"

	"github.com/muster-run/muster/providers"
)

const (
	BackoffMin = 200 * time.Millisecond // before a backend that failed is asked again
	BackoffMax = 30 * time.Second
	loginPause = 3 * time.Second // at most, while a person is to log in
)

// ClassOf is the class of a provider's error; any other error means no answer.
func ClassOf(err error) providers.ErrorClass {
	var pe *providers.Error
	if errors.As(err, &pe) {
		return pe.Class
	}
	if errors.Is(err, context.Canceled) {
		return ""
	}
	return providers.Unreachable
}

// Backoff doubles from backoffMin to backoffMax.
func Backoff(tries int) time.Duration {
	d := BackoffMin
	for range tries - 1 {
		if d *= 2; d >= BackoffMax {
			return BackoffMax
		}
	}
	return d
}

// Pause is how long a backend is left alone after an error. Where a person may
// log in at any moment it is short: until then only this machine is asked.
func Pause(tries int, err error) time.Duration {
	if providers.WantsLogin(err) != "" {
		return min(Backoff(tries), loginPause)
	}
	return Backoff(tries)
}

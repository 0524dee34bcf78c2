package ssh

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/muster-run/muster/providers"
)

// A reply is the answer of one host.
type reply[T any] struct {
	host *host
	got  T
	err  error
}

// each asks all hosts of a backend at once. It abandons a host that has not answered when the
// caller's time is nearly over.
func each[T any](ctx context.Context, b *backend, hosts []*host, call func(context.Context, *host, *session) (T, error)) []reply[T] {
	out := make([]reply[T], len(hosts))
	var wg sync.WaitGroup
	for i, h := range hosts {
		wg.Go(func() {
			out[i].host = h
			early, stop := early(ctx)
			defer stop()
			out[i].err = h.ask(early, b, func(s *session) (err error) {
				out[i].got, err = call(early, h, s)
				return err
			})
			if out[i].err != nil && early.Err() != nil && ctx.Err() == nil {
				out[i].err = h.tooLate(early)
			}
		})
	}
	wg.Wait()
	return out
}

// split parts answers from errors. When no host answered, or one had
// something to say that is more than silence, that is the error; away are the
// hosts that could not be asked.
func split[T any](replies []reply[T]) (got []reply[T], away []reply[T], err error) {
	for _, r := range replies {
		switch {
		case r.err == nil:
			got = append(got, r)
		case cannotAsk(r.err):
			away = append(away, r)
		default:
			return nil, nil, r.err
		}
	}
	if len(got) == 0 && len(away) > 0 {
		return nil, nil, away[0].err
	}
	return got, away, nil
}

// cannotAsk reports whether an error concerns the way to a host: its jobs are unknown, and the
// other hosts continue.
func cannotAsk(err error) bool {
	var e *providers.Error
	return errors.As(err, &e) && (e.Class == providers.Unreachable || e.Class == providers.Auth)
}

// whyAway says for people which hosts could not be asked.
func whyAway[T any](away []reply[T]) string {
	var out []string
	for _, r := range away {
		out = append(out, r.host.name+": "+r.err.Error())
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

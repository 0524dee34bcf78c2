package ssh

import (
	"context"

	"github.com/muster-run/muster/providers"
)

// Through runs a call with the agent of a backend's one host,
// for types of backend that are reached over ssh and are no host's queue.
func (s *SSH) Through(ctx context.Context, backend string, call func(providers.Provider) error) error {
	b, err := s.backend(backend)
	if err != nil {
		return err
	}
	return b.hosts[0].do(ctx, b, func(s *session) error { return call(s) })
}

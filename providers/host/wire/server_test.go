package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/muster-run/muster/providers"
)

// A queue that ends while it answers is gone, and has refused nothing: who asked may ask the
// next one.
func TestServerThatEnds(t *testing.T) {
	t.Parallel()
	for range 200 {
		asked := make(chan struct{})
		s := &Server{Handlers: map[string]Handler{"logs": func(ctx context.Context, _ json.RawMessage) (any, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
		ctx, end := context.WithCancel(t.Context())
		here, there := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.Serve(ctx, there)
		}()
		go func() {
			<-asked
			end()
		}()
		c := NewLink(here, 0)
		err := c.Ask(t.Context(), "logs", json.RawMessage("{}"), nil)
		if refused := (*providers.Error)(nil); err == nil || errors.As(err, &refused) {
			t.Fatalf("it answered %v", err)
		}
		c.Close()
		<-served
	}
}

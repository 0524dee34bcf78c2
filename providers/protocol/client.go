package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// Client is a provider at the other end of a connection. It has the methods
// of the optional abilities, too; whether the provider has them, Abilities
// says after Schema.
type Client struct {
	wire      pb.ProviderClient
	abilities atomic.Pointer[[]string]
}

var (
	_ providers.Provider = (*Client)(nil)
	_ providers.Renter   = (*Client)(nil)
	_ providers.Cleaner  = (*Client)(nil)
)

// newClient speaks to the provider behind a connection.
func newClient(c grpc.ClientConnInterface) *Client {
	return &Client{wire: pb.NewProviderClient(c)}
}

// Rents reports whether the provider is a providers.Renter.
func (c *Client) Rents() bool { return c.has(abilityRent) }

// Cleans reports whether the provider is a providers.Cleaner.
func (c *Client) Cleans() bool { return c.has(abilityClean) }

func (c *Client) has(ability string) bool {
	list := c.abilities.Load()
	return list != nil && slices.Contains(*list, ability)
}

// converse sends a streamed request and gathers the streamed answer.
func converse[Q, R any](ctx context.Context,
	open func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[Q, R], error),
	send func(func(*Q) error) error, take func(*R),
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := open(ctx)
	if err != nil {
		return fromStatus(ctx, err)
	}
	if err := sendRequest(send, st.Send, st.CloseSend); err != nil {
		return err
	}
	return fromStatus(ctx, gather(bounded(st.Recv), take))
}

// sendRequest sends and half-closes. That the other side stopped listening
// is no error here: its reason comes with the answer.
func sendRequest[Q any](send func(func(*Q) error) error, to func(*Q) error, end func() error) error {
	err := send(to)
	if err == nil {
		err = end()
	}
	var e *providers.Error
	if errors.As(err, &e) {
		return err
	}
	switch status.Code(err) {
	case codes.Internal, codes.ResourceExhausted: // said by our own side: not encodable
		return &providers.Error{Class: providers.Invalid, Summary: "The request cannot be sent", Detail: err.Error()}
	}
	return nil
}

// tell sends a streamed request that has a bare answer.
func tell[Q, R any](ctx context.Context,
	open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[Q, R], error),
	send func(func(*Q) error) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := open(ctx)
	if err != nil {
		return fromStatus(ctx, err)
	}
	if err := sendRequest(send, st.Send, func() error { return nil }); err != nil {
		return err
	}
	_, err = st.CloseAndRecv()
	return fromStatus(ctx, err)
}

// miscounted is an answer with fewer or more items than were asked about.
func miscounted(call string, got, want int) error {
	return providers.Errorf(providers.Internal, "The provider answered %s of %d items with %d", call, want, got)
}

// unasked is an answer about an item that was not asked about.
func unasked(call string, asked int) error {
	return providers.Errorf(providers.Internal, "The provider answered %s about an item that is none of the %d that were asked about", call, asked)
}

// Schema implements providers.Describer.
func (c *Client) Schema(ctx context.Context) (offer.Schema, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var out offer.Schema
	st, err := c.wire.Schema(ctx, &pb.SchemaRequest{})
	if err != nil {
		return out, fromStatus(ctx, err)
	}
	err = gather(bounded(st.Recv), func(m *pb.SchemaReply) {
		if m.Schema != nil {
			out = value[offer.Schema](m.Schema)
			c.abilities.Store(&m.Abilities)
		}
		if m.Profile != "" {
			if out.Profiles == nil {
				out.Profiles = map[string][]byte{}
			}
			out.Profiles[m.Profile] = m.Source
		}
	})
	return out, fromStatus(ctx, err)
}

// Configure implements providers.Describer.
func (c *Client) Configure(ctx context.Context, b providers.Backend) error {
	_, err := c.wire.Configure(ctx, &pb.ConfigureRequest{Backend: request[pb.Backend](b)})
	return fromStatus(ctx, err)
}

// Pools implements providers.Describer.
func (c *Client) Pools(ctx context.Context, backend string) (out []offer.Pool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Pools(ctx, &pb.PoolsRequest{Backend: backend})
	if err != nil {
		return nil, fromStatus(ctx, err)
	}
	pools := few(bounded(st.Recv), maxPools, func(m *pb.PoolsReply) int { return len(m.Pools) })
	err = gather(pools, func(m *pb.PoolsReply) { out = append(out, each(m.Pools, value[offer.Pool])...) })
	return out, fromStatus(ctx, err)
}

// Quote implements providers.Describer.
func (c *Client) Quote(ctx context.Context, backend string, shapes []offer.Shape) (out []offer.Quote, err error) {
	err = converse(ctx, c.wire.Quote, func(send func(*pb.QuoteRequest) error) error {
		return splitMessages(shapes, request[pb.Shape], func(part []*pb.Shape) error {
			return send(&pb.QuoteRequest{Backend: backend, Shapes: part})
		})
	}, func(m *pb.QuoteReply) { out = append(out, each(m.Quotes, value[offer.Quote])...) })
	if err == nil && slices.ContainsFunc(out, func(q offer.Quote) bool { return q.Shape < 0 || q.Shape >= len(shapes) }) {
		err = unasked("Quote", len(shapes))
	}
	return out, err
}

// Preflight implements providers.Describer.
func (c *Client) Preflight(ctx context.Context, backend string, checks []providers.Check) (out []providers.Finding, err error) {
	err = converse(ctx, c.wire.Preflight, func(send func(*pb.PreflightRequest) error) error {
		return splitMessages(checks, request[pb.Check], func(part []*pb.Check) error {
			return send(&pb.PreflightRequest{Backend: backend, Checks: part})
		})
	}, func(m *pb.PreflightReply) { out = append(out, each(m.Findings, value[providers.Finding])...) })
	if err == nil && slices.ContainsFunc(out, func(f providers.Finding) bool { return f.Check >= len(checks) }) {
		err = unasked("Preflight", len(checks))
	}
	return out, err
}

// Submit implements providers.Runner.
func (c *Client) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	out := make([]providers.Submitted, 0, len(r.Jobs))
	err := converse(ctx, c.wire.Submit, func(send func(*pb.SubmitRequest) error) error {
		return splitMessages(r.Jobs, submissionOut, func(part []*pb.Submission) error {
			return send(&pb.SubmitRequest{Backend: r.Backend, Fence: r.Fence, Holder: r.Holder, Batch: r.Batch, Jobs: part})
		})
	}, func(m *pb.SubmitReply) { out = append(out, each(m.Results, value[providers.Submitted])...) })
	if err == nil && len(out) != len(r.Jobs) {
		err = miscounted("Submit", len(out), len(r.Jobs))
	}
	return out, err
}

// Find implements providers.Runner.
func (c *Client) Find(ctx context.Context, backend string, tokens []string) (out []offer.Observation, err error) {
	err = converse(ctx, c.wire.Find, func(send func(*pb.FindRequest) error) error {
		return splitStrings(tokens, func(part []string) error {
			return send(&pb.FindRequest{Backend: backend, Tokens: part})
		})
	}, func(m *pb.FindReply) { out = append(out, each(m.Observations, value[offer.Observation])...) })
	if err == nil && len(out) != len(tokens) && len(tokens) > 0 {
		err = miscounted("Find", len(out), len(tokens))
	}
	return out, err
}

// Watch implements providers.Runner. An error that fn returns comes back as it is.
func (c *Client) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Watch(ctx)
	if err != nil {
		return fromStatus(ctx, err)
	}
	err = sendRequest(func(send func(*pb.WatchRequest) error) error {
		return splitStrings(r.Handles, func(part []string) error {
			return send(&pb.WatchRequest{Backend: r.Backend, Cursor: r.Cursor, Ack: r.Ack, Handles: part})
		})
	}, st.Send, st.CloseSend)
	if err != nil {
		return err
	}
	var batch providers.Batch
	recv := bounded(st.Recv)
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fromStatus(ctx, err)
		}
		batch.Events = append(batch.Events, each(m.Events, value[offer.Observation])...)
		batch.Rentals = append(batch.Rentals, each(m.Rentals, value[offer.Rental])...)
		batch.Notes = append(batch.Notes, each(m.Notes, value[providers.Note])...)
		if m.More {
			continue
		}
		batch.Cursor = m.Cursor
		if err := fn(batch); err != nil {
			return err
		}
		batch, recv = providers.Batch{}, bounded(st.Recv)
	}
}

// Cancel implements providers.Runner.
func (c *Client) Cancel(ctx context.Context, r providers.CancelRequest) (out []providers.Outcome, err error) {
	err = converse(ctx, c.wire.Cancel, func(send func(*pb.CancelRequest) error) error {
		return splitStrings(r.Tokens, func(part []string) error {
			return send(&pb.CancelRequest{Backend: r.Backend, Fence: r.Fence, Holder: r.Holder, Grace: int64(r.Grace), Tokens: part, Handles: r.Handles})
		})
	}, func(m *pb.OutcomeReply) { out = append(out, each(m.Outcomes, value[providers.Outcome])...) })
	if err == nil && len(out) != len(r.Tokens) {
		err = miscounted("Cancel", len(out), len(r.Tokens))
	}
	return out, err
}

// Control implements providers.Runner.
func (c *Client) Control(ctx context.Context, r providers.ControlRequest) error {
	return tell(ctx, c.wire.Control, func(send func(*pb.ControlRequest) error) error {
		head := &pb.ControlRequest{
			Backend: r.Backend, Fence: r.Fence, Holder: r.Holder, Hold: r.Hold, Resume: r.Resume,
			Phases: mapOf(r.Phases, func(n int) int64 { return int64(n) }),
		}
		if r.Cap != nil {
			n := int64(*r.Cap)
			head.Cap = &n
		}
		return splitStrings(r.Tokens, func(part []string) error {
			head.Tokens = part
			err := send(head)
			head = &pb.ControlRequest{}
			return err
		})
	})
}

// fault marks an error of the caller's own reader or writer.
func fault(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

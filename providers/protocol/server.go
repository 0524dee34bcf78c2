package protocol

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// server answers the wire with a provider.
type server struct {
	pb.UnimplementedProviderServer
	provider providers.Provider
}

var _ pb.ProviderServer = (*server)(nil)

// Abilities beyond providers.Provider, as they are advertised.
const (
	abilityRent  = "rent"
	abilityClean = "clean"
	abilityLogin = "login"
)

func abilities(p providers.Provider) (out []string) {
	if _, ok := p.(providers.Renter); ok {
		out = append(out, abilityRent)
	}
	if _, ok := p.(providers.Cleaner); ok {
		out = append(out, abilityClean)
	}
	if _, ok := p.(providers.Loginer); ok {
		out = append(out, abilityLogin)
	}
	return out
}

func (s *server) Schema(_ *pb.SchemaRequest, to grpc.ServerStreamingServer[pb.SchemaReply]) error {
	schema, err := s.provider.Schema(to.Context())
	if err != nil {
		return toStatus(to.Context(), err)
	}
	if err := to.Send(&pb.SchemaReply{Schema: reply[pb.Schema](schema), Abilities: abilities(s.provider)}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Profiles)) {
		if err := to.Send(&pb.SchemaReply{Profile: name, Source: schema.Profiles[name]}); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) Configure(ctx context.Context, r *pb.ConfigureRequest) (*pb.ConfigureReply, error) {
	return &pb.ConfigureReply{}, toStatus(ctx, s.provider.Configure(ctx, value[providers.Backend](r.GetBackend())))
}

func (s *server) Pools(r *pb.PoolsRequest, to grpc.ServerStreamingServer[pb.PoolsReply]) error {
	pools, err := s.provider.Pools(to.Context(), r.GetBackend())
	if err != nil {
		return toStatus(to.Context(), err)
	}
	return toStatus(to.Context(), splitMessages(pools, reply[pb.Pool], func(part []*pb.Pool) error {
		return to.Send(&pb.PoolsReply{Pools: part})
	}))
}

func (s *server) Quote(st grpc.BidiStreamingServer[pb.QuoteRequest, pb.QuoteReply]) error {
	var backend string
	var shapes []offer.Shape
	if err := gatherRequest(st.Recv, func(m *pb.QuoteRequest, first bool) {
		if first {
			backend = m.Backend
		}
		shapes = append(shapes, each(m.Shapes, value[offer.Shape])...)
	}); err != nil {
		return err
	}
	quotes, err := s.provider.Quote(st.Context(), backend, shapes)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(quotes, reply[pb.Quote], func(part []*pb.Quote) error {
		return st.Send(&pb.QuoteReply{Quotes: part})
	}))
}

func (s *server) Preflight(st grpc.BidiStreamingServer[pb.PreflightRequest, pb.PreflightReply]) error {
	var backend string
	var checks []providers.Check
	if err := gatherRequest(st.Recv, func(m *pb.PreflightRequest, first bool) {
		if first {
			backend = m.Backend
		}
		checks = append(checks, each(m.Checks, value[providers.Check])...)
	}); err != nil {
		return err
	}
	findings, err := s.provider.Preflight(st.Context(), backend, checks)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(findings, reply[pb.Finding], func(part []*pb.Finding) error {
		return st.Send(&pb.PreflightReply{Findings: part})
	}))
}

func (s *server) Submit(st grpc.BidiStreamingServer[pb.SubmitRequest, pb.SubmitReply]) error {
	var r providers.SubmitRequest
	if err := gatherRequest(st.Recv, func(m *pb.SubmitRequest, first bool) {
		if first {
			r.Backend, r.Fence, r.Holder, r.Batch = m.Backend, m.Fence, m.Holder, m.Batch
		}
		r.Jobs = append(r.Jobs, each(m.Jobs, submissionIn)...)
	}); err != nil {
		return err
	}
	results, err := s.provider.Submit(st.Context(), r)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(results, reply[pb.Submitted], func(part []*pb.Submitted) error {
		return st.Send(&pb.SubmitReply{Results: part})
	}))
}

func (s *server) Find(st grpc.BidiStreamingServer[pb.FindRequest, pb.FindReply]) error {
	var backend string
	var tokens []string
	if err := gatherRequest(st.Recv, func(m *pb.FindRequest, first bool) {
		if first {
			backend = m.Backend
		}
		tokens = append(tokens, m.Tokens...)
	}); err != nil {
		return err
	}
	seen, err := s.provider.Find(st.Context(), backend, tokens)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(seen, reply[pb.Observation], func(part []*pb.Observation) error {
		return st.Send(&pb.FindReply{Observations: part})
	}))
}

func (s *server) Watch(st grpc.BidiStreamingServer[pb.WatchRequest, pb.WatchReply]) error {
	var r providers.WatchRequest
	if err := gatherRequest(st.Recv, func(m *pb.WatchRequest, first bool) {
		if first {
			r.Backend, r.Cursor, r.Ack = m.Backend, m.Cursor, m.Ack
		}
		r.Handles = append(r.Handles, m.Handles...)
	}); err != nil {
		return err
	}
	err := s.provider.Watch(st.Context(), r, func(b providers.Batch) error {
		err := splitMessages(b.Events, reply[pb.Observation], func(part []*pb.Observation) error {
			return st.Send(&pb.WatchReply{Events: part, More: true})
		})
		if err != nil {
			return err
		}
		err = split(b.Rentals, reply[pb.Rental, offer.Rental], func(m *pb.Rental) int { return proto.Size(m) }, func(part []*pb.Rental) error {
			return st.Send(&pb.WatchReply{Rentals: part, More: true})
		})
		if err != nil {
			return err
		}
		return st.Send(&pb.WatchReply{Cursor: b.Cursor, Notes: each(b.Notes, reply[pb.Note])})
	})
	return toStatus(st.Context(), err)
}

func (s *server) Cancel(st grpc.BidiStreamingServer[pb.CancelRequest, pb.OutcomeReply]) error {
	var r providers.CancelRequest
	if err := gatherRequest(st.Recv, func(m *pb.CancelRequest, first bool) {
		if first {
			r.Backend, r.Fence, r.Holder, r.Grace, r.Handles = m.Backend, m.Fence, m.Holder, time.Duration(m.Grace), m.Handles
		}
		r.Tokens = append(r.Tokens, m.Tokens...)
	}); err != nil {
		return err
	}
	out, err := s.provider.Cancel(st.Context(), r)
	return sendOutcomes(st.Context(), out, err, st.Send)
}

func sendOutcomes(ctx context.Context, out []providers.Outcome, err error, send func(*pb.OutcomeReply) error) error {
	if err != nil {
		return toStatus(ctx, err)
	}
	return toStatus(ctx, splitMessages(out, reply[pb.Outcome], func(part []*pb.Outcome) error {
		return send(&pb.OutcomeReply{Outcomes: part})
	}))
}

func (s *server) Control(st grpc.ClientStreamingServer[pb.ControlRequest, pb.ControlReply]) error {
	var r providers.ControlRequest
	if err := gatherRequest(st.Recv, func(m *pb.ControlRequest, first bool) {
		if first {
			r = controlIn(m)
			return
		}
		r.Tokens = append(r.Tokens, m.Tokens...)
	}); err != nil {
		return err
	}
	if err := s.provider.Control(st.Context(), r); err != nil {
		return toStatus(st.Context(), err)
	}
	return st.SendAndClose(&pb.ControlReply{})
}

func controlIn(m *pb.ControlRequest) providers.ControlRequest {
	r := providers.ControlRequest{
		Backend: m.Backend, Fence: m.Fence, Holder: m.Holder, Hold: m.Hold, Tokens: m.Tokens, Resume: m.Resume,
		Phases: mapOf(m.Phases, func(n int64) int { return int(n) }),
	}
	if m.Cap != nil {
		n := int(*m.Cap)
		r.Cap = &n
	}
	return r
}

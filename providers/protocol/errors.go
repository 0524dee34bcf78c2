package protocol

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// maxErrorText bounds summary and detail of an error, bytes: errors travel in
// HTTP/2 trailers, which are no place for a log.
const maxErrorText = 16 << 10

// ErrBroken is wrapped by errors of the connection itself: the process is gone, or broke the
// protocol. The call may be repeated on another process; everything a provider is asked is
// idempotent.
var ErrBroken = errors.New("connection to provider broken")

var codeOf = map[providers.ErrorClass]codes.Code{
	providers.Auth:        codes.Unauthenticated,
	providers.Unreachable: codes.Unavailable,
	providers.Quota:       codes.ResourceExhausted,
	providers.Invalid:     codes.InvalidArgument,
	providers.NotFound:    codes.NotFound,
	providers.Conflict:    codes.AlreadyExists,
	providers.StaleFence:  codes.FailedPrecondition,
	providers.Internal:    codes.Internal,
}

func errorOut(e *providers.Error) *pb.Error {
	if e == nil {
		return nil
	}
	return reply[pb.Error](*e)
}

func errorIn(e *pb.Error) *providers.Error {
	if e == nil {
		return nil
	}
	out := value[providers.Error](e)
	return &out
}

func short(s string) string {
	if len(s) > maxErrorText {
		s = s[:maxErrorText] + "…"
	}
	return text(s)
}

// toStatus turns a provider's error into a gRPC error. An error that is not a
// providers.Error is internal: the provider's author owes it a class.
func toStatus(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var e *providers.Error
	switch {
	case errors.As(err, &e):
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	default:
		e = &providers.Error{Class: providers.Internal, Summary: err.Error()}
	}
	code, ok := codeOf[e.Class]
	if !ok {
		code = codes.Internal
	}
	// No text in the status itself: percent-encoded in a header it would be
	// as long again.
	s, bad := status.New(code, string(e.Class)).WithDetails(errorOut(e))
	if bad != nil {
		return status.Error(code, short(e.Error()))
	}
	return s.Err()
}

// fromStatus turns a gRPC error back: a *providers.Error when the provider
// said it, the context's error when our side gave up, else ErrBroken.
func fromStatus(ctx context.Context, err error) error {
	var said *providers.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	s := status.Convert(err)
	for _, d := range s.Details() {
		if e, ok := d.(*pb.Error); ok {
			return errorIn(e)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch s.Code() {
	case codes.DeadlineExceeded: // seen by the transport a moment before the context
		return context.DeadlineExceeded
	case codes.ResourceExhausted:
		return &providers.Error{Class: providers.Invalid, Summary: "A message is larger than the provider accepts", Detail: s.Message()}
	case codes.Unimplemented:
		return &providers.Error{
			Class: providers.Invalid, Summary: "The provider does not know this call", Detail: s.Message(),
			Hint: "Use a newer version of the provider.",
		}
	}
	return fmt.Errorf("%w: %s (%s)", ErrBroken, s.Message(), s.Code())
}

package protocol

import (
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// chunkWriter sends its input.
type chunkWriter struct {
	send   func(*pb.Chunk) error
	offset int64
}

func (w *chunkWriter) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		end := min(n+maxChunk, len(p))
		if err := w.send(&pb.Chunk{Offset: w.offset, Data: p[n:end]}); err != nil {
			return n, err
		}
		w.offset += int64(end - n)
		n = end
	}
	return n, nil
}

func (s *server) Logs(r *pb.LogsRequest, to grpc.ServerStreamingServer[pb.Chunk]) error {
	return toStatus(to.Context(), s.provider.Logs(to.Context(), providers.LogRequest{
		Backend: r.Backend, Token: r.Token, Handle: r.Handle, Attempt: int(r.Attempt), Stderr: r.Stderr,
		Offset: r.Offset, Lines: int(r.Lines), Follow: r.Follow,
	}, &chunkWriter{send: to.Send, offset: r.Offset}))
}

func (s *server) Pull(r *pb.PullRequest, to grpc.ServerStreamingServer[pb.Chunk]) error {
	return toStatus(to.Context(), s.provider.Pull(to.Context(), r.Backend, string(r.Path), r.Offset,
		&chunkWriter{send: to.Send, offset: r.Offset}))
}

func (s *server) Push(st grpc.BidiStreamingServer[pb.PushRequest, pb.PushReply]) error {
	head, err := st.Recv()
	if err != nil {
		return err
	}
	from := &remoteFile{stream: st, size: head.Size}
	return toStatus(st.Context(), s.provider.Push(st.Context(), head.Backend, string(head.Path), head.Size, head.Digest, from))
}

// remoteFile is muster's file, read by the provider over the wire. Each
// change of position is a new turn; bytes of older turns are dropped.
type remoteFile struct {
	stream grpc.BidiStreamingServer[pb.PushRequest, pb.PushReply]
	size   int64
	pos    int64
	turn   int64
	asked  bool // the running turn continues at pos
	rest   []byte
}

var _ io.ReadSeeker = (*remoteFile)(nil)

func (f *remoteFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return f.pos, errors.New("seek before the start of the file")
	}
	if offset != f.pos {
		f.pos, f.asked, f.rest = offset, false, nil
	}
	return offset, nil
}

func (f *remoteFile) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if f.pos >= f.size {
		return 0, io.EOF
	}
	if !f.asked {
		f.turn++
		f.asked = true
		if err := f.stream.Send(&pb.PushReply{Turn: f.turn, Offset: f.pos}); err != nil {
			return 0, err
		}
	}
	for len(f.rest) == 0 {
		m, err := f.stream.Recv()
		switch {
		case err != nil:
			return 0, errors.Join(io.ErrUnexpectedEOF, err)
		case m.Turn != f.turn:
		case m.Fault != "":
			return 0, errors.New(m.Fault)
		case m.End && len(m.Data) == 0:
			return 0, io.ErrUnexpectedEOF
		default:
			f.rest = m.Data
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	f.pos += int64(n)
	return n, nil
}

func (s *server) Verify(st grpc.BidiStreamingServer[pb.VerifyRequest, pb.VerifyReply]) error {
	var r providers.VerifyRequest
	if err := gatherRequest(st.Recv, func(m *pb.VerifyRequest, first bool) {
		if first {
			r.Backend, r.Workdir, r.Open = m.Backend, string(m.Workdir), m.Open
		}
		r.Outputs = append(r.Outputs, each(m.Outputs, value[providers.Output])...)
	}); err != nil {
		return err
	}
	found, err := s.provider.Verify(st.Context(), r)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(found, reply[pb.OutputFound], func(part []*pb.OutputFound) error {
		return st.Send(&pb.VerifyReply{Outputs: part})
	}))
}

func (s *server) List(st grpc.BidiStreamingServer[pb.ListRequest, pb.ListReply]) error {
	var backend string
	var patterns []string
	if err := gatherRequest(st.Recv, func(m *pb.ListRequest, first bool) {
		if first {
			backend = m.Backend
		}
		patterns = append(patterns, stringsOf(m.Patterns)...)
	}); err != nil {
		return err
	}
	files, err := s.provider.List(st.Context(), backend, patterns)
	if err != nil {
		return toStatus(st.Context(), err)
	}
	return toStatus(st.Context(), splitMessages(files, reply[pb.FileInfo], func(part []*pb.FileInfo) error {
		return st.Send(&pb.ListReply{Files: part})
	}))
}

func (s *server) Remove(st grpc.ClientStreamingServer[pb.RemoveRequest, pb.RemoveReply]) error {
	var r providers.RemoveRequest
	if err := gatherRequest(st.Recv, func(m *pb.RemoveRequest, first bool) {
		if first {
			r.Backend, r.Fence, r.Holder, r.To = m.Backend, m.Fence, m.Holder, string(m.To)
		}
		r.Paths = append(r.Paths, stringsOf(m.Paths)...)
		for _, n := range m.Renames {
			r.Renames = append(r.Renames, providers.Rename{From: string(n.From), To: string(n.To)})
		}
	}); err != nil {
		return err
	}
	if err := s.provider.Remove(st.Context(), r); err != nil {
		return toStatus(st.Context(), err)
	}
	return st.SendAndClose(&pb.RemoveReply{})
}

func (s *server) Release(st grpc.BidiStreamingServer[pb.ReleaseRequest, pb.OutcomeReply]) error {
	var backend string
	var ids []string
	if err := gatherRequest(st.Recv, func(m *pb.ReleaseRequest, first bool) {
		if first {
			backend = m.Backend
		}
		ids = append(ids, m.Ids...)
	}); err != nil {
		return err
	}
	p, ok := s.provider.(providers.Renter)
	if !ok {
		return toStatus(st.Context(), providers.Errorf(providers.Invalid, "This provider rents nothing, so it releases nothing"))
	}
	out, err := p.Release(st.Context(), backend, ids)
	return sendOutcomes(st.Context(), out, err, st.Send)
}

func (s *server) Rentals(r *pb.RentalsRequest, to grpc.ServerStreamingServer[pb.RentalsReply]) error {
	p, ok := s.provider.(providers.Renter)
	if !ok {
		return toStatus(to.Context(), providers.Errorf(providers.Invalid, "This provider rents nothing, so it has no rentals"))
	}
	out, err := p.Rentals(to.Context(), r.Backend)
	if err != nil {
		return toStatus(to.Context(), err)
	}
	return toStatus(to.Context(), split(out, reply[pb.Rental, offer.Rental], func(m *pb.Rental) int { return proto.Size(m) }, func(part []*pb.Rental) error {
		return to.Send(&pb.RentalsReply{Rentals: part})
	}))
}

func (s *server) Clean(r *pb.CleanRequest, to grpc.ServerStreamingServer[pb.CleanReply]) error {
	p, ok := s.provider.(providers.Cleaner)
	if !ok {
		return toStatus(to.Context(), providers.Errorf(providers.Invalid, "This provider leaves nothing to clean"))
	}
	removed, err := p.Clean(to.Context(), r.Backend)
	if err != nil {
		return toStatus(to.Context(), err)
	}
	return toStatus(to.Context(), splitStrings(removed, func(part []string) error {
		return to.Send(&pb.CleanReply{Removed: part})
	}))
}

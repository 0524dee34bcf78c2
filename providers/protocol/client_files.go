package protocol

import (
	"context"
	"errors"
	"io"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// drain writes a stream of chunks to w.
func drain(ctx context.Context, recv func() (*pb.Chunk, error), w io.Writer) error {
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fromStatus(ctx, err)
		}
		if _, err := w.Write(m.Data); err != nil {
			return err
		}
	}
}

// Logs implements providers.Runner.
func (c *Client) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Logs(ctx, &pb.LogsRequest{
		Backend: r.Backend, Token: r.Token, Handle: r.Handle, Attempt: int64(r.Attempt), Stderr: r.Stderr,
		Offset: r.Offset, Lines: int64(r.Lines), Follow: r.Follow,
	})
	if err != nil {
		return fromStatus(ctx, err)
	}
	return drain(ctx, st.Recv, w)
}

// Pull implements providers.Files.
func (c *Client) Pull(ctx context.Context, backend, path string, offset int64, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Pull(ctx, &pb.PullRequest{Backend: backend, Path: []byte(path), Offset: offset})
	if err != nil {
		return fromStatus(ctx, err)
	}
	return drain(ctx, st.Recv, w)
}

// Push implements providers.Files. It seeks in r as the provider asks.
func (c *Client) Push(ctx context.Context, backend, path string, size int64, digest string, r io.ReadSeeker) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Push(ctx)
	if err != nil {
		return fromStatus(ctx, err)
	}
	// A failed Send is explained by Recv.
	_ = st.Send(&pb.PushRequest{Backend: backend, Path: []byte(path), Size: size, Digest: digest})
	asks := make(chan *pb.PushReply, 1)
	end := make(chan error, 1)
	go func() {
		end <- gather(st.Recv, func(m *pb.PushReply) {
			select {
			case <-asks: // an older turn that was never begun
			default:
			}
			asks <- m
		})
	}()
	p := &pusher{send: st.Send, asks: asks, file: r, buf: make([]byte, maxChunk)}
	err = p.run(end)
	if p.fault != nil {
		return p.fault
	}
	return fromStatus(ctx, err)
}

// pusher answers the provider's requests.
type pusher struct {
	send  func(*pb.PushRequest) error
	asks  <-chan *pb.PushReply
	file  io.ReadSeeker
	buf   []byte
	fault error // of our file
}

func (p *pusher) run(end <-chan error) error {
	var next *pb.PushReply
	for {
		if next == nil {
			select {
			case err := <-end:
				return err
			case next = <-p.asks:
			}
		}
		next = p.turn(next)
	}
}

// turn sends bytes until the file ends or another turn is asked for, which
// it returns.
func (p *pusher) turn(ask *pb.PushReply) *pb.PushReply {
	_, err := p.file.Seek(ask.Offset, io.SeekStart)
	for offset := ask.Offset; ; {
		n := 0
		if err == nil {
			n, err = io.ReadFull(p.file, p.buf)
		}
		m := &pb.PushRequest{Turn: ask.Turn, Offset: offset, Data: p.buf[:n]}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			if n > 0 {
				if p.send(m) != nil {
					return nil
				}
			}
			m = &pb.PushRequest{Turn: ask.Turn, Offset: offset + int64(n), End: true}
		default:
			p.fault = fault("read the file to push", err)
			m = &pb.PushRequest{Turn: ask.Turn, End: true, Fault: text(err.Error())}
		}
		if p.send(m) != nil || m.End {
			return nil
		}
		offset += int64(n)
		select {
		case next := <-p.asks:
			return next
		default:
		}
	}
}

// Verify implements providers.Files.
func (c *Client) Verify(ctx context.Context, r providers.VerifyRequest) (out []offer.Output, err error) {
	err = converse(ctx, c.wire.Verify, func(send func(*pb.VerifyRequest) error) error {
		return splitMessages(r.Outputs, request[pb.Output], func(part []*pb.Output) error {
			return send(&pb.VerifyRequest{Backend: r.Backend, Workdir: []byte(r.Workdir), Open: r.Open, Outputs: part})
		})
	}, func(m *pb.VerifyReply) { out = append(out, each(m.Outputs, value[offer.Output])...) })
	if err == nil && len(out) != len(r.Outputs) {
		err = miscounted("Verify", len(out), len(r.Outputs))
	}
	return out, err
}

// List implements providers.Files.
func (c *Client) List(ctx context.Context, backend string, patterns []string) (out []providers.FileInfo, err error) {
	err = converse(ctx, c.wire.List, func(send func(*pb.ListRequest) error) error {
		return splitPaths(patterns, func(part [][]byte) error {
			return send(&pb.ListRequest{Backend: backend, Patterns: part})
		})
	}, func(m *pb.ListReply) { out = append(out, each(m.Files, value[providers.FileInfo])...) })
	return out, err
}

// Remove implements providers.Files.
func (c *Client) Remove(ctx context.Context, r providers.RemoveRequest) error {
	return tell(ctx, c.wire.Remove, func(send func(*pb.RemoveRequest) error) error {
		if err := splitPaths(r.Paths, func(part [][]byte) error {
			return send(&pb.RemoveRequest{Backend: r.Backend, Fence: r.Fence, Holder: r.Holder, To: []byte(r.To), Paths: part})
		}); err != nil || len(r.Renames) == 0 {
			return err
		}
		return split(r.Renames, func(n providers.Rename) *pb.Rename {
			return &pb.Rename{From: []byte(n.From), To: []byte(n.To)}
		}, func(n *pb.Rename) int { return len(n.From) + len(n.To) }, func(part []*pb.Rename) error {
			return send(&pb.RemoveRequest{Renames: part})
		})
	})
}

// Release implements providers.Renter.
func (c *Client) Release(ctx context.Context, backend string, ids []string) (out []providers.Outcome, err error) {
	err = converse(ctx, c.wire.Release, func(send func(*pb.ReleaseRequest) error) error {
		return splitStrings(ids, func(part []string) error {
			return send(&pb.ReleaseRequest{Backend: backend, Ids: part})
		})
	}, func(m *pb.OutcomeReply) { out = append(out, each(m.Outcomes, value[providers.Outcome])...) })
	return out, err
}

// Rentals implements providers.Renter.
func (c *Client) Rentals(ctx context.Context, backend string) (out []offer.Rental, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Rentals(ctx, &pb.RentalsRequest{Backend: backend})
	if err != nil {
		return nil, fromStatus(ctx, err)
	}
	err = gather(bounded(st.Recv), func(m *pb.RentalsReply) { out = append(out, each(m.Rentals, value[offer.Rental])...) })
	return out, fromStatus(ctx, err)
}

// Clean implements providers.Cleaner.
func (c *Client) Clean(ctx context.Context, backend string) (out []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := c.wire.Clean(ctx, &pb.CleanRequest{Backend: backend})
	if err != nil {
		return nil, fromStatus(ctx, err)
	}
	err = gather(bounded(st.Recv), func(m *pb.CleanReply) { out = append(out, m.Removed...) })
	return out, fromStatus(ctx, err)
}

package protocol

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/muster-run/muster/providers"
)

// A stream of bytes between two machines says nothing when its link is dead,
// so that both ends ask for a sign of life: muster's often enough that a call
// does not hang, the far one so that it ends some time.
const (
	clientPulse    = 10 * time.Second // gRPC takes no less
	clientPatience = 10 * time.Second
	serverPulse    = time.Minute
	serverPatience = time.Minute
)

// ServeStream serves a provider to the one client at the other end of a
// stream, until the stream or ctx ends. It closes the stream.
func ServeStream(ctx context.Context, s io.ReadWriteCloser, p providers.Provider) error {
	server := grpc.NewServer(append(ServerOptions(),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: serverPulse, Timeout: serverPatience}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: clientPulse / 2, PermitWithoutStream: true}),
	)...)
	register(server, p)
	conn := newStreamConn(s)
	defer server.Stop()
	defer context.AfterFunc(ctx, server.Stop)()
	err := server.Serve(&single{conn: conn})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return ctx.Err()
	}
	return err
}

// A StreamClient is a provider at the other end of a stream.
type StreamClient struct {
	*Client
	grpc *grpc.ClientConn
	conn *streamConn
}

// DialStream speaks to a provider that ServeStream serves. Once the stream
// has ended every call ends with ErrBroken; there is no second connection.
func DialStream(s io.ReadWriteCloser) (*StreamClient, error) {
	conn := newStreamConn(s)
	first := make(chan net.Conn, 1)
	first <- conn
	c, err := grpc.NewClient("passthrough:///stream", append(DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: clientPulse, Timeout: clientPatience, PermitWithoutStream: true}),
		grpc.WithIdleTimeout(0),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case c := <-first:
				return c, nil
			default:
				return nil, errStreamEnded
			}
		}))...)
	if err != nil {
		return nil, err
	}
	return &StreamClient{Client: newClient(c), grpc: c, conn: conn}, nil
}

var errStreamEnded = errors.New("the connection has ended")

// Ended is closed when the stream is no longer usable.
func (c *StreamClient) Ended() <-chan struct{} { return c.conn.ended }

// Close ends calls in flight and closes the stream.
func (c *StreamClient) Close() error {
	return errors.Join(c.grpc.Close(), c.conn.Close())
}

// streamConn makes a connection of a stream. It has no deadlines: gRPC's keep-alive replaces
// them. Closing it ends a read that is under way, which closing a stream over a dead link does
// not.
type streamConn struct {
	stream io.ReadWriteCloser
	in     *io.PipeReader
	once   sync.Once
	ended  chan struct{}
	err    error
}

const pumpSize = 64 << 10 // bytes read from a stream at once

func newStreamConn(s io.ReadWriteCloser) *streamConn {
	in, pump := io.Pipe()
	go func() {
		_, err := io.CopyBuffer(pump, s, make([]byte, pumpSize))
		_ = pump.CloseWithError(err)
	}()
	return &streamConn{stream: s, in: in, ended: make(chan struct{})}
}

func (c *streamConn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *streamConn) Write(p []byte) (int, error) { return c.stream.Write(p) }

func (c *streamConn) Close() error {
	c.once.Do(func() {
		close(c.ended)
		_ = c.in.CloseWithError(net.ErrClosed)
		c.err = c.stream.Close()
	})
	return c.err
}

type streamAddr struct{}

func (streamAddr) Network() string { return "stream" }
func (streamAddr) String() string  { return "stream" }

func (c *streamConn) LocalAddr() net.Addr              { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr             { return streamAddr{} }
func (c *streamConn) SetDeadline(time.Time) error      { return nil }
func (c *streamConn) SetReadDeadline(time.Time) error  { return nil }
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

// single hands out one connection, and ends with it.
type single struct {
	conn  *streamConn
	taken bool
}

func (l *single) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.conn.ended
	return nil, io.EOF
}

func (l *single) Close() error   { return l.conn.Close() }
func (l *single) Addr() net.Addr { return streamAddr{} }

// Package sdk makes a process out of a providers.Provider: a main function that
// calls Serve is a complete provider. The process always speaks the protocol
// within its limits, logs to muster's log, and never outlives the muster that
// started it.
//
// A provider leaves out values that it does not know, or marks them as unknown:
// in offer.Usage a negative CPU or MaxRSS and a nil GPUMaxMem are unknown.
package sdk

import (
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol"
)

// stopGrace is how long calls in flight may take to end once the process is asked to stop;
// after it the process exits anyway.
const stopGrace = 1500 * time.Millisecond

// Logger is the provider's log: one JSON object a line on stderr, which
// muster reads. Its level is that of MUSTER_LOG, "warn" if not set. Secrets
// do not belong there.
var Logger = sync.OnceValue(func() hclog.Logger {
	level := hclog.LevelFromString(os.Getenv("MUSTER_LOG"))
	if level == hclog.NoLevel {
		level = hclog.Warn
	}
	return hclog.New(&hclog.LoggerOptions{Level: level, Output: os.Stderr, JSONFormat: true})
})

// Serve serves the provider until muster says stop or is gone. If the provider is an io.Closer
// it is closed then. A process that muster did not start prints that and exits with 1. Print
// nothing to stdout before Serve: the handshake is spoken there.
func Serve(p providers.Provider) {
	if os.Getenv(protocol.Handshake.MagicCookieKey) != protocol.Handshake.MagicCookieValue {
		fmt.Fprintln(os.Stderr, notByHand)
		os.Exit(1)
	}
	logger := Logger()
	log.SetOutput(logger.StandardWriter(&hclog.StandardLoggerOptions{InferLevels: true}))
	s := &stopper{}
	go s.onSignal()
	go s.onOrphaned(os.Getenv(protocol.ParentVar))
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  protocol.Handshake,
		VersionedPlugins: protocol.Set(p),
		Logger:           logger,
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			server := grpc.NewServer(append(opts, protocol.ServerOptions()...)...)
			s.serving(server)
			return server
		},
	})
	if c, ok := p.(io.Closer); ok {
		s.deadline()
		if err := c.Close(); err != nil {
			logger.Warn("close provider", "error", err)
		}
	}
}

const notByHand = `This is a provider of muster: muster starts it when a campaign needs it.
To use it, put it in .muster/providers beside the campaign, or anywhere on PATH, and run: muster init`

// stopper ends the process, politely first.
type stopper struct {
	mu     sync.Mutex
	server *grpc.Server
	once   sync.Once
}

func (s *stopper) serving(server *grpc.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = server
}

// onSignal: SIGINT is ignored (the engine decides what a Ctrl-C means);
// SIGTERM and SIGHUP stop.
func (s *stopper) onSignal() {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGHUP)
	<-ch
	s.stop()
}

// deadline makes sure that the process ends.
func (s *stopper) deadline() {
	s.once.Do(func() { time.AfterFunc(stopGrace, func() { os.Exit(1) }) })
}

func (s *stopper) stop() {
	s.deadline()
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	if server == nil {
		os.Exit(1)
	}
	server.Stop() // ends the contexts of all calls; plugin.Serve returns
}

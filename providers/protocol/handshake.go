// Package protocol carries the providers.Provider interface over gRPC: the wire
// format (pb), its conversion to and from Go values, and batching, which keeps
// messages small and avoids a call for each job. newClient and Register are the
// two ends; packages launch and sdk put processes around them.
package protocol

import (
	"context"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// version is the wire's version, negotiated at launch.
const version = 1

// PluginName is the name under which go-plugin knows the one service.
const PluginName = "provider"

// ParentVar is the environment variable that names the muster process which
// started a provider: "PID-START", start in clock ticks since boot.
const ParentVar = "MUSTER_PARENT"

// Handshake tells a provider from any other program. It is no secret and no
// protection: the socket's directory is.
var Handshake = plugin.HandshakeConfig{
	ProtocolVersion:  version,
	MagicCookieKey:   "MUSTER_PROVIDER",
	MagicCookieValue: "6d757374-65722d70-726f7669-64657231",
}

// Plugin is the type that go-plugin registers (Impl set) or dispenses (Impl
// nil).
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Impl providers.Provider
}

var _ plugin.GRPCPlugin = (*Plugin)(nil)

// GRPCServer registers the implementation.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	register(s, p.Impl)
	return nil
}

// GRPCClient returns a *Client.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return newClient(c), nil
}

// Set is the go-plugin set of this version.
func Set(impl providers.Provider) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{version: {PluginName: &Plugin{Impl: impl}}}
}

// register serves a provider on a gRPC server.
func register(s grpc.ServiceRegistrar, p providers.Provider) {
	pb.RegisterProviderServer(s, &server{provider: p})
}

// ServerOptions are the message limits of the provider's side. go-plugin
// leaves gRPC's 4 MiB there, which is a trap.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage)}
}

// DialOptions are the message limits of muster's side.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))}
}

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/ulimit"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/protocol"
)

// instance is one process of a provider and the backends that it knows.
type instance struct {
	plugin  *plugin.Client
	process *process
	client  *protocol.Client
	conn    *grpc.ClientConn
	born    time.Time

	mu         sync.Mutex
	configured map[string]bool
}

// launch starts a program and waits for its handshake.
func (l *Launcher) launch(prog Program) (*instance, error) {
	if err := l.check(prog); err != nil {
		return nil, err
	}
	if err := l.mayStart(prog); err != nil {
		return nil, err
	}
	dir, err := l.socketDir()
	if err != nil {
		return nil, err
	}
	inst := &instance{born: time.Now(), configured: map[string]bool{}}
	inst.plugin = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  protocol.Handshake,
		VersionedPlugins: protocol.Set(nil),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir},
		StartTimeout:     l.opts.StartTimeout,
		GRPCDialOptions:  protocol.DialOptions(),
		Logger:           l.opts.Logger.Named(prog.Type),
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			cmd := exec.Command(prog.Path, prog.Args...)
			cmd.Args[0] = prog.name()
			cmd.Env = append(environment(l.opts.Environ, prog.Type, kernel.Identify(os.Getpid())), spec.Env...)
			inst.process = newProcess(l.ctx, cmd)
			return inst.process, nil
		},
	})
	if err := inst.handshake(l, prog); err != nil {
		inst.end()
		var e *providers.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, startError(prog, inst.process, err)
	}
	inst.process.settled()
	go l.watchHeartbeat(inst, prog.Type)
	return inst, nil
}

func (i *instance) handshake(l *Launcher, prog Program) error {
	conn, err := i.plugin.Client()
	if err != nil {
		return err
	}
	i.conn = conn.(*plugin.GRPCClient).Conn // the only protocol that is allowed
	raw, err := conn.Dispense(protocol.PluginName)
	if err != nil {
		return err
	}
	i.client = raw.(*protocol.Client)
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.StartTimeout)
	defer cancel()
	schema, err := i.client.Schema(ctx)
	if err != nil {
		return err
	}
	return l.settle(ctx, prog, schema)
}

// configure sends a backend to the process once.
func (i *instance) configure(ctx context.Context, b providers.Backend) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.configured[b.Name] {
		return nil
	}
	if err := i.client.Configure(ctx, b); err != nil {
		return err
	}
	i.configured[b.Name] = true
	return nil
}

// startError explains a start that came to nothing.
func startError(prog Program, p *process, err error) error {
	out := &providers.Error{Class: providers.Internal, Summary: fmt.Sprintf("Provider %q does not start", prog.Type)}
	said, killed := []string{fmt.Sprintf("%s: %v.", prog, err)}, false
	if p != nil && p.cmd.Process != nil {
		head, tail := p.head.String(), p.words()
		switch {
		case head != "" && !strings.Contains(firstLine(head), "|"):
			said[0] = fmt.Sprintf("%s printed something before the handshake: %q.", prog, head)
			out.Hint = "A provider's stdout belongs to muster; its author should print to stderr."
		case strings.HasPrefix(err.Error(), "timeout"):
			said[0] = fmt.Sprintf("%s did not say hello in time.", prog)
		case p.fate() != "":
			said[0] = fmt.Sprintf("%s ended before it said hello: %s.", prog, p.fate())
			killed = p.signaled()
		}
		if tail != "" {
			said = append(said, "Its last words: "+lastWords(tail))
		}
	}
	out.Detail = strings.Join(said, "\n")
	if killed {
		return &shot{out}
	}
	return out
}

// A shot provider was killed by somebody else while it started, which says nothing of it.
type shot struct{ error }

func (s *shot) Unwrap() error { return s.error }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// lastWords are a few lines from the end of a process's output; of a panic, those that say
// why; of a limit that was reached, one.
func lastWords(s string) string {
	if line := ulimit.Dump(s); line != "" {
		return line
	}
	const enough = 5
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.Join(lines[i:min(i+enough, len(lines))], "\n")
		}
	}
	return strings.Join(lines[max(0, len(lines)-enough):], "\n")
}

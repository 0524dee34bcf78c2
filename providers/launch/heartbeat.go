package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const (
	defaultHeartbeat = 10 * time.Second
	// missedPulses in a row end a process. One alone says little: muster
	// itself may have been stopped, and its clock went on.
	missedHeartbeats = 3
	// endGrace is how long a process may take to hear that it is to end; the
	// 2 s that it then has are go-plugin's.
	endGrace = 3 * time.Second
)

// watchPulse asks the process for a sign of life, and kills it when none
// comes: a process that is stopped or stuck would hold every call for ever.
// Killed, it is a crash like any other, and the calls are repeated.
func (l *Launcher) watchHeartbeat(i *instance, typ string) {
	every := l.opts.Heartbeat
	tick := time.NewTicker(every)
	defer tick.Stop()
	for missed := 0; missed < missedHeartbeats; {
		select {
		case <-i.process.done:
			return
		case <-l.ctx.Done():
			return // Close ends it, in its own time
		case <-tick.C:
		}
		if i.answers(l.ctx, every) {
			missed = 0
		} else {
			missed++
		}
	}
	if !i.process.alive() || l.ctx.Err() != nil {
		return
	}
	i.process.hung.Store(true)
	l.opts.Logger.Named(typ).Warn("provider does not answer and is ended", "pid", i.process.pid(), "waited", every*missedHeartbeats)
	_ = i.process.Kill(context.Background())
}

// answers asks go-plugin's health service, which every provider has.
func (i *instance) answers(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(i.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	return err == nil || ctx.Err() == nil // a refusal is an answer
}

// end asks the process to end, waits, and kills it. go-plugin would wait for
// ever for a process that is stopped to hear it.
func (i *instance) end() {
	late := time.AfterFunc(endGrace, func() { _ = i.process.Kill(context.Background()) })
	defer late.Stop()
	i.plugin.Kill()
}

// hungFate describes a process that was ended because it stopped answering.
func hungFate(fate string) string {
	return fmt.Sprintf("%s, because it had stopped answering", fate)
}

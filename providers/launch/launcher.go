// Package launch starts and supervises provider processes. It finds the
// program, checks it against the lock file, starts it with a bare environment,
// restarts it after a crash, and ends it. It returns a providers.Provider that
// survives its process.
package launch

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/muster-run/muster/providers"
)

// Options say where providers are found and how they are pinned. The zero
// value finds external providers in the data folder and on PATH only.
type Options struct {
	// Builtin are the types that Self serves as `provider serve TYPE`.
	Builtin []string
	// Self is the program of the built-in types; "" is this program, as it
	// was when it started, even if the file was replaced since.
	Self string

	// Dir is the campaign's folder, which has .muster/providers and the lock
	// file; "" is the current folder.
	Dir string
	// PluginDir is searched before everything else (MUSTER_PLUGIN_DIR); "" takes the
	// environment's.
	PluginDir string
	// Dev are programs under development, by type. They come first and are
	// not checked against the lock file.
	Dev map[string]string
	// Pin decides about an external provider that is not in the lock file.
	Pin Pin

	// Gate is asked before a provider is started, a backend reached and a text
	// of the campaign run there; nil allows everything.
	Gate Gate
	// Person answers the questions of hosts before they let muster in; nil = nobody is there.
	Person Person

	// Environ is the environment from which providers get their few
	// variables; nil is os.Environ().
	Environ []string
	// Logger receives the providers' logs; nil drops them.
	Logger hclog.Logger
	// StartTimeout bounds one start; 0 = 20 s.
	StartTimeout time.Duration
	// Heartbeat is the time between two checks that a process still answers; one that misses
	// three is killed and started again. 0 = 10 s.
	Heartbeat time.Duration
}

// Launcher owns the provider processes of one command: at most one per type.
type Launcher struct {
	opts    Options
	program programs
	lock    *Lock
	lockErr error
	ctx     context.Context // ends with Close
	end     context.CancelCauseFunc

	mu     sync.Mutex
	byType map[string]*remote
	closed bool
}

var errClosed = errors.New("providers are shut down")

// New reads the lock file and starts nothing.
func New(o Options) *Launcher {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Gate == nil {
		o.Gate = open{}
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = 20 * time.Second
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = defaultHeartbeat
	}
	l := &Launcher{opts: o, program: newPrograms(o), byType: map[string]*remote{}}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.lock, l.lockErr = readLock(l.LockPath())
	return l
}

// LockPath is the path of the lock file, whether it exists or not.
func (l *Launcher) LockPath() string { return filepath.Join(l.opts.Dir, lockName) }

// Provider returns the provider of a type, started. It may be called from
// many goroutines; the same type is the same process. The provider has
// the abilities of providers.Renter and providers.Cleaner if the process says so.
func (l *Launcher) Provider(ctx context.Context, typ string) (providers.Provider, error) {
	r, err := l.remote(typ)
	if err != nil {
		return nil, err
	}
	inst, err := r.instance(ctx)
	if err != nil {
		return nil, err
	}
	return r.abilities(inst.client), nil
}

func (l *Launcher) remote(typ string) (*remote, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	r := l.byType[typ]
	if r == nil {
		r = &remote{launcher: l, typ: typ, backends: map[string]providers.Backend{}, told: map[string]told{}}
		l.byType[typ] = r
	}
	return r, nil
}

// PIDs are the running provider processes by type.
func (l *Launcher) PIDs() map[string]int {
	out := map[string]int{}
	for typ, r := range l.remotes() {
		if pid := r.pid(); pid != 0 {
			out[typ] = pid
		}
	}
	return out
}

func (l *Launcher) remotes() map[string]*remote {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.byType)
}

// Close ends all providers: asks, waits up to 2 s, kills. Calls in flight
// return an error.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end(errClosed)
	var wg sync.WaitGroup
	for _, r := range slices.Collect(maps.Values(l.remotes())) {
		wg.Go(r.close)
	}
	wg.Wait()
	l.leaveSocketDir()
}

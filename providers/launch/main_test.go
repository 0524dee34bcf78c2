package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sdk"
)

// The test binary is its own set of providers: `provider serve TYPE`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "provider" && os.Args[2] == "serve" {
		serve(os.Args[3])
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "host" {
		playHost(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func serve(typ string) {
	switch typ {
	case "chatty":
		fmt.Println("Loading model weights")
	case "stillborn":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(7)
	case "mute":
		time.Sleep(time.Hour)
	case "shot", "doomed":
		mark, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "started"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			panic(err)
		}
		mark.WriteString("x")
		if at, _ := mark.Seek(0, io.SeekEnd); at == 1 || typ == "doomed" {
			unix.Kill(os.Getpid(), unix.SIGKILL)
			time.Sleep(time.Hour)
		}
	}
	sdk.Serve(&fake{typ: typ, backends: map[string]providers.Backend{}})
}

// fake answers what it is asked with what a test needs to see; its memory is
// the process's, so a crash shows.
type fake struct {
	typ      string
	mu       sync.Mutex
	backends map[string]providers.Backend
}

var _ providers.Provider = (*fake)(nil)

func (f *fake) Schema(context.Context) (offer.Schema, error) {
	return offer.Schema{Type: f.typ, Version: "1.2.3"}, nil
}

func (f *fake) Configure(_ context.Context, b providers.Backend) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.backends[b.Name] = b
	return nil
}

// Pools tells the environment, one variable a note.
func (f *fake) Pools(_ context.Context, backend string) ([]offer.Pool, error) {
	return []offer.Pool{{Backend: backend, Notes: os.Environ()}}, nil
}

func (f *fake) Quote(context.Context, string, []offer.Shape) ([]offer.Quote, error) { return nil, nil }

func (f *fake) Preflight(context.Context, string, []providers.Check) ([]providers.Finding, error) {
	panic("preflight always crashes here")
}

func (f *fake) Submit(_ context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.backends[r.Backend]
	if !ok && r.Backend != "pid" {
		return nil, providers.Errorf(providers.Invalid, "backend %s was never configured", r.Backend)
	}
	crashOnce(b.Dir)
	out := make([]providers.Submitted, len(r.Jobs))
	for i, j := range r.Jobs {
		out[i] = providers.Submitted{Token: j.Token, Handle: fmt.Sprint(os.Getpid())}
	}
	return out, nil
}

// crashOnce ends the process if the folder holds a file "crash", removing it.
func crashOnce(dir string) {
	if dir != "" && os.Remove(dir+"/crash") == nil {
		os.Exit(3)
	}
}

func (f *fake) Find(_ context.Context, _ string, tokens []string) ([]offer.Observation, error) {
	out := make([]offer.Observation, len(tokens))
	for i, t := range tokens {
		out[i] = offer.Observation{Token: t, Presence: offer.Absent}
	}
	return out, nil
}

// Watch counts from the cursor to 20, and crashes at 10 if it is to.
func (f *fake) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	n := 0
	_, _ = fmt.Sscan(r.Cursor, &n)
	for n < 20 {
		n++
		if err := fn(providers.Batch{Cursor: fmt.Sprint(n), Events: []offer.Observation{{Token: fmt.Sprint(n)}}}); err != nil {
			return err
		}
		if n == 10 {
			f.mu.Lock()
			crashOnce(f.backends[r.Backend].Dir)
			f.mu.Unlock()
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fake) Cancel(context.Context, providers.CancelRequest) ([]providers.Outcome, error) {
	return nil, &providers.Error{Class: providers.StaleFence, Summary: "Too late", Detail: "d", Hint: "h"}
}
func (f *fake) Control(context.Context, providers.ControlRequest) error { return nil }

func (f *fake) Logs(_ context.Context, r providers.LogRequest, w io.Writer) error {
	log := strings.Repeat("0123456789", 100)
	_, err := io.WriteString(w, log[r.Offset:500])
	f.mu.Lock()
	crashOnce(f.backends[r.Backend].Dir)
	f.mu.Unlock()
	if err == nil {
		_, err = io.WriteString(w, log[max(500, r.Offset):])
	}
	return err
}

func (f *fake) Verify(context.Context, providers.VerifyRequest) ([]offer.Output, error) {
	return nil, nil
}

func (f *fake) Push(context.Context, string, string, int64, string, io.ReadSeeker) error { return nil }
func (f *fake) Pull(context.Context, string, string, int64, io.Writer) error             { return nil }
func (f *fake) List(context.Context, string, []string) ([]providers.FileInfo, error)     { return nil, nil }
func (f *fake) Remove(context.Context, providers.RemoveRequest) error                    { return nil }

// playHost is a muster that starts a provider, tells its pid, and hangs.
func playHost(how string) {
	o := Options{Builtin: []string{"fake"}}
	if how == "behind-a-script" {
		dir := os.Getenv("XDG_RUNTIME_DIR")
		script := fmt.Sprintf("#!/bin/sh\n'%s' provider serve fake\n", os.Args[0])
		if err := program.File(dir+"/script", []byte(script)); err != nil {
			panic(err)
		}
		o.Dev = map[string]string{"fake": dir + "/script"}
	}
	p, err := New(o).Provider(context.Background(), "fake")
	pid := 0
	if err == nil {
		out, _ := p.Submit(context.Background(), providers.SubmitRequest{Backend: "pid", Jobs: make([]providers.Job, 1)})
		_, _ = fmt.Sscan(out[0].Handle, &pid)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"pid": pid, "err": fmt.Sprint(err)})
	select {}
}

func newLauncher(t testing.TB, o Options) *Launcher {
	t.Helper()
	if o.Builtin == nil {
		o.Builtin = []string{"fake", "other", "chatty", "stillborn", "mute", "shot", "doomed"}
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	l := New(o)
	t.Cleanup(l.Close)
	return l
}

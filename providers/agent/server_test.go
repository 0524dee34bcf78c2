package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/hosttest"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/providertest"
)

// The test binary stands in for muster-host: as its queue, and as what a
// login shell starts.
const beQueue = "MUSTER_TEST_QUEUE"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(beQueue) != "":
		os.Exit(host.Main(context.Background(), os.Args[1:]))
	case len(os.Args) == 3 && os.Args[1] == EnvironMode:
		if printEnviron(os.Stdout, os.Args[2]) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// shortDir is a folder whose sockets have short paths.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "md")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// options are those of an agent with a spool of its own.
func options(t *testing.T, dir string) Options {
	environ := providers.JobEnviron(os.Environ())
	return Options{
		Queue:   host.Options{Spool: filepath.Join(dir, "s"), Command: []string{self(t)}, Env: []string{beQueue + "=1"}, Idle: 5 * time.Second},
		Home:    dir,
		Environ: func() ([]providers.EnvVar, string) { return environ, "" },
	}
}

// open serves an agent on one end of a pipe and speaks to it at the other.
func open(t *testing.T, o Options) *Client {
	t.Helper()
	near, far := net.Pipe()
	d := New(o)
	ended := make(chan error, 1)
	go func() { ended <- Serve(context.Background(), far, d) }()
	c, err := Connect(t.Context(), near)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
		_ = d.Close()
	})
	return c
}

// TestConformance holds an agent to the suite; a restart kills the queue and
// opens another agent.
func TestConformance(t *testing.T) {
	t.Parallel()
	var opened sync.Map // provider → its options
	enter := func(t *testing.T, o Options) providers.Provider {
		c := open(t, o)
		opened.Store(providers.Provider(c), o)
		return c
	}
	providertest.Run(t, providertest.Options{
		New: func(t *testing.T) providers.Provider {
			o := options(t, shortDir(t))
			t.Cleanup(func() { hosttest.Kill(t, o.Queue.Spool) })
			return enter(t, o)
		},
		Restart: func(t *testing.T, p providers.Provider) providers.Provider {
			o, _ := opened.Load(p)
			hosttest.Kill(t, o.(Options).Queue.Spool)
			return enter(t, o.(Options))
		},
	})
}

// TestNoiseBeforeTheAgent: what rc files print is thrown away, line ended or not.
func TestNoiseBeforeTheAgent(t *testing.T) {
	t.Parallel()
	for _, noise := range []string{"", "Welcome to h1\n", "no newline at its end", "\x1b[31mred\x1b[0m\r\n" + strings.Repeat("x", 200_000), Magic + " or so\n"} {
		near, far := net.Pipe()
		d := New(options(t, shortDir(t)))
		go func() {
			_, _ = io.WriteString(far, noise)
			_ = Serve(context.Background(), far, d)
		}()
		c, err := Connect(t.Context(), near)
		if err != nil {
			t.Fatalf("after %.20q: %v", noise, err)
		}
		if s, err := c.Schema(t.Context()); err != nil || s.Type != "local" {
			t.Errorf("after %.20q: %v, %v", noise, s.Type, err)
		}
		_ = c.Close()
		_ = d.Close()
	}
}

// TestNoAgent: a host on which no agent opens says what it said instead.
func TestNoAgent(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	go func() {
		_, _ = io.WriteString(far, "sh: 1: muster-host-0123: Permission denied\n")
		_ = far.Close()
	}()
	_, err := Connect(t.Context(), near)
	if err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("%v", err)
	}
	near, _ = net.Pipe() // silence
	ctx, stop := context.WithCancelCause(t.Context())
	late := errors.New("it took too long")
	stop(late)
	if _, err := Connect(ctx, near); !errors.Is(err, late) {
		t.Errorf("%v", err)
	}
}

// TestHomeIsExpanded: what begins with ~ is found in the home.
func TestHomeIsExpanded(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	o := options(t, dir)
	t.Cleanup(func() { hosttest.Kill(t, o.Queue.Spool) })
	c := open(t, o)
	b := providers.Backend{Name: "ssh.lab", Type: "ssh", Workdir: "~/w", Lineage: "lin", Dir: "/nowhere/here"}
	if err := c.Configure(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	pools, err := c.Pools(t.Context(), b.Name)
	if err != nil || len(pools) != 1 || pools[0].Home != dir || pools[0].Word != "host" {
		t.Errorf("%+v, %v", pools, err)
	}
	if err := c.Push(t.Context(), b.Name, "~/w/in.txt", 2, "", strings.NewReader("hi")); err != nil {
		t.Fatal(err)
	}
	j := providers.Job{Token: strings.Repeat("ab", 16), Address: "phase.a", Phase: "a", Attempt: 1, Shell: "cat in.txt > out.txt; pwd >> out.txt", Workdir: "~/w", Dir: "~/w",
		Shape: offer.Shape{CPUs: 1, Nodes: 1}, Outputs: []providers.Output{{Name: "out", Kind: "path", Path: "~/w/out.txt"}}}
	if _, err := c.Submit(t.Context(), providers.SubmitRequest{Backend: b.Name, Fence: 1, Jobs: []providers.Job{j}}); err != nil {
		t.Fatal(err)
	}
	done := errors.New("done")
	err = c.Watch(t.Context(), providers.WatchRequest{Backend: b.Name}, func(b providers.Batch) error {
		for _, e := range b.Events {
			switch e.Status {
			case offer.Completed:
				return done
			case offer.Failed:
				return fmt.Errorf("it failed: %+v", e)
			}
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "w", "out.txt")); string(got) != "hi"+filepath.Join(dir, "w")+"\n" {
		t.Errorf("%q", got)
	}
}

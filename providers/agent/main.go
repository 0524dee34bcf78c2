package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/protocol"
)

// Magic begins the line after which the protocol begins; whatever a login
// shell printed before it is noise.
const Magic = "muster-agent 3"

// serveHost serves this host on standard input and output until the other end is
// gone.
func serveHost(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return fmt.Errorf("the home directory is not known: HOME is %q", os.Getenv("HOME"))
	}
	d := New(Options{Queue: host.Options{Command: []string{self, "queue"}}, Home: home, Environ: ahead(self), Binary: installed(self)})
	defer d.Close()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	return Serve(ctx, stdio{}, newRouter(d))
}

// ahead begins at once to ask the login shell for its environment, which
// takes longer than all else.
func ahead(self string) func() ([]providers.EnvVar, string) {
	get := sync.OnceValues(func() ([]providers.EnvVar, string) { return loginEnviron(self) })
	go get()
	return get
}

// installed is the path of the binary if muster put it here.
func installed(self string) string {
	if strings.HasPrefix(filepath.Base(self), Prefix) {
		return self
	}
	return ""
}

// Serve says the first line, then serves a provider on a stream.
func Serve(ctx context.Context, s io.ReadWriteCloser, p providers.Provider) error {
	// A newline first: noise need not have ended its line.
	steady := newSteadyClock(p)
	if _, err := io.WriteString(s, "\n"+firstLine(steady.at, account())+"\n"); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	return protocol.ServeStream(ctx, s, steady)
}

type stdio struct{}

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

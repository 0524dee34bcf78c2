package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

const (
	headBytes = 200                    // of stdout, for "printed before the handshake"
	tailBytes = 64 << 10               // of stderr, for "its last words": a whole dump of Go
	drainTime = 200 * time.Millisecond // for output after the end; a grandchild may hold the pipes open for ever
)

// process is one provider process, as go-plugin wants to see it.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *os.File
	head, tail     keep
	done           chan struct{}   // closed when the process has been waited for
	read           chan struct{}   // closed when its stderr has been read to its end
	err            error           // of Wait, after done
	ctx            context.Context // until the handshake is over, its end is the process's
	release        func() bool
	hung           atomic.Bool // it was killed because it did not answer
}

var _ runner.Runner = (*process)(nil)

func newProcess(ctx context.Context, cmd *exec.Cmd) *process {
	return &process{
		ctx: ctx, cmd: cmd, done: make(chan struct{}), read: make(chan struct{}),
		head: keep{limit: headBytes}, tail: keep{limit: tailBytes, last: true},
	}
}

// Start starts the process and waits for it in the background.
func (p *process) Start(context.Context) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return errors.Join(err, outR.Close(), outW.Close())
	}
	p.stdout, p.stderr = outR, errR
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	p.cmd.SysProcAttr = ownGroup()
	err = spawn(p.cmd)
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		close(p.done)
		return err
	}
	p.release = context.AfterFunc(p.ctx, func() { _ = p.Kill(context.Background()) })
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
		time.Sleep(drainTime)
		_, _ = outR.Close(), errR.Close()
	}()
	return nil
}

// settled: from here on the process is asked to end before it is killed.
func (p *process) settled() { p.release() }

// Stdout is where the handshake comes from.
func (p *process) Stdout() io.ReadCloser { return tee(p.stdout, &p.head) }

// Stderr is the provider's log.
func (p *process) Stderr() io.ReadCloser {
	return &toEnd{ReadCloser: tee(p.stderr, &p.tail), reached: sync.OnceFunc(func() { close(p.read) })}
}

// A toEnd reader says when nothing more can be read.
type toEnd struct {
	io.ReadCloser
	reached func()
}

func (r *toEnd) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	if err != nil {
		r.reached()
	}
	return n, err
}

// words are the end of its stderr. Of a process that ended it waits for the last of them,
// which may come after the news of its end.
func (p *process) words() string {
	if !p.alive() && p.cmd.Process != nil {
		select {
		case <-p.read:
		case <-time.After(2 * drainTime):
		}
	}
	return strings.TrimSpace(p.tail.String())
}

// Wait waits for the end.
func (p *process) Wait(context.Context) error {
	<-p.done
	return p.err
}

// Kill ends the process and the rest of its group. A host queue is in a session of its own and
// lives on.
func (p *process) Kill(context.Context) error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func (p *process) alive() bool {
	if p.cmd.Process == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// ID is the pid.
func (p *process) ID() string { return strconv.Itoa(p.pid()) }

func (p *process) pid() int {
	if p.cmd.Process == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Name is the program.
func (p *process) Name() string { return p.cmd.Path }

// Diagnose leaves explaining to our own messages.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin: both see the same files.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin is the other way round.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// fate says how the process ended, "" while it runs.
func (p *process) fate() string {
	if p.alive() || p.cmd.ProcessState == nil {
		return ""
	}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		fate := fmt.Sprintf("killed by signal %d (%s)", int(ws.Signal()), ws.Signal())
		if p.hung.Load() {
			fate = hungFate(fate)
		}
		return fate
	}
	return fmt.Sprintf("exit status %d", p.cmd.ProcessState.ExitCode())
}

// signaled reports whether the process has ended by a signal, and not because it hung.
func (p *process) signaled() bool {
	if p.alive() || p.cmd.ProcessState == nil || p.hung.Load() {
		return false
	}
	ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// keep remembers the first or last bytes that went by.
type keep struct {
	mu    sync.Mutex
	limit int
	last  bool
	buf   []byte
}

func (k *keep) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last {
		k.buf = append(k.buf, b...)
		if over := len(k.buf) - k.limit; over > 0 {
			k.buf = append(k.buf[:0], k.buf[over:]...)
		}
	} else if room := k.limit - len(k.buf); room > 0 {
		k.buf = append(k.buf, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (k *keep) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.buf)
}

type teed struct {
	io.Reader
	io.Closer
}

func tee(from *os.File, to io.Writer) io.ReadCloser {
	return teed{io.TeeReader(from, to), from}
}

package sshx

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// throughCommand starts ProxyCommand, whose standard streams are the wire.
func (h *host) throughCommand(o Options) (net.Conn, error) {
	line, err := h.tokens(o.Home).expand(h.proxy)
	if err != nil {
		return nil, configError("cannot expand ProxyCommand for "+h.alias, err.Error(), "")
	}
	shell := first(os.Getenv("SHELL"), "/bin/sh")
	return h.startProxy(exec.Command(shell, "-c", "exec "+line))
}

// forward is a stream to an address through the host, over the connection that
// ssh(1) has open to it.
func (h *host) forward(address string) (net.Conn, error) {
	return h.startProxy(exec.Command(h.control.program, h.control.args("-W", address)...))
}

func (h *host) startProxy(cmd *exec.Cmd) (net.Conn, error) {
	p := &proxyConn{}
	if err := p.start(cmd, "cannot start ProxyCommand for "+h.alias); err != nil {
		return nil, err
	}
	go func() {
		cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// A proxyConn is a running ProxyCommand as a net.Conn. It has no deadlines: its caller closes
// it.
type proxyConn struct{ child }

func (p *proxyConn) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if err == io.EOF {
		err = p.lastWords(err)
	}
	return n, err
}

// Write fails, and not Read, where the command was gone before it was spoken to.
func (p *proxyConn) Write(b []byte) (int, error) {
	n, err := p.in.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = p.lastWords(err)
	}
	return n, err
}

// lastWords is why the command ended, by its stderr; err if it said nothing.
func (p *proxyConn) lastWords(err error) error {
	select {
	case <-p.ended:
	case <-time.After(time.Second): // they may come after its last byte
	}
	if said := strings.TrimSpace(p.stderr.String()); said != "" {
		return errors.New("ProxyCommand: " + said)
	}
	return err
}

// Close ends the command and all that it started.
func (p *proxyConn) Close() error {
	p.once.Do(func() {
		p.in.Close()
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.out.Close()
	})
	<-p.ended
	return nil
}

func (p *proxyConn) LocalAddr() net.Addr              { return proxyAddr{} }
func (p *proxyConn) RemoteAddr() net.Addr             { return proxyAddr{} }
func (p *proxyConn) SetDeadline(time.Time) error      { return nil }
func (p *proxyConn) SetReadDeadline(time.Time) error  { return nil }
func (p *proxyConn) SetWriteDeadline(time.Time) error { return nil }

type proxyAddr struct{}

func (proxyAddr) Network() string { return "proxy" }
func (proxyAddr) String() string  { return "proxy" }

package sshtest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.Connections.Add(1)
		s.mu.Lock()
		s.conns[c] = true
		s.mu.Unlock()
		s.work.Go(func() {
			s.handle(c)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.conns, c)
		})
	}
}

func (s *Server) handle(c net.Conn) {
	defer c.Close()
	s.mu.Lock()
	config := *s.config
	s.mu.Unlock()
	_, chans, reqs, err := ssh.NewServerConn(c, &config)
	if err != nil {
		return
	}
	s.work.Go(func() {
		for r := range reqs {
			if r.WantReply && !s.Deaf.Load() {
				r.Reply(false, nil)
			}
		}
	})
	var open atomic.Int64 // on this connection, as OpenSSH counts
	for ch := range chans {
		switch {
		case ch.ChannelType() == "direct-tcpip":
			s.work.Go(func() { forward(ch) })
		case open.Load() >= int64(s.Sessions):
			s.Refused.Add(1)
			ch.Reject(ssh.ConnectionFailed, "open failed") // as OpenSSH beyond MaxSessions
		default:
			n := open.Add(1)
			s.Peak.Store(max(s.Peak.Load(), n))
			s.work.Go(func() {
				defer open.Add(-1)
				s.session(ch)
			})
		}
	}
}

func (s *Server) session(nc ssh.NewChannel) {
	ch, reqs, err := nc.Accept()
	if err != nil {
		return
	}
	defer ch.Close()
	for r := range reqs {
		if r.Type == "exec" && s.Drops.CompareAndSwap(true, false) {
			s.work.Go(func() {
				time.Sleep(50 * time.Millisecond)
				s.Cut()
			})
			return
		}
		if r.Type == "exec" && s.Closes.CompareAndSwap(true, false) {
			return
		}
		r.Reply(r.Type == "exec", nil)
		if r.Type != "exec" {
			continue
		}
		s.work.Go(func() { ssh.DiscardRequests(reqs) })
		s.exec(ch, string(r.Payload[4:]))
		return
	}
}

// exec runs a command with pipes that are closed when the channel is.
func (s *Server) exec(ch ssh.Channel, line string) {
	cmd := s.Command(line)
	cmd.Stdout, cmd.Stderr = ch, ch.Stderr()
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	s.work.Go(func() {
		io.Copy(in, ch)
		in.Close()
	})
	cmd.Wait()
	if strings.HasPrefix(cmd.ProcessState.String(), "signal: ") {
		ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal        string
			Core          bool
			Message, Lang string
		}{Signal: "KILL"}))
		return
	}
	ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(cmd.ProcessState.ExitCode())}))
}

func forward(nc ssh.NewChannel) {
	var to struct {
		Host  string
		Port  uint32
		From  string
		FromP uint32
	}
	ssh.Unmarshal(nc.ExtraData(), &to)
	c, err := net.Dial("tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port)))
	if err != nil {
		nc.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	ch, reqs, err := nc.Accept()
	if err != nil {
		c.Close()
		return
	}
	go ssh.DiscardRequests(reqs)
	go func() {
		io.Copy(c, ch)
		c.Close()
	}()
	io.Copy(ch, c)
	ch.Close()
}

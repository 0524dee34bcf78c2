package sshx

import (
	"context"
	"errors"
	"io"

	"golang.org/x/crypto/ssh"
)

// Exit is how a command ended.
type Exit struct {
	Code   int
	Signal string // "KILL" when a signal ended it; Code then says nothing
	Stderr string // the end of it
}

// Run runs one command to its end; stdin and stdout may be nil. A command that
// ends with a code or a signal is no error. When ctx ends first, Run returns
// and the command loses its standard streams; whether it runs on is its own
// matter. Reads of stdin that never return are left behind.
func (c *Client) Run(ctx context.Context, command string, stdin io.Reader, stdout io.Writer) (Exit, error) {
	s, err := c.Open(ctx, command)
	if err != nil {
		return Exit{}, err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()

	go func() {
		if stdin != nil {
			io.Copy(s, stdin) // a command need not read all it is given
		}
		s.CloseWrite()
	}()
	if stdout == nil {
		stdout = io.Discard
	}
	_, copyErr := io.Copy(stdout, s)
	if ctx.Err() != nil {
		return Exit{}, ctx.Err()
	}
	if copyErr != nil {
		return Exit{}, copyErr
	}
	type end struct {
		exit Exit
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		exit, err := s.Wait()
		ended <- end{exit, err}
	}()
	select {
	case e := <-ended:
		return e.exit, e.err
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

// A Stream is a command that runs, its standard input and output as one
// reader and writer. Reading ends with io.EOF when the command closed its
// output, and with Unreachable when the link died. Close takes the command its
// standard streams.
type Stream interface {
	io.ReadWriteCloser
	CloseWrite() error // ends the command's standard input
	// Wait waits for the command to end. The caller must read its standard output meanwhile.
	Wait() (Exit, error)
	Stderr() string // the end of its output so far
}

// A channel is a Stream over a connection of this process.
type channel struct {
	conn    *conn
	session *ssh.Session
	leave   func() // the session can no longer be used
	in      io.WriteCloser
	out     *io.PipeReader
	stderr  *tail
	ended   chan struct{}
	exit    Exit
	err     error // set before ended closes
}

// Open starts a command that lives as long as it likes. The context bounds
// only the opening.
func (c *Client) Open(ctx context.Context, command string) (Stream, error) {
	for again := true; ; again = false {
		conn, err := c.link.get(ctx)
		if err != nil {
			return nil, err
		}
		s, err := conn.open(ctx, command)
		if errors.Is(err, errGone) && again {
			continue // it died before anything was asked of it
		}
		if errors.Is(err, errGone) {
			return nil, conn.lost()
		}
		return s, err
	}
}

func (c *conn) open(ctx context.Context, command string) (Stream, error) {
	session, leave, end, err := c.session(ctx)
	if err != nil {
		return nil, err
	}
	s := &channel{conn: c, session: session, leave: leave, stderr: new(tail), ended: make(chan struct{})}
	session.Stderr = s.stderr
	if err := s.start(ctx, command); err != nil {
		session.Close()
		end()
		return nil, err
	}
	c.work.Go(func() {
		s.exit, s.err = s.result(session.Wait())
		end()
		close(s.ended)
	})
	return s, nil
}

const pumpSize = 64 << 10 // bytes read from a channel at once

// start sends the command. The server's answer may take as long as the link
// is silent; a caller that gives up closes the session, which ends the wait.
func (s *channel) start(ctx context.Context, command string) (err error) {
	if s.in, err = s.session.StdinPipe(); err != nil {
		return err
	}
	out, err := s.session.StdoutPipe()
	if err != nil {
		return err
	}
	// A server answers the end of a channel when the command has ended, which may be
	// never: the reader of this side does not wait for that.
	var pump *io.PipeWriter
	s.out, pump = io.Pipe()
	go func() {
		_, err := io.CopyBuffer(pump, out, make([]byte, pumpSize))
		_ = pump.CloseWithError(err)
	}()
	answered := make(chan error, 1)
	s.conn.work.Go(func() { answered <- s.session.Start(command) })
	select {
	case err = <-answered:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil && s.conn.died(err) {
		return s.conn.lost()
	}
	if errors.Is(err, io.EOF) { // a refusal is an answer (RFC 4254 5.4), and this is none
		return &Error{Class: Unreachable, Summary: s.conn.host + " ended a session before a command began", Detail: "its ssh server gave no answer",
			Hint: "if it does so each time, the account may need a shell", cause: err, broke: true}
	}
	if err != nil {
		return &Error{Class: Config, Summary: s.conn.host + " runs no commands", Detail: "its ssh server refused: " + err.Error(),
			Hint: "the account needs a shell, and neither its key nor sshd_config may forbid commands", cause: err}
	}
	return nil
}

// result translates how ssh says that a command ended.
func (s *channel) result(err error) (Exit, error) {
	exit := Exit{Stderr: s.stderr.String()}
	var code *ssh.ExitError
	switch {
	case err == nil:
		return exit, nil
	case errors.As(err, &code):
		exit.Code, exit.Signal = code.ExitStatus(), code.Signal()
		return exit, nil
	case s.conn.died(err):
		return exit, s.conn.lost()
	}
	// The channel closed without saying how the command ended: ssh(1) makes 255 of it.
	return exit, &Error{Class: Unreachable, Summary: "a command on " + s.conn.host + " ended without an exit status", Detail: err.Error(), cause: err, broke: true}
}

// Read reads the command's standard output.
func (s *channel) Read(p []byte) (int, error) {
	n, err := s.out.Read(p)
	if err == io.EOF && !s.conn.alive() {
		err = s.conn.lost()
	}
	return n, err
}

// Write writes to the command's standard input.
func (s *channel) Write(p []byte) (int, error) {
	n, err := s.in.Write(p)
	if err != nil && !s.conn.alive() {
		err = s.conn.lost()
	}
	return n, err
}

// CloseWrite ends the command's standard input.
func (s *channel) CloseWrite() error { return s.in.Close() }

// Close ends the stream; the command loses its standard streams.
func (s *channel) Close() error {
	defer s.leave() // its command may continue there
	defer s.out.Close()
	err := s.session.Close()
	if err == io.EOF {
		return nil // it had ended
	}
	return err
}

// Wait waits for the command to end.
func (s *channel) Wait() (Exit, error) {
	<-s.ended
	return s.exit, s.err
}

// Stderr is the end of the command's standard error so far.
func (s *channel) Stderr() string { return s.stderr.String() }

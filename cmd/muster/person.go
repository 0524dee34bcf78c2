package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	xterm "golang.org/x/term"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/cmd/muster/live"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/launch"
)

// A human answers hosts' login prompts at this command's terminal. One prompt
// is shown at a time.
type human struct {
	driving atomic.Bool // a run is shown, and nothing else reads the terminal
	mu      sync.Mutex
	tty     *os.File
	late    chan struct{} // closed when a reader that nobody waits for has ended; nil = none
}

var _ launch.Person = (*human)(nil)

// someone is the person at the terminal, nil where nobody is or may be asked.
func (ws *workspace) someone() launch.Person {
	if !ws.global.input {
		return nil
	}
	for _, stream := range []any{ws.stdin, ws.stderr} {
		f, ok := stream.(*os.File)
		if !ok || !xterm.IsTerminal(int(f.Fd())) {
			return nil
		}
	}
	if ws.person == nil {
		ws.person = &human{}
	}
	return ws.person
}

// drives says that a run is shown until done is called.
func (ws *workspace) drives() (done func()) {
	if ws.person == nil {
		return func() {}
	}
	ws.person.driving.Store(true)
	return func() { ws.person.driving.Store(false) }
}

const (
	// maxPrompt bounds the text that a host may put on the screen at once, bytes.
	maxPrompt = 4 << 10
	keyEvery  = 200 * time.Millisecond // at the terminal, for a key
)

var errNobodyThere = errors.New("nobody is at the terminal")

// open is the terminal, if this process may read from it: one in the background
// would be stopped.
func (p *human) open() (*os.File, error) {
	if p.tty == nil {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return nil, errNobodyThere
		}
		p.tty = f
	}
	if group, err := unix.IoctlGetInt(int(p.tty.Fd()), unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, errNobodyThere
	}
	return p.tty, nil
}

// Ask implements launch.Person.
func (p *human) Ask(ctx context.Context, q providers.LoginPrompt) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tty, err := p.open()
	if err != nil {
		return nil, err
	}
	defer live.Pause()()
	if p.late != nil {
		fmt.Fprint(tty, "\r\nPress Enter.\r\n")
		select {
		case <-p.late:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for _, text := range []string{q.Name, q.Instruction} {
		if text = strings.TrimRight(shown(text), "\n"); text != "" {
			fmt.Fprintf(tty, "%s\n", text)
		}
	}
	answers := make([]string, 0, len(q.Questions))
	for _, question := range q.Questions {
		fmt.Fprint(tty, shown(question.Text))
		answer, err := p.line(ctx, tty, question.Echo)
		if err != nil {
			fmt.Fprintln(tty)
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// shown is a host's text made harmless.
func shown(text string) string {
	if len(text) > maxPrompt {
		text = text[:maxPrompt] + "…"
	}
	return term.Clean(strings.ReplaceAll(text, "\r\n", "\n"))
}

// line reads one line, seen on the screen or not. The terminal is as it was
// when it returns, also after an interrupt.
func (p *human) line(ctx context.Context, tty *os.File, echo bool) (string, error) {
	fd := int(tty.Fd())
	was, err := xterm.GetState(fd)
	if err != nil {
		return "", errNobodyThere
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	type typed struct {
		text string
		err  error
	}
	got, late := make(chan typed, 1), make(chan struct{})
	go func() {
		defer close(late)
		var t typed
		if echo {
			t.text, t.err = readLine(tty)
		} else {
			var secret []byte
			secret, t.err = xterm.ReadPassword(fd)
			t.text = string(secret)
		}
		got <- t
	}()
	select {
	case t := <-got:
		if !echo {
			fmt.Fprintln(tty)
		}
		if errors.Is(t.err, io.EOF) {
			t.err = errNobodyThere
		}
		return t.text, t.err
	case <-ctx.Done():
		_ = xterm.Restore(fd, was)
		p.late = late
		return "", ctx.Err()
	}
}

// readLine reads up to the end of a line, and no further.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := r.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return "", err
		}
	}
}

// Wait implements launch.Person: while a run is shown, Enter says that somebody
// is there.
func (p *human) Wait(ctx context.Context, backend string) error {
	for said := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(keyEvery):
		}
		if !p.driving.Load() {
			continue
		}
		if !said {
			said = true
			live.Say(fmt.Sprintf("Press Enter to log in to backend.%s here", backend))
		}
		if p.enter() {
			return nil
		}
	}
}

// enter reports whether a line was typed, and takes it.
func (p *human) enter() bool {
	if !p.mu.TryLock() {
		return false // it is the answer to a prompt
	}
	defer p.mu.Unlock()
	tty, err := p.open()
	if err != nil {
		return false
	}
	ready := []unix.PollFd{{Fd: int32(tty.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(ready, 0); err != nil || n == 0 || ready[0].Revents&unix.POLLIN == 0 {
		return false
	}
	_, err = readLine(tty)
	return err == nil
}

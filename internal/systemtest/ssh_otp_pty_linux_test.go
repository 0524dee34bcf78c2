package systemtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pty is a muster at a terminal of its own, and who sits there.
type pty struct {
	*exec.Cmd
	t             *testing.T
	master, slave *os.File
	ended         chan struct{}

	mu   sync.Mutex
	text []byte
	read int // of text, up to where expect has looked
}

// atTerminal starts muster with a terminal and without CI.
func (w *world) atTerminal(args ...string) *pty {
	w.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 240})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &pty{Cmd: w.command(args...), t: w.t, master: master, slave: slave, ended: make(chan struct{})}
	var env []string
	for _, e := range p.Env {
		if !strings.HasPrefix(e, "CI=") {
			env = append(env, e)
		}
	}
	p.Env = append(env, "TERM=xterm")
	p.Stdin, p.Stdout, p.Stderr = slave, slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { slave.Close(); master.Close() }) // the slave shows the terminal's mode after muster's end
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			p.mu.Lock()
			p.text = append(p.text, b[:n]...)
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { _ = p.Wait(); close(p.ended) }()
	return p
}

func (p *pty) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}

// expect waits for a text after the last that it found.
func (p *pty) expect(text string) {
	p.t.Helper()
	for range 4800 {
		p.mu.Lock()
		i := strings.Index(string(p.text[p.read:]), text)
		if i >= 0 {
			p.read += i + len(text)
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	p.t.Fatalf("the terminal never showed %q:\n%s", text, p.said())
}

// echoes reports whether what is typed is shown.
func (p *pty) echoes() bool {
	p.t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0
}

// answer types a line when a prompt is shown and reads without an echo.
func (p *pty) answer(prompt, line string) {
	p.t.Helper()
	p.expect(prompt)
	for range 400 {
		if !p.echoes() {
			break
		}
		time.Sleep(25 * time.Millisecond)
	}
	if p.echoes() {
		p.t.Errorf("at %q what is typed is shown", prompt)
	}
	p.keys(line + "\n")
}

func (p *pty) keys(text string) {
	p.t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// endOfText follows all that muster wrote.
const endOfText = "\x03\x04"

// end waits until muster has ended and the terminal has shown all that it wrote.
func (p *pty) end() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("it does not end:\n%s", p.said())
	}
	if _, err := p.slave.WriteString(endOfText); err != nil {
		p.t.Fatal(err)
	}
	p.expect(endOfText)
	return p.ProcessState.ExitCode()
}

const passwordPrompt, codePrompt = "'s password: ", ") Password: "

// TestSystemSSHCodeAtTerminal: password and code are asked for at the terminal, once
// for all that a command does on the host; a wrong one up to three times.
func TestSystemSSHCodeAtTerminal(t *testing.T) {
	// Requirement: ACC-01, ESC-08
	const n = 3
	r := newCoded(t, gated(n, n))
	typed := func(want ...string) {
		t.Helper()
		if got := r.host.Typed(); strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("typed %q, want %q", got, want)
		}
		r.host.Exec("rm -f /root/typed")
	}
	right := []string{"password right", "code right"}

	p := r.atTerminal("plan")
	p.answer(passwordPrompt, "secret")
	p.answer(codePrompt, theCode)
	p.expect("3 to run")
	if code := p.end(); code != 0 || strings.Contains(p.said(), "secret") || strings.Contains(p.said(), theCode) || !p.echoes() {
		t.Errorf("exit %d, echo %t:\n%s", code, p.echoes(), p.said())
	}
	typed(right...)

	p = r.atTerminal("apply", "-auto-approve")
	p.answer(passwordPrompt, "scret")
	p.answer(passwordPrompt, "secret")
	p.answer(codePrompt, "1")
	p.answer(codePrompt, theCode)
	p.expect("3 of 3 jobs done")
	if code := p.end(); code != 0 || !p.echoes() {
		t.Errorf("exit %d, echo %t:\n%s", code, p.echoes(), p.said())
	}
	typed("password wrong", "password right", "code wrong", "code right")

	p = r.atTerminal("status", "-refresh")
	p.answer(passwordPrompt, "secret")
	p.answer(codePrompt, theCode)
	p.end()
	typed(right...)

	p = r.atTerminal("status", "-refresh")
	for range 3 {
		p.answer(passwordPrompt, "no")
	}
	p.end()
	if c := strings.Count(p.said(), passwordPrompt); c != 3 {
		t.Errorf("asked %d times:\n%s", c, p.said())
	}
	typed("password wrong", "password wrong", "password wrong")

	p = r.atTerminal("plan", "-input=false")
	p.end()
	if strings.Contains(p.said(), passwordPrompt) || !strings.Contains(flat(p.said()), "wants you to log in: ssh") {
		t.Errorf("it may not ask:\n%s", p.said())
	}
	typed()

	p = r.atTerminal("plan")
	p.expect(passwordPrompt)
	for p.echoes() {
		time.Sleep(25 * time.Millisecond)
	}
	p.keys("\x03")
	p.end()
	if !p.echoes() {
		t.Error("after an interrupt the terminal shows nothing that is typed")
	}
	typed()
	if s, e := r.count("start"), r.count("end"); s != n || e != n {
		t.Errorf("%d starts and %d ends, want %d:\n%q", s, e, n, r.lines())
	}
}

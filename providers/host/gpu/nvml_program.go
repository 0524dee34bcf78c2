//go:build linux

package gpu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/term"
)

const (
	// programBegins is how long the library may take to begin: seconds for
	// each GPU where nothing keeps the driver's state.
	programBegins = time.Minute
	// programAnswers is how long the program may take to answer: longer than it waits for the
	// driver.
	programAnswers = 15 * time.Second
)

var (
	// errNoProgram says that the program that loads NVML does not run here:
	// the machine lacks the loader or the C library that it was built for.
	errNoProgram = errors.New("muster's program for NVML does not run here")

	errEnded = errors.New("muster's program for NVML has ended")
	errHangs = errors.New("muster's program for NVML does not answer")
)

// A program reads GPUs through a process that has loaded NVML, for a build
// that cannot: a static program loads no library. A process that dies or hangs
// is followed by another at the next question; the Xids that it had seen are
// forgotten with it.
type program struct {
	text []byte
	busy chan struct{} // holds one token while a question is open
	now  *loaded       // nil: none; whose token it is may use it
}

var _ Reader = (*program)(nil)

// openProgram starts a process. It has to answer once before it counts: a
// driver that is too old for it may end it.
func openProgram(text []byte) (Reader, error) {
	p := &program{text: text, busy: make(chan struct{}, 1)}
	if _, err := p.read(); errors.Is(err, errEnded) {
		return nil, fmt.Errorf("%w: %w", errNoProgram, err)
	} else if p.now == nil {
		return nil, err
	}
	return p, nil
}

// Devices asks the process. It reads the answer of an abandoned question before the next one.
func (p *program) Devices(ctx context.Context) ([]Device, error) {
	select {
	case p.busy <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("read GPUs: an earlier question is still open: %w", ctx.Err())
	}
	type reply struct {
		list []Device
		err  error
	}
	done := make(chan reply, 1)
	go func() {
		list, err := p.read()
		<-p.busy
		done <- reply{list, err}
	}()
	select {
	case r := <-done:
		return r.list, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read GPUs: %w", ctx.Err())
	}
}

// read is one question and its answer.
func (p *program) read() ([]Device, error) {
	if p.now == nil {
		r, err := begin(p.text)
		if err != nil {
			return nil, fmt.Errorf("read GPUs: %w", err)
		}
		p.now = r
	}
	a, err := p.now.ask()
	if err != nil {
		p.now.end()
		p.now = nil
		return nil, fmt.Errorf("read GPUs: %w", err)
	}
	if a.Err != "" {
		return nil, errors.New(a.Err)
	}
	return a.Devices, nil
}

// Close ends the process.
func (p *program) Close() error {
	p.busy <- struct{}{} // an answer comes, or its time runs out
	defer func() { <-p.busy }()
	if p.now != nil {
		p.now.end()
		p.now = nil
	}
	return nil
}

// A loaded is a process that has begun, and its two ends.
type loaded struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *firstLine
}

func begin(text []byte) (*loaded, error) {
	file, err := inMemory("muster-nvml", text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProgram, err)
	}
	defer file.Close()
	r := &loaded{cmd: exec.Command(fmt.Sprintf("/proc/self/fd/%d", file.Fd())), said: &firstLine{}}
	r.cmd.Args[0] = file.Name()
	r.cmd.Stderr = r.said
	r.cmd.WaitDelay = time.Second
	// It ignores signals to the queue's group, and ends with its input.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoProgram, err)
	}
	a, err := r.answer(programBegins)
	switch {
	case err == nil && !a.None && a.Err == "":
		return r, nil
	case err == nil && a.None:
		err = errNoNVML
	case err == nil:
		err = errors.New(a.Err)
	case errors.Is(err, errEnded):
		err = fmt.Errorf("%w: %w", errNoProgram, err)
	}
	r.end()
	return nil, err
}

// inMemory is a file on no disk: muster installs nothing on the machine for it, and no file
// system can forbid that it runs. memfd_create(2), Linux 3.17.
func inMemory(name string, text []byte) (*os.File, error) {
	const mayRun = 0x10 // MFD_EXEC, Linux 6.3
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|mayRun)
	if errors.Is(err, unix.EINVAL) {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(text); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (r *loaded) ask() (answer, error) {
	if _, err := io.WriteString(r.in, "\n"); err != nil {
		return answer{}, r.ended(err)
	}
	return r.answer(programAnswers)
}

// answer waits for a line. After an error the process has to end.
func (r *loaded) answer(limit time.Duration) (a answer, err error) {
	got := make(chan error, 1)
	go func() {
		line, err := r.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &a)
		}
		got <- err
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case err := <-got:
		if err != nil {
			return answer{}, r.ended(err)
		}
		return a, nil
	case <-late.C:
		return answer{}, fmt.Errorf("%w within %s", errHangs, limit)
	}
}

// ended is the error of a process that has stopped answering, with its last words.
func (r *loaded) ended(err error) error {
	r.end()
	if words := r.said.String(); words != "" {
		return fmt.Errorf("%w: %s", errEnded, words)
	}
	return fmt.Errorf("%w: %w", errEnded, err)
}

// end ends the process; one that cannot be killed, because the driver hangs, is left alone.
func (r *loaded) end() {
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	gone := make(chan struct{})
	go func() {
		_ = r.cmd.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(2 * time.Second):
	}
}

// A firstLine keeps the beginning of a process's error output: the loader names a missing
// library in one line.
type firstLine struct {
	mu   sync.Mutex
	text []byte
}

func (s *firstLine) Write(p []byte) (int, error) {
	const most = 4 << 10 // bytes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p[:min(len(p), most-len(s.text))]...)
	return len(p), nil
}

func (s *firstLine) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(s.text)), "\n")
	return term.CleanLine(line)
}

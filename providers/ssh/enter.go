package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/door"
)

// doorTimeout bounds the door's first line: a login shell's files run before it.
const doorTimeout = time.Minute

// Every command sent to a host is one of these texts, byte for byte: what
// varies goes in on standard input, where nothing is code. The user's login
// shell, whichever it is, sees one quoted word; so there is no quote,
// backslash, line break or exclamation mark in it.
const (
	// readFolder reads the folder of the binary into $d.
	readFolder = `IFS= read -r d; case $d in "") d=${XDG_CACHE_HOME:-$HOME/.cache}/muster/bin;; "~") d=$HOME;; "~/"*) d=$HOME/${d#"~/"};; esac; `

	// enterScript becomes the door, or says what is missing. A program that is not
	// the one that was put there, by its digest, is as good as none.
	enterScript = readFolder + `IFS= read -r a; IFS= read -r b; IFS= read -r x; IFS= read -r y; ` +
		`case $(uname -m) in x86_64|amd64) n=$a; s=$x;; aarch64|arm64) n=$b; s=$y;; *) n=none;; esac; ` +
		`if [ -x "$d/$n" ]; then h=$(sha256sum <"$d/$n" 2>/dev/null); ` +
		`if [ -z "$h" ] || [ "${h%% *}" = "$s" ]; then exec "$d/$n" door; fi; fi; ` +
		`echo; echo "` + absentMark + ` $(uname -s) $(uname -m) $(uname -r)"; exit 44`
)

// absentMark begins the line that says that there is no binary.
const absentMark = "muster-host absent"

func command(script string) string { return "exec /bin/sh -c '" + script + "'" }

// absent is a host without the binary.
type absent struct{ system, machine, release string }

func (a *absent) Error() string {
	return "muster-host is not there yet: " + a.system + " " + a.machine + " " + a.release
}

// entries is how often a host is entered before it counts as out of reach: a
// link that breaks meanwhile, say under the copy of the binary, is made anew.
const entries = 5

// enter opens a session, putting the binary there first if need be.
func (h *host) enter(ctx context.Context) (s *session, err error) {
	for range entries {
		if s, err = h.walkIn(ctx); err == nil {
			return s, nil
		}
		if !sshx.Broke(err) || ctx.Err() != nil {
			break
		}
	}
	return nil, h.shut(err)
}

func (h *host) walkIn(ctx context.Context) (*session, error) {
	s, err := h.knock(ctx)
	var none *absent
	var no *door.NoDoor
	switch {
	case err == nil:
		return s, nil
	case errors.As(err, &none):
		if err := h.put(ctx, none); err != nil {
			return nil, err
		}
	case errors.As(err, &no) && ctx.Err() == nil:
		// The file may have been damaged since. Only the digest can say.
		if again := h.mend(ctx); sshx.Broke(again) {
			return nil, again
		} else if again != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	return h.knock(ctx)
}

// programs are the names of the binaries for x86_64 and aarch64, and then their
// digests; one that this muster does not have is never there.
func (h *host) programs() []string {
	out := []string{"none", "none", "none", "none"}
	for i, arch := range []string{"amd64", "arm64"} {
		if b, err := h.binaries.of(arch); err == nil {
			out[i], out[i+2] = b.name(), b.digest
		}
	}
	return out
}

// knock asks the host to become the door.
func (h *host) knock(ctx context.Context) (*session, error) {
	programs := h.programs()
	stream, err := h.client.Open(ctx, command(enterScript))
	if err != nil {
		return nil, err
	}
	// A failed write is explained by what is read.
	_, _ = io.WriteString(stream, h.install+"\n"+strings.Join(programs, "\n")+"\n")
	wait, stop := context.WithTimeoutCause(ctx, doorTimeout, fmt.Errorf("muster's door did not open within %v", doorTimeout))
	defer stop()
	c, err := door.Connect(wait, stream)
	if err == nil {
		return &session{Client: c, stream: stream, configured: map[string]bool{}}, nil
	}
	var no *door.NoDoor
	if !errors.As(err, &no) {
		return nil, err
	}
	if none := missing(no.Last); none != nil {
		return nil, none
	}
	end, stop := context.WithTimeout(ctx, lastWords)
	defer stop()
	exit, why := waitFor(end, stream)
	switch {
	case sshx.Untold(why): // by a signal, it may be: the program may be damaged
		no.Err = why
		return nil, no
	case why != nil:
		return nil, why // the link's fault
	}
	if text := lastLines(exit.Stderr); text != "" {
		no.Last = append(no.Last, text)
	}
	if exit.Code != 0 || exit.Signal != "" {
		no.Err = errors.New("it ended with " + describe(exit))
	}
	return nil, no
}

// missing reads the line that says that there is no binary.
func missing(lines []string) *absent {
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line, absentMark+" ")
		if f := strings.Fields(rest); ok && len(f) >= 3 {
			return &absent{system: f[0], machine: f[1], release: f[2]}
		}
	}
	return nil
}

// shut says why no door opened.
func (h *host) shut(err error) error {
	var no *door.NoDoor
	if !errors.As(err, &no) {
		return h.fault(err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &providers.Error{Class: providers.Unreachable, Summary: "muster's program on " + h.name + " does not answer", Detail: no.Error(),
		Hint: "Try: ssh " + h.name + " true. It must print nothing strange and end; a command in ~/.bashrc that waits or replaces the shell stands in the way."}
}

// fault turns an error of the transport into one of a provider.
func (h *host) fault(err error) error {
	var e *sshx.Error
	var p *providers.Error
	switch {
	case errors.As(err, &e):
		class := map[sshx.Class]providers.ErrorClass{sshx.Unreachable: providers.Unreachable, sshx.Auth: providers.Auth,
			sshx.HostKey: providers.Auth, sshx.Config: providers.Invalid}[e.Class]
		out := &providers.Error{Class: class, Summary: e.Summary, Detail: e.Detail, Hint: e.Hint, Login: e.Login}
		if e.Login != "" {
			out.Class = providers.Unreachable // nothing was refused: it can be asked when somebody has logged in
			out.Summary += ": " + e.Login
		}
		return out
	case errors.As(err, &p), errors.Is(err, context.Canceled):
		return err
	}
	return &providers.Error{Class: providers.Unreachable, Summary: h.name + " cannot be reached", Detail: err.Error()}
}

func describe(e sshx.Exit) string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// lastLines are the last words of a command, cleaned for a screen.
func lastLines(s string) string {
	const enough = 3
	lines := strings.Split(strings.TrimSpace(s), "\n")
	var out []string
	for _, l := range lines[max(0, len(lines)-enough):] {
		if l = term.CleanLine(strings.TrimSpace(l)); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, " / ")
}

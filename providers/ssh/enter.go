package ssh

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/ulimit"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
)

// agentTimeout bounds the agent's first line: a login shell's files run before it.
const agentTimeout = time.Minute

// Every command sent to a host is one of these texts, byte for byte: variable values go to
// standard input, where nothing is code. Any login shell sees one quoted word, so there is no
// quote, backslash, line break or exclamation mark in it.
const (
	// readFolder reads the folder of the binary into $d.
	readFolder = `IFS= read -r d; case $d in "") d=${XDG_CACHE_HOME:-$HOME/.cache}/muster/bin;; "~") d=$HOME;; "~/"*) d=$HOME/${d#"~/"};; esac; `

	// digestOf prints the sha256 of the file that $f names, or nothing on a host
	// without a program that computes one.
	digestOf = `sum() { h=$({ sha256sum <"$f" || shasum -a 256 <"$f" || openssl dgst -sha256 -r <"$f"; } 2>/dev/null); echo "${h%% *}"; }; `

	// enterScript becomes the agent, or prints the missing programs. A program with another
	// digest counts as missing. On a host that computes no digest, $t is the digest of the
	// program as muster has read it.
	enterScript = readFolder + digestOf + `IFS= read -r a; IFS= read -r b; IFS= read -r x; IFS= read -r y; IFS= read -r t; ` +
		`case $(uname -m) in x86_64|amd64) n=$a; s=$x;; aarch64|arm64) n=$b; s=$y;; *) n=none;; esac; ` +
		`if [ -x "$d/$n" ]; then f=$d/$n; h=$(sum); h=${h:-$t}; ` +
		`if [ "$h" = "$s" ]; then exec "$d/$n" agent; fi; ` +
		`if [ -z "$h" ]; then echo; echo "` + uncheckedMark + ` $n"; exit 49; fi; fi; ` +
		`echo; echo "` + absentMark + ` $(uname -s) $(uname -m) $(uname -r)"; exit 44`

	// readScript prints the program behind a mark.
	readScript = readFolder + `IFS= read -r n; echo; echo "` + programMark + `"; cat "$d/$n"`
)

// uncheckedMark begins the line that names a program whose digest the host cannot
// compute, and programMark is the line before one.
const (
	uncheckedMark = "muster-host unchecked"
	programMark   = "muster-host begins"
)

// absentMark begins the line that says that there is no binary.
const absentMark = "muster-host absent"

func command(script string) string { return "exec /bin/sh -c '" + script + "'" }

// absent is a host without the binary.
type absent struct{ system, machine, release string }

func (a *absent) Error() string {
	return "muster-host is not there yet: " + a.system + " " + a.machine + " " + a.release
}

// entries is how often muster tries to enter a host before the host counts as unreachable: a
// link that breaks meanwhile, say during the copy of the binary, is opened again.
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
	var no *agent.NoAgent
	switch {
	case err == nil:
		return s, nil
	case errors.As(err, &none):
		if err := h.put(ctx, none); err != nil {
			return nil, err
		}
	case errors.As(err, &no) && ctx.Err() == nil && !errors.Is(err, agent.ErrNoise):
		// The file may have been damaged since. Only the digest can say.
		if again := h.removeDamaged(ctx); sshx.Broke(again) {
			return nil, again
		} else if again != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	return h.knock(ctx)
}

// programs are the names of the binaries for x86_64 and aarch64, and then their digests; a
// name that this muster does not have matches no file.
func (h *host) programs() []string {
	out := []string{"none", "none", "none", "none"}
	for i, arch := range []string{"amd64", "arm64"} {
		if b, err := h.binaries.of(arch); err == nil {
			out[i], out[i+2] = b.name(), b.digest
		}
	}
	return out
}

// knock asks the host to become the agent. Where the host cannot compute the digest
// of the program that is there, muster reads the program and computes it.
func (h *host) knock(ctx context.Context) (*session, error) {
	s, err := h.knockWith(ctx, "")
	var no *agent.NoAgent
	if !errors.As(err, &no) {
		return s, err
	}
	name := unchecked(no.Last)
	if name == "" {
		return s, err
	}
	digest, err := h.read(ctx, name)
	if err != nil {
		return nil, err
	}
	return h.knockWith(ctx, digest)
}

// read is the digest of a program on the host.
func (h *host) read(ctx context.Context, name string) (string, error) {
	var most int64
	for _, arch := range []string{"amd64", "arm64"} {
		if b, err := h.binaries.of(arch); err == nil && b.name() == name {
			most = b.size() + 1 // a longer one has another digest
		}
	}
	s, err := h.client.Open(ctx, command(readScript))
	if err != nil {
		return "", err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	_, _ = io.WriteString(s, h.install+"\n"+name+"\n") // the output explains a failed write
	r := bufio.NewReader(io.LimitReader(s, mostSaid+most))
	if _, err := after(r, programMark); err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(r, most)); err != nil {
		return "", cmp.Or(ctx.Err(), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// unchecked reads the line that names a program without a digest.
func unchecked(lines []string) string {
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, uncheckedMark+" "); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func (h *host) knockWith(ctx context.Context, digest string) (*session, error) {
	programs := append(h.programs(), digest)
	stream, err := h.client.Open(ctx, command(enterScript))
	if err != nil {
		return nil, err
	}
	// The output explains a failed write.
	_, _ = io.WriteString(stream, h.install+"\n"+strings.Join(programs, "\n")+"\n")
	wait, stop := context.WithTimeoutCause(ctx, agentTimeout, fmt.Errorf("muster's agent did not answer within %v", agentTimeout))
	defer stop()
	c, err := agent.Connect(wait, stream)
	if err == nil {
		return &session{Client: c, stream: stream, configured: map[string]bool{}}, nil
	}
	var no *agent.NoAgent
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

// shut says why no agent opened.
func (h *host) shut(err error) error {
	var no *agent.NoAgent
	if !errors.As(err, &no) {
		return h.fault(err)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &providers.Error{Class: providers.Unreachable, Summary: "muster's program on " + h.name + " does not answer", Detail: no.Error(),
		Hint: "Try: ssh " + h.name + " true. It must print nothing strange and end; a command in ~/.bashrc that waits or replaces the shell prevents that."}
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
			out.Class = providers.Unreachable // no refusal: the host can be asked once a person has logged in
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

// lineWidth is how much of a line of a command's last words is shown, in columns.
const lineWidth = 200

// lastLines are the last words of a command, cleaned for a screen.
func lastLines(s string) string {
	const enough = 3
	if line := ulimit.Dump(s); line != "" {
		return line
	}
	lines := strings.Split(strings.TrimSpace(s), "\n")
	var out []string
	for _, l := range lines[max(0, len(lines)-enough):] {
		if l = term.CleanLine(strings.TrimSpace(l)); l != "" {
			out = append(out, term.Fit(l, lineWidth))
		}
	}
	return strings.Join(out, " / ")
}

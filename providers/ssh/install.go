package ssh

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	encoding "encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
)

// putScript prints how much of the binary an earlier copy has left, and reads the rest. It
// checks the copy by digest and by running it, and puts it in place with one rename, so that
// simultaneous copies end with the same file. It keeps a partial copy for the next one only if
// that was cut short. Each step has a status of its own.
const putScript = readFolder + digestOf + `IFS= read -r n; IFS= read -r z; IFS= read -r l; IFS= read -r t; IFS= read -r s; ` +
	`case $z in gz) command -v gzip >/dev/null 2>&1 || exit 45;; esac; umask 077; ` +
	`mkdir -p "$d" || exit 41; q=$d/.$n.$z$t; p=$q.$$; undo() { rm -f "$p"; if [ "$t" ]; then rm -f "$q"; fi; }; ` +
	`trap undo EXIT; trap "exit 1" HUP INT TERM PIPE; size() { { wc -c <"$q"; } 2>/dev/null || echo "$1"; }; ` +
	`k=$(($(size 0))); if [ $k -gt $l ]; then k=0; fi; if [ $k = 0 ]; then rm -f "$q"; fi; echo "` + haveMark + `$k"; ` +
	`cat >>"$q" || { rm -f "$q"; exit 42; }; if [ $(size $l) -lt $l ]; then exit 48; fi; ` +
	`if [ "$z" = gz ]; then gzip -dc <"$q"; else cat "$q"; fi >"$p" || { [ "$z" = plain ] || gzip -t <"$q" 2>/dev/null; k=$?; rm -f "$q"; [ $k = 0 ] || exit 43; exit 42; }; ` +
	`chmod 700 "$p" || exit 42; rm -f "$q"; ` +
	`f=$p; h=$(sum); [ "${h:-$s}" = "$s" ] || exit 43; ` +
	`g=$("$p" digest "$p") || exit 46; [ "${h:-$g}" = "$s" ] || exit 43; ` +
	`mv -f "$p" "$d/$n" || exit 42; cd "$d" && echo "` + putMark + `$(pwd -P)/$n"`

// haveMark begins the line that says how many bytes are there already.
const haveMark = "muster-host has "

// putMark begins the line with the path of the binary.
const putMark = "muster-host at "

// checkScript checks that the binary is whole, and removes one that is not, or that cannot be
// checked.
const checkScript = readFolder + digestOf + `IFS= read -r n; IFS= read -r s; ` +
	`f=$d/$n; if [ "$(sum)" = "$s" ]; then exit 47; fi; rm -f "$d/$n"`

// oldestKernel is the least that Go's runtime needs. go.dev/wiki/MinimumRequirements
var oldestKernel = [2]int{3, 2}

// architecture is uname's machine as Go names it, "" if muster has nothing for it.
func (a *absent) architecture() string {
	switch a.machine {
	case "x86_64", "amd64":
		return "amd64"
	case "aarch64", "arm64":
		return "arm64"
	}
	return ""
}

// oldKernel reports whether Go's programs do not run there.
func (a *absent) oldKernel() bool {
	var have [2]int
	for i, part := range strings.SplitN(a.release, ".", 3) {
		if i == 2 {
			break
		}
		digits := strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz-+_")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return false // not a version we know how to read
		}
		have[i] = n
	}
	return have[0] < oldestKernel[0] || have[0] == oldestKernel[0] && have[1] < oldestKernel[1]
}

// put copies the binary to a host that lacks it.
func (h *host) put(ctx context.Context, a *absent) error {
	wrong := func(summary, detail, hint string) error {
		return &providers.Error{Class: providers.Invalid, Summary: summary, Detail: detail, Hint: hint}
	}
	switch {
	case a.system != "Linux":
		return wrong(h.name+" runs "+a.system, "muster runs jobs on Linux hosts only.", "")
	case a.architecture() == "":
		return wrong(h.name+" is a "+a.machine, "muster has programs for x86_64 and aarch64.", "")
	case a.oldKernel():
		return wrong(fmt.Sprintf("The kernel of %s is too old", h.name),
			fmt.Sprintf("It is Linux %s; muster's program needs %d.%d or later.", a.release, oldestKernel[0], oldestKernel[1]), "")
	}
	b, err := h.binaries.of(a.architecture())
	if err != nil {
		return err
	}
	way := copying{packed: true}
	path, err := h.send(ctx, b, way)
	if errors.Is(err, errNoGzip) {
		way.packed = false
		path, err = h.send(ctx, b, way)
	}
	if errors.Is(err, errDamaged) { // another copied to the same place, or there was no binary
		way.alone = true
		path, err = h.send(ctx, b, way)
	}
	if errors.Is(err, errDamaged) {
		return &providers.Error{Class: providers.Unreachable, Summary: "muster's program arrived damaged on " + h.name,
			Detail: "Its digest was wrong twice.", Hint: "Ask again."}
	}
	if err != nil {
		return err
	}
	h.tell("put muster's program on %s: %s (%s)", h.name, path, b.describe())
	return nil
}

// size is the program's size, which gzip records at the end. RFC 1952, section 2.3.1
func (b *binary) size() int64 {
	return int64(encoding.LittleEndian.Uint32(b.packed[len(b.packed)-4:]))
}

// describe is for a binary that a host has unpacked.
func (b *binary) describe() string {
	return units.FormatSize(b.size()) + ", sha256 " + b.digest[:16] + "…"
}

var (
	errNoGzip  = errors.New("no gzip")
	errDamaged = errors.New("the program arrived damaged")
)

// copying is how the binary goes to a host.
type copying struct {
	packed bool // by gzip
	alone  bool // under a name of its own, and from the beginning
}

// send writes the missing part of the binary, and returns its path.
func (h *host) send(ctx context.Context, b *binary, way copying) (path string, err error) {
	form, alone, body := "gz", "", b.packed
	if !way.packed {
		form = "plain"
		if body, err = b.text(); err != nil {
			return "", err
		}
	}
	if way.alone {
		alone = "." + rand.Text()[:8]
	}
	s, err := h.client.Open(ctx, command(putScript))
	if err != nil {
		return "", err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	// The output and the end explain a failed write.
	_, _ = io.WriteString(s, strings.Join([]string{h.install, b.name(), form, strconv.Itoa(len(body)), alone, b.digest, ""}, "\n"))
	said := bufio.NewReader(io.LimitReader(s, mostSaid))
	mute := time.AfterFunc(agentTimeout, func() { s.Close() })
	have, err := after(said, haveMark)
	mute.Stop()
	if n, no := strconv.Atoi(have); err == nil && no == nil && 0 <= n && n <= len(body) {
		go func() {
			_, _ = s.Write(body[n:])
			_ = s.CloseWrite()
		}()
		path, err = after(said, putMark)
	}
	if err != nil && err != io.EOF {
		return "", cmp.Or(ctx.Err(), err)
	}
	exit, err := waitFor(ctx, s)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", err
	case exit.Code == 45:
		return "", errNoGzip
	case exit.Code == 43, exit.Code == 48, // cut short, and yet the line held: another writes to the same place
		exit.Code == 42 && !way.alone: // or removed the file that this one was to write
		return "", errDamaged
	case exit.Code == 0 && exit.Signal == "" && path != "":
		return path, nil
	}
	return "", h.refused(exit)
}

// mostSaid bounds a login shell's output around the copy, in bytes.
const mostSaid = 1 << 20

// after is the rest of the line that has a mark; it need not begin with it.
func after(r *bufio.Reader, mark string) (string, error) {
	for {
		line, err := r.ReadString('\n')
		if _, rest, ok := strings.Cut(line, mark); ok && err == nil {
			return strings.TrimRight(rest, "\r\n"), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// refused says which step of putScript failed, and what to do.
func (h *host) refused(exit sshx.Exit) error {
	where := h.install
	if where == "" {
		where = "~/.cache/muster/bin"
	}
	e := &providers.Error{Class: providers.Invalid, Detail: lastLines(exit.Stderr),
		Hint: "Set install_dir in the backend to a folder of yours on " + h.name + " that has room for 32 MiB and lets programs run."}
	switch exit.Code {
	case 41:
		e.Summary = fmt.Sprintf("The folder %s cannot be made on %s", where, h.name)
	case 42:
		e.Summary = fmt.Sprintf("muster's program cannot be written to %s on %s", where, h.name)
	case 46:
		e.Summary = fmt.Sprintf("%s does not let programs in %s run", h.name, where)
	default:
		e.Class, e.Summary = providers.Unreachable, fmt.Sprintf("muster's program could not be put on %s", h.name)
		e.Detail = strings.TrimPrefix(e.Detail+"; the copy ended with "+describe(exit), "; ")
	}
	return e
}

// removeDamaged removes the binary if it has changed; nil means that it was removed, and the
// next entry copies it again.
func (h *host) removeDamaged(ctx context.Context) error {
	for _, arch := range []string{"amd64", "arm64"} {
		b, err := h.binaries.of(arch)
		if err != nil {
			continue
		}
		exit, err := h.check(ctx, b)
		if err != nil {
			return err
		}
		if exit.Code == 47 {
			return errWhole
		}
	}
	_, err := h.knock(ctx)
	var none *absent
	if errors.As(err, &none) {
		return h.put(ctx, none)
	}
	return err
}

// checkTime bounds a check of the program that is there.
const checkTime = 20 * time.Second

// check runs checkScript, whatever the login shell prints around it.
func (h *host) check(ctx context.Context, b *binary) (sshx.Exit, error) {
	ctx, stop := context.WithTimeout(ctx, checkTime)
	defer stop()
	said := noise(mostSaid)
	return h.client.Run(ctx, command(checkScript), strings.NewReader(strings.Join([]string{h.install, b.name(), b.digest, ""}, "\n")), &said)
}

// noise is how many more bytes a command may print that nobody reads.
type noise int

func (n *noise) Write(p []byte) (int, error) {
	if *n -= noise(len(p)); *n < 0 {
		return 0, agent.ErrNoise
	}
	return len(p), nil
}

var errWhole = errors.New("the program is whole")

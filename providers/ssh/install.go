package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
)

// putScript writes the binary under a name of its own, checks it by digest
// and by running it, and puts it in place with one rename: whoever else does
// the same meanwhile comes to the same file. Each step has a status of its own.
const putScript = readFolder + `IFS= read -r n; IFS= read -r z; IFS= read -r t; IFS= read -r s; ` +
	`case $z in gz) command -v gzip >/dev/null 2>&1 || exit 45;; esac; umask 077; ` +
	`mkdir -p "$d" || exit 41; p=$d/.$n.$t; undo() { rm -f "$p"; }; trap undo EXIT; trap "exit 1" HUP INT TERM PIPE; ` +
	`if [ "$z" = gz ]; then gzip -dc; else cat; fi >"$p" || exit 42; chmod 700 "$p" || exit 42; ` +
	`g=$("$p" digest "$p") || exit 46; h=$(sha256sum <"$p" 2>/dev/null) && g=${h%% *}; [ "$g" = "$s" ] || exit 43; ` +
	`mv -f "$p" "$d/$n" || exit 42; cd "$d" && echo "` + putMark + `$(pwd -P)/$n"`

// putMark begins the line that says where the binary lies.
const putMark = "muster-host at "

// checkScript tells whether the binary is whole, and removes one that is not.
const checkScript = readFolder + `IFS= read -r n; IFS= read -r s; ` +
	`g=$("$d/$n" digest "$d/$n" 2>/dev/null); h=$(sha256sum <"$d/$n" 2>/dev/null) && g=${h%% *}; ` +
	`if [ "$g" = "$s" ]; then exit 47; fi; rm -f "$d/$n"`

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
	path, err := h.send(ctx, b, true)
	if errors.Is(err, errNoGzip) {
		path, err = h.send(ctx, b, false)
	}
	if err != nil {
		return err
	}
	h.tell("put muster's program on %s: %s (%s)", h.name, path, b.describe())
	return nil
}

func (b *binary) describe() string {
	r, err := b.unpack()
	if err != nil {
		return "sha256 " + b.digest[:16]
	}
	n, _ := io.Copy(io.Discard, r)
	return units.FormatSize(n) + ", sha256 " + b.digest[:16] + "…"
}

var errNoGzip = errors.New("no gzip")

// send writes the binary and returns where it lies.
func (h *host) send(ctx context.Context, b *binary, packed bool) (string, error) {
	form, body := "gz", io.Reader(bytes.NewReader(b.packed))
	if !packed {
		var err error
		if body, err = b.unpack(); err != nil {
			return "", err
		}
		form = "plain"
	}
	head := strings.Join([]string{h.install, b.name(), form, rand.Text()[:8], b.digest, ""}, "\n")
	var said bytes.Buffer
	exit, err := h.client.Run(ctx, command(putScript), io.MultiReader(strings.NewReader(head), body), &capped{to: &said})
	if err != nil {
		return "", err
	}
	if exit.Code == 45 {
		return "", errNoGzip
	}
	_, path, ok := strings.Cut(said.String(), putMark)
	if exit.Code == 0 && exit.Signal == "" && ok {
		path, _, _ = strings.Cut(path, "\n")
		return path, nil
	}
	return "", h.refused(exit)
}

// refused says which step of putScript did not work, and what to do.
func (h *host) refused(exit sshx.Exit) error {
	where := h.install
	if where == "" {
		where = "~/.cache/muster/bin"
	}
	e := &providers.Error{Class: providers.Invalid, Detail: lastLines(exit.Stderr),
		Hint: "Set install_dir in the backend to a folder of yours on " + h.name + " that has room for 20 MiB and lets programs run."}
	switch exit.Code {
	case 41:
		e.Summary = fmt.Sprintf("The folder %s cannot be made on %s", where, h.name)
	case 42:
		e.Summary = fmt.Sprintf("muster's program cannot be written to %s on %s", where, h.name)
	case 43:
		e.Class, e.Summary = providers.Unreachable, fmt.Sprintf("muster's program arrived damaged on %s", h.name)
		e.Detail, e.Hint = "Its digest is not what it should be.", "Ask again."
	case 46:
		e.Summary = fmt.Sprintf("%s does not let programs in %s run", h.name, where)
	default:
		e.Class, e.Summary = providers.Unreachable, fmt.Sprintf("muster's program could not be put on %s", h.name)
		e.Detail = strings.TrimPrefix(e.Detail+"; the copy ended with "+describe(exit), "; ")
	}
	return e
}

// mend removes the binary if it is not what it was; nil means that it was
// removed, and is put there anew.
func (h *host) mend(ctx context.Context) error {
	for _, arch := range []string{"amd64", "arm64"} {
		b, err := h.binaries.of(arch)
		if err != nil {
			continue
		}
		exit, err := h.client.Run(ctx, command(checkScript), strings.NewReader(strings.Join([]string{h.install, b.name(), b.digest, ""}, "\n")), nil)
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

var errWhole = errors.New("the program is whole")

// capped keeps the beginning and lets the rest go.
type capped struct{ to *bytes.Buffer }

const mostSaid = 1 << 20 // bytes

func (c *capped) Write(p []byte) (int, error) {
	if room := mostSaid - c.to.Len(); room > 0 {
		c.to.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

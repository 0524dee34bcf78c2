package aris

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/internal/sshx"
)

// A host is where the campaign's jobs go.
type host struct {
	kind    string // "ssh", "local"
	name    string // of the backend block
	host    string // "" with ssh: the manifest names none
	user    string
	port    int
	workdir string
	setup   string
}

func (h host) address() string { return "backend." + h.kind + "." + h.name }

var sshPort = lazyregexp.New(`(?:^|\s)-p\s*(\d+)(?:\s|$)`)

func (r *reader) host(m *manifest, o Options) host {
	h := host{kind: o.Backend, name: "local"}
	if h.kind == "" {
		if h.kind = "local"; m.ssh != nil {
			h.kind = "ssh"
		}
	}
	switch {
	case h.kind == "ssh":
		h.name = "host"
		r.sshHost(m, &h)
	case m.ssh != nil:
		r.note("line %d: the manifest's host %s is not used: the jobs run on this machine", m.ssh.at.Start.Line, clip(r.word(m.ssh)))
	default:
		r.note("the manifest names no host, so the jobs run on this machine; `muster convert -backend=ssh` writes a backend for another one")
	}
	h.workdir = r.workdir(m, h)
	h.setup = r.setup(m)
	return h
}

// sshHost takes the argument of ssh: alias, host, user@host, with a port.
func (r *reader) sshHost(m *manifest, h *host) {
	if m.ssh == nil {
		r.note("the manifest names no host: give one with -var host=NAME")
		return
	}
	text := strings.TrimPrefix(r.word(m.ssh), "ssh ")
	if p := sshPort.FindStringSubmatch(text); p != nil {
		h.port, _ = strconv.Atoi(p[1])
		text = strings.Replace(text, p[0], " ", 1)
	}
	text = strings.TrimSpace(text)
	if user, rest, ok := strings.Cut(text, "@"); ok {
		h.user, text = user, rest
	}
	if sshx.CheckHost(text) != nil || sshx.CheckUser(h.user) != nil || h.port > 65535 {
		r.ds.Errorat(m.ssh.at, "Invalid host", "%q is not a host: write its name, an alias of ~/.ssh/config, or user@host; other options belong in ~/.ssh/config.", clip(r.word(m.ssh)))
		return
	}
	h.host = text
	h.name = identifier(strings.ReplaceAll(text, ".", "_"))
}

// workdir is cwd, with ~ and $HOME as muster expands them; the queue quoted
// it, so that neither did.
func (r *reader) workdir(m *manifest, h host) string {
	dir := strings.TrimRight(m.cwd, "/")
	for _, home := range []string{"$HOME", "${HOME}"} {
		if dir == home || strings.HasPrefix(dir, home+"/") {
			dir = "~" + dir[len(home):]
		}
	}
	m.cwd = dir
	switch {
	case strings.HasPrefix(dir, "/") || dir == "~" || strings.HasPrefix(dir, "~/"):
		return dir
	case strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "$"):
		r.ds.Errorf("Invalid cwd", "%q is filled in by a shell only. Write an absolute folder, or one that begins with ~/.", dir)
		return dir
	}
	dir = strings.TrimPrefix(strings.TrimPrefix(dir, "."), "/")
	if h.kind == "local" {
		return dir // "" is the campaign's own folder
	}
	if dir == "" {
		dir = identifier(or(m.project, "muster"))
	}
	r.note("the manifest names no absolute folder on the host: check that ~/%s is the right one", dir)
	return "~/" + dir
}

// condaPaths are where the queue looks for conda, in its order; then PATH.
var condaPaths = []string{
	"~/anaconda3/bin/conda", "~/miniconda3/bin/conda", "~/miniforge3/bin/conda", "/opt/anaconda3/bin/conda", "/opt/miniconda3/bin/conda",
	"/opt/miniforge3/bin/conda", "/usr/local/anaconda3/bin/conda", "/opt/homebrew/bin/conda",
}

// setup activates the environment, as the queue did before each command.
func (r *reader) setup(m *manifest) string {
	switch m.conda {
	case "":
		r.note("the manifest names no conda environment, so none is activated (the queue activated base)")
		return ""
	case "none", "None":
		r.note("conda is %q, so no environment is activated", m.conda)
		return ""
	}
	activate := "conda activate " + shell.Quote(m.conda)
	switch {
	case strings.HasPrefix(m.hook, "eval"):
		return m.hook + " && " + activate
	case m.hook != "":
		return fmt.Sprintf(`eval "$(%s shell.posix hook)" && %s`, m.hook, activate)
	}
	paths := slices.Concat(condaPaths, []string{`"$(command -v conda)"`, "conda"})
	return "for conda in " + strings.Join(paths, " ") + "; do\n  [ -x \"$conda\" ] && break\ndone\n" +
		"eval \"$(\"$conda\" shell.posix hook)\" && " + activate
}

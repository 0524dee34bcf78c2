package ssh

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/machine"
)

// config is the backend block. Sizes arrive as bytes.
type config struct {
	machine.Settings          // read by the agent, too
	Host             string   `json:"host"`
	Hosts            []string `json:"hosts"`
	User             string   `json:"user"`
	Port             int      `json:"port"`
	IdentityFile     string   `json:"identity_file"`
	AcceptNew        bool     `json:"accept_new"`
	ControlPath      string   `json:"control_path"`
	SharedFS         string   `json:"shared_fs"`
	InstallDir       string   `json:"install_dir"`
	Spool            string   `json:"spool"` // read by the agent
}

func readConfig(b providers.Backend) (c config, err error) {
	if len(b.Config) > 0 {
		if err := json.Unmarshal(b.Config, &c); err != nil {
			return c, providers.Errorf(providers.Invalid, "Settings of backend.%s cannot be read: %v", b.Name, err)
		}
	}
	if c.IdentityFile != "" && !filepath.IsAbs(c.IdentityFile) && c.IdentityFile[0] != '~' {
		c.IdentityFile = filepath.Join(b.Dir, c.IdentityFile)
	}
	return c, c.check(b)
}

func (c config) check(b providers.Backend) error {
	wrong := func(format string, args ...any) error {
		return providers.Errorf(providers.Invalid, "backend."+b.Name+": "+format, args...)
	}
	switch {
	case c.Host == "" && len(c.Hosts) == 0:
		return wrong("neither host nor hosts is set; write host = \"NAME\"")
	case c.Host != "" && len(c.Hosts) > 0:
		return wrong("both host and hosts are set; write one of them")
	case c.Port < 0 || c.Port > 65535:
		return wrong("port %d is not between 1 and 65535", c.Port)
	case c.Wrong() != "":
		return wrong("%s", c.Wrong())
	case c.InstallDir != "" && !filepath.IsAbs(c.InstallDir) && c.InstallDir != "~" && !strings.HasPrefix(c.InstallDir, "~/"):
		return wrong("install_dir %q is not absolute and does not begin with ~/", c.InstallDir)
	case c.Spool != "" && !filepath.IsAbs(c.Spool) && !strings.HasPrefix(c.Spool, "~/"):
		return wrong("spool %q is not absolute and does not begin with ~/", c.Spool)
	case strings.ContainsAny(c.InstallDir, "\n\x00"):
		return wrong("install_dir %q has a line break in it", c.InstallDir)
	}
	for i, name := range c.names() {
		t := c.target(name)
		for _, err := range []error{named(sshx.CheckHost)(t.Host), named(sshx.CheckUser)(t.User), named(sshx.CheckControlPath)(t.ControlPath)} {
			if err != nil {
				return wrong("%v", err)
			}
		}
		if slices.Contains(c.names()[:i], name) {
			return wrong("host %q is named twice in hosts", name)
		}
	}
	return nil
}

func (c config) names() []string {
	if c.Host != "" {
		return []string{c.Host}
	}
	return c.Hosts
}

// target is how a host is reached; user@host is taken as ssh(1) takes it.
func (c config) target(host string) sshx.Target {
	t := sshx.Target{Host: host, User: c.User, Port: c.Port, IdentityFile: c.IdentityFile, AcceptNew: c.AcceptNew, ControlPath: c.ControlPath}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		t.User, t.Host = host[:i], host[i+1:]
	}
	return t
}

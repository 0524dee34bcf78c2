package ssh

import (
	"errors"

	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// Schema describes `backend "ssh"` and `options "ssh"`.
func Schema() offer.Schema {
	return offer.Schema{
		Type:     "ssh",
		Version:  "1",
		Profiles: profiles.Sources(),
		Config:   offer.Block{Attrs: append(Connection(), place()...)},
		Options: offer.Block{Attrs: []offer.Attr{
			{Name: "host", Type: offer.String, Doc: "The one of `hosts` that runs the job; any of them by default."},
		}},
		Can: offer.Capabilities{
			Dependencies: true, Retries: true, GPUs: true, Events: true, Transfer: true, Accounting: true,
			Remote: true, HostQueue: true, Holds: true, Guard: true, Recalls: true,
		},
	}
}

// Connection describes how to reach a host; package slurm uses it in a block. Missing settings
// come from ~/.ssh/config.
func Connection() []offer.Attr {
	return []offer.Attr{
		{Name: "host", Type: offer.String, Check: named(sshx.CheckHost), Doc: "Name or address of the host, IPv6 without brackets, or an alias of ~/.ssh/config."},
		{Name: "user", Type: offer.String, Check: named(sshx.CheckUser), Doc: "User on the host; by default ~/.ssh/config's, then yours here."},
		{Name: "port", Type: offer.Number, Default: "22", Doc: "Port of the host's ssh server, 1 to 65535."},
		{Name: "identity_file", Type: offer.String, Doc: "Private key to use; by default the agent's and ~/.ssh/config's."},
		{Name: "control_path", Type: offer.String, Check: named(sshx.CheckControlPath), Doc: "Control socket of an ssh connection that you have open; by default ControlPath of ssh's configuration. Absolute, or beginning with ~/."},
		{Name: "accept_new", Type: offer.Bool, Default: "false", Doc: "Accept the key of a host that is not yet in known_hosts; a changed key is always refused."},
	}
}

func place() []offer.Attr {
	out := []offer.Attr{
		{Name: "hosts", Type: offer.StringList, Check: named(sshx.CheckHost), Doc: "Several hosts as one backend, instead of `host`; each is a pool of its own."},
	}
	out = append(out, machine.SettingAttrs()...)
	return append(out, []offer.Attr{
		{Name: "shared_fs", Type: offer.String, Doc: "Name of the filesystem that holds the workdir: backends that state the same name and workdir see each other's files, and nothing is copied between them."},
		{Name: "spool", Type: offer.String, Doc: "Directory of the queue on the host, on a local disk there: absolute, or beginning with ~/. Default: one for this user and machine."},
		{Name: "install_dir", Type: offer.String, Doc: "Folder on the host for muster's own binary, one file for each version. Default: muster/bin below $XDG_CACHE_HOME."},
	}...)
}

// named is a check of sshx whose error is one sentence about the value.
func named(check func(string) error) func(string) error {
	return func(value string) error {
		err := check(value)
		if e := (*sshx.Error)(nil); errors.As(err, &e) {
			text := e.Detail + " is " + e.Summary
			if e.Hint != "" {
				text += "; " + e.Hint
			}
			return errors.New(text)
		}
		return err
	}
}

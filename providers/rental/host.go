package rental

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	gossh "golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/sshx"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/ssh"
)

// A Host is the queue of one machine, and the way to it.
type Host interface {
	providers.Provider
	io.Closer
	// Run runs a command as the machine's user, and returns its output and its exit code. An
	// error says that the machine was not reached.
	Run(ctx context.Context, command string) (out string, exit int, err error)
}

// A Dialer reaches machines.
type Dialer interface {
	// Dial prepares the way to a machine for a backend; it reaches nothing yet. Its record of
	// the machine is in a folder.
	Dial(b providers.Backend, m Machine, folder string) (Host, error)
	// Key is the public ssh key that a machine must let in, made if there is none.
	Key(folder string) (public string, err error)
	// Able says why no job could run on a machine that this muster rents.
	Able() error
}

// overSSH reaches machines with a key that muster makes for one campaign. The key of
// each machine's server is learned at the first contact, and kept with the machine:
// clouds give one address to one machine after another.
type overSSH struct {
	spool string // of a machine's queue, where a stop would erase the usual one
}

// keyFile is the private key, in the folder of a backend's records.
const keyFile = "id_ed25519"

func (overSSH) Key(folder string) (string, error) {
	path := filepath.Join(folder, keyFile)
	public, err := os.ReadFile(path + ".pub")
	if err == nil {
		return strings.TrimSpace(string(public)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	pub, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	block, err := gossh.MarshalPrivateKey(private, "muster")
	if err != nil {
		return "", err
	}
	key, err := gossh.NewPublicKey(pub)
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(gossh.MarshalAuthorizedKey(key))) + " muster"
	if err := atomicfile.Write(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return "", err
	}
	return line, atomicfile.Write(path+".pub", []byte(line+"\n"), 0o600)
}

// Able looks for the program that machines run: nearly all of them have an amd64 processor.
func (overSSH) Able() error { return ssh.Carries("amd64") }

func (d overSSH) Dial(b providers.Backend, m Machine, folder string) (Host, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	conf := filepath.Join(folder, "ssh_config")
	known := filepath.Join(folder, "known_hosts")
	if fi, err := os.Stat(known); d.spool != "" && err == nil && fi.ModTime().Before(m.Up) {
		if err := os.Remove(known); err != nil { // a stop erases the key of its server, too
			return nil, err
		}
	}
	text := fmt.Sprintf("Host *\n  UserKnownHostsFile %q\n  StrictHostKeyChecking accept-new\n  IdentitiesOnly yes\n", known)
	if err := atomicfile.Write(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	identity := filepath.Join(filepath.Dir(filepath.Dir(folder)), keyFile)
	o := sshx.Options{ConfigFile: conf}
	config := map[string]any{"host": m.Host, "user": m.User, "port": m.Port, "identity_file": identity, "accept_new": true}
	if d.spool != "" {
		config["spool"] = d.spool
	}
	settings, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	b.Type, b.Config = "ssh", settings
	inner := ssh.NewWith(o)
	if err := inner.Configure(context.Background(), b); err != nil {
		return nil, err
	}
	return &sshHost{SSH: inner, client: sshx.New(sshx.Target{Host: m.Host, User: m.User, Port: m.Port, IdentityFile: identity, AcceptNew: true}, o)}, nil
}

// An sshHost is a machine reached over ssh.
type sshHost struct {
	*ssh.SSH
	client *sshx.Client
}

// mostOutput is the most of a command's output that is kept, bytes.
const mostOutput = 64 << 10

func (h *sshHost) Run(ctx context.Context, command string) (string, int, error) {
	var out bytes.Buffer
	exit, err := h.client.Run(ctx, command, nil, &out)
	if err != nil {
		return "", 0, err
	}
	text := out.Bytes()
	return string(text[:min(len(text), mostOutput)]), exit.Code, nil
}

func (h *sshHost) Close() error { return errors.Join(h.client.Close(), h.SSH.Close()) }

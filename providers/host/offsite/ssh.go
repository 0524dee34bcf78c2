package offsite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"strings"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/providers/offer"
)

// sshPlace is a folder on an ssh host. SFTP suffices there, so that the key may be restricted
// to it (ForceCommand internal-sftp).
type sshPlace struct {
	client *ssh.Client
	files  *sftp.Client
	folder string
}

// part ends the name of a copy that is being written.
const part = ".part"

func openSSH(ctx context.Context, t offer.CopyTo, folder string, get func(string) string) (Folder, error) {
	signer, err := ssh.ParsePrivateKey([]byte(strings.TrimSpace(get(offer.CopyKey)) + "\n"))
	if err != nil {
		return nil, fmt.Errorf("%s is not a private key that muster can use: %w", offer.CopyKey, err)
	}
	hostKey, err := hostKeyOf(get(offer.CopyHostKey))
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(t.Host, cmp.Or(t.Port, "22"))
	link, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { link.Close() })
	conn, channels, requests, err := ssh.NewClientConn(patient{link}, address, &ssh.ClientConfig{User: t.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(hostKey), HostKeyAlgorithms: algorithms(hostKey), Timeout: dialTimeout})
	if err != nil {
		stop()
		return nil, errors.Join(err, link.Close())
	}
	p := &sshPlace{client: ssh.NewClient(conn, channels, requests), folder: strings.TrimPrefix(folder, "/~/")}
	if p.files, err = sftp.NewClient(p.client); err != nil {
		return nil, errors.Join(fmt.Errorf("%s has no SFTP: %w", t.Host, err), p.client.Close())
	}
	return p, nil
}

// hostKeyOf reads a line of known_hosts, or of a public key's file.
func hostKeyOf(line string) (ssh.PublicKey, error) {
	line = strings.TrimSpace(line)
	if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line)); err == nil && !strings.HasPrefix(line, "@") {
		return key, nil
	}
	_, _, key, _, _, err := ssh.ParseKnownHosts([]byte(line + "\n"))
	if err != nil {
		return nil, fmt.Errorf("%s is not a line of known_hosts: %w", offer.CopyHostKey, err)
	}
	return key, nil
}

// algorithms are those by which a host proves that it has a key.
func algorithms(key ssh.PublicKey) []string {
	if key.Type() == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{key.Type()}
}

// patient is a connection that is dead when no byte moves for ioPatience.
type patient struct{ net.Conn }

func (p patient) Read(b []byte) (int, error) {
	_ = p.SetReadDeadline(time.Now().Add(ioPatience))
	return p.Conn.Read(b)
}

func (p patient) Write(b []byte) (int, error) {
	_ = p.SetWriteDeadline(time.Now().Add(ioPatience))
	return p.Conn.Write(b)
}

func (p *sshPlace) List(context.Context) (names []string, err error) {
	found, err := p.files.ReadDir(p.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range found {
		if f.Mode().IsRegular() && !strings.HasSuffix(f.Name(), part) {
			names = append(names, f.Name())
		}
	}
	return names, err
}

func (p *sshPlace) Write(_ context.Context, name string, fill func(io.Writer) error) error {
	if err := p.files.MkdirAll(p.folder); err != nil {
		return fmt.Errorf("folder %s: %w", p.folder, err)
	}
	at := path.Join(p.folder, name)
	f, err := p.files.Create(at + part)
	if err != nil {
		return err
	}
	err = fill(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = p.files.PosixRename(at+part, at)
	}
	if err != nil {
		_ = p.files.Remove(at + part)
	}
	return err
}

func (p *sshPlace) Read(_ context.Context, name string) (io.ReadCloser, error) {
	return p.files.Open(path.Join(p.folder, name))
}

func (p *sshPlace) Remove(_ context.Context, name string) error {
	return p.files.Remove(path.Join(p.folder, name))
}

func (p *sshPlace) Close() error { return errors.Join(p.files.Close(), p.client.Close()) }

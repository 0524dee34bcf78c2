package sshx

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// accepting one key at a time keeps the clients of one process from writing
// the same line twice.
var accepting sync.Mutex

// accept writes a new host's key down and takes it.
func (v *verifier) accept(key ssh.PublicKey) error {
	accepting.Lock()
	defer accepting.Unlock()
	if keys, err := knownKeys(v.files, v.name, v.port); err == nil && hasPlain(keys) {
		v.keys, v.acceptNew = keys, false
		return v.verdict(key) // someone else wrote it meanwhile
	}
	if len(v.mine) == 0 {
		return v.refuse("host key of "+v.host.String()+" cannot be saved", "UserKnownHostsFile is none", "name a file in ~/.ssh/config")
	}
	name := bracketed(v.name, v.port)
	if strings.EqualFold(v.host.settings.get("hashknownhosts"), "yes") {
		salt := make([]byte, 20)
		rand.Read(salt)
		name = "|1|" + base64.StdEncoding.EncodeToString(salt) + "|" + base64.StdEncoding.EncodeToString(hashName(salt, name))
	}
	line := name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + "\n"
	if err := appendLine(v.mine[0], line); err != nil {
		return v.refuse("host key of "+v.host.String()+" cannot be saved", err.Error(), "make the file writable, or set UserKnownHostsFile in ~/.ssh/config")
	}
	return nil
}

// appendLine adds a line in one write, on a line of its own.
func appendLine(file, line string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return f.Close()
}

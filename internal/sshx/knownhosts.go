package sshx

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
)

// known_hosts is read here rather than by x/crypto/ssh/knownhosts: that one
// refuses a whole file for one line it cannot read, where ssh(1) skips the
// line, knows no HostKeyAlias, and cannot be asked which keys a host has.

// A knownKey is one line of a known_hosts file that speaks of a host
// (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
type knownKey struct {
	file   string
	line   int
	marker string // "", "cert-authority" or "revoked"
	key    ssh.PublicKey
}

func (k knownKey) String() string { return fmt.Sprintf("%s:%d", k.file, k.line) }

// knownKeys are all lines of the files that speak of a host. It is known by
// name alone on port 22, else as [name]:port; lines without a port count for
// every port where none has it (sshconnect.c, check_host_key).
func knownKeys(files []string, name string, port int) ([]knownKey, error) {
	if port == 22 {
		return keysOf(files, name)
	}
	withPort := bracketed(name, port)
	keys, err := keysOf(files, withPort)
	if err != nil || hasPlain(keys) {
		return keys, err
	}
	bare, err := keysOf(files, name)
	return append(keys, bare...), err
}

func bracketed(name string, port int) string {
	if port == 22 {
		return name
	}
	return "[" + name + "]:" + strconv.Itoa(port)
}

func hasPlain(keys []knownKey) bool {
	for _, k := range keys {
		if k.marker == "" {
			return true
		}
	}
	return false
}

func keysOf(files []string, name string) ([]knownKey, error) {
	var out []knownKey
	for _, f := range files {
		data, err := os.ReadFile(f)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, configError("cannot read known_hosts", err.Error(), "")
		}
		out = append(out, keysIn(f, data, name)...)
	}
	return out, nil
}

func keysIn(file string, data []byte, name string) []knownKey {
	var out []knownKey
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(append(bytes.Clone(line), '\n'))
		if err != nil || !speaksOf(hosts, name) {
			continue
		}
		out = append(out, knownKey{file: file, line: n, marker: marker, key: key})
	}
	return out
}

func speaksOf(patterns []string, name string) bool {
	if len(patterns) == 1 && strings.HasPrefix(patterns[0], "|") {
		return hashedMatch(patterns[0], name)
	}
	return matchHosts(patterns, name)
}

// hashedMatch compares with |1|salt|HMAC-SHA1 of the name (hostfile.c,
// host_hash).
func hashedMatch(hashed, name string) bool {
	parts := strings.Split(hashed, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return false
	}
	salt, err1 := base64.StdEncoding.DecodeString(parts[2])
	sum, err2 := base64.StdEncoding.DecodeString(parts[3])
	return err1 == nil && err2 == nil && hmac.Equal(sum, hashName(salt, name))
}

func hashName(salt []byte, name string) []byte {
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return mac.Sum(nil)
}

// principal is the address in the form that certificates are checked with.
func principal(name string, port int) string { return net.JoinHostPort(name, strconv.Itoa(port)) }

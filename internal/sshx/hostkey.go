package sshx

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/muster-run/muster/internal/shell"
)

// A verifier holds the key that a host shows against known_hosts.
type verifier struct {
	host      *host
	name      string // as known_hosts has it: HostKeyAlias, else the name connected to
	port      int
	files     []string // the user's first
	mine      []string // the user's: new keys go to the first
	keys      []knownKey
	acceptNew bool
	failed    *Error // why the key was refused: ssh itself would only keep the text
}

func newVerifier(h *host, t Target, o Options) (*verifier, error) {
	mine, err := h.files("userknownhostsfile", o.Home, "~/.ssh/known_hosts", "~/.ssh/known_hosts2")
	if err != nil {
		return nil, err
	}
	all, err := h.files("globalknownhostsfile", o.Home, "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")
	if err != nil {
		return nil, err
	}
	v := &verifier{host: h, name: h.keyName(), port: h.port, mine: mine, files: append(slices.Clone(mine), all...), acceptNew: t.AcceptNew}
	if h.settings.get("hostkeyalias") != "" {
		v.port = 22 // an alias has no port (sshconnect.c, get_hostfile_hostname_ipaddr)
	}
	v.keys, err = knownKeys(v.files, v.name, v.port)
	return v, err
}

// check is ssh's HostKeyCallback.
func (v *verifier) check(_ string, _ net.Addr, key ssh.PublicKey) error {
	err := v.verdict(key)
	if err == nil {
		return nil
	}
	if !errors.As(err, &v.failed) {
		v.failed = &Error{Class: HostKey, Summary: "cannot check the host key of " + v.host.String(), Detail: err.Error(), cause: err}
	}
	return err
}

func (v *verifier) verdict(key ssh.PublicKey) error {
	if at, revoked := v.find("revoked", key); revoked {
		return v.refuse("host key of "+v.host.String()+" is revoked", fmt.Sprintf("%s revokes %s", at, describe(key)), "ask who runs the host; do not connect")
	}
	cert, isCert := key.(*ssh.Certificate)
	if isCert {
		if at, revoked := v.find("revoked", cert.SignatureKey); revoked {
			return v.refuse("host certificate of "+v.host.String()+" is revoked", fmt.Sprintf("%s revokes the authority that signed it", at), "ask who runs the host; do not connect")
		}
		if _, ok := v.find("cert-authority", cert.SignatureKey); ok {
			return v.certificate(cert)
		}
		key = cert.Key // an unknown authority vouches for nothing; the key may still be known
	}
	if _, ok := v.find("", key); ok {
		return nil
	}
	if plain := v.plain(); len(plain) > 0 {
		return v.changed(plain, key)
	}
	if v.acceptNew {
		return v.accept(key)
	}
	return v.unknown(key, isCert)
}

// certificate checks a host certificate of an authority in known_hosts.
func (v *verifier) certificate(cert *ssh.Certificate) error {
	checker := ssh.CertChecker{IsHostAuthority: func(auth ssh.PublicKey, _ string) bool {
		_, ok := v.find("cert-authority", auth)
		return ok
	}}
	if err := checker.CheckHostKey(principal(v.name, v.port), &net.TCPAddr{}, cert); err != nil {
		return v.refuse("host certificate of "+v.host.String()+" is not valid for it", strings.TrimPrefix(err.Error(), "ssh: ")+
			fmt.Sprintf("; it names %s", strings.Join(cert.ValidPrincipals, ", ")), "use the name that the certificate has, or set HostKeyAlias in ~/.ssh/config")
	}
	return nil
}

func (v *verifier) find(marker string, key ssh.PublicKey) (knownKey, bool) {
	want := key.Marshal()
	for _, k := range v.keys {
		if k.marker == marker && bytes.Equal(k.key.Marshal(), want) {
			return k, true
		}
	}
	return knownKey{}, false
}

func (v *verifier) plain() []knownKey {
	var out []knownKey
	for _, k := range v.keys {
		if k.marker == "" {
			out = append(out, k)
		}
	}
	return out
}

// changed refuses a key other than the known one, and shows both.
func (v *verifier) changed(known []knownKey, key ssh.PublicKey) error {
	at := known[0]
	for _, k := range known {
		if k.key.Type() == key.Type() {
			at = k
			break
		}
	}
	return v.refuse("host key of "+v.host.String()+" has changed",
		fmt.Sprintf("%s has %s, the host shows %s; someone may be intercepting the connection, or the host was reinstalled", at, describe(at.key), describe(key)),
		fmt.Sprintf("ask who runs the host; if the change is right: ssh-keygen -R %s -f %s", shell.Enclose(bracketed(v.name, v.port)), shell.Enclose(at.file)))
}

func (v *verifier) unknown(key ssh.PublicKey, cert bool) error {
	detail := fmt.Sprintf("it shows %s, and %s has no key for %s", describe(key), strings.Join(v.files, ", "), bracketed(v.name, v.port))
	if cert {
		detail += "; no @cert-authority line there vouches for its certificate"
	}
	return v.refuse("host key of "+v.host.String()+" is not known", detail,
		fmt.Sprintf("compare the fingerprint, and connect once by hand: ssh %s; or set accept_new = true in the backend block", v.host.alias))
}

func (v *verifier) refuse(summary, detail, hint string) error {
	return &Error{Class: HostKey, Summary: summary, Detail: detail, Hint: hint}
}

func describe(key ssh.PublicKey) string {
	return strings.TrimPrefix(key.Type(), "ssh-") + " " + ssh.FingerprintSHA256(key)
}

// algorithms are the kinds of key to ask the host for, those first that known_hosts can judge:
// a host with several keys would otherwise show an unknown one, and look like another host.
func (v *verifier) algorithms() ([]string, error) {
	known := map[string]bool{}
	authority := false
	for _, k := range v.keys {
		switch k.marker {
		case "cert-authority":
			authority = true
		case "":
			known[k.key.Type()] = true
		}
	}
	rank := func(algo string) int {
		cert := strings.Contains(algo, "-cert-v01@")
		switch {
		case cert && authority:
			return 0
		case !cert && known[keyType(algo)]:
			return 1
		case cert:
			return 3
		}
		return 2
	}
	all := ssh.SupportedAlgorithms().HostKeys
	if known[ssh.KeyAlgoRSA] {
		all = append(all, ssh.KeyAlgoRSA) // servers from before RFC 8332 sign with SHA-1
	}
	all, err := algorithmList(v.host.settings.get("hostkeyalgorithms"), all, append(ssh.SupportedAlgorithms().HostKeys, ssh.InsecureAlgorithms().HostKeys...))
	slices.SortStableFunc(all, func(a, b string) int { return rank(a) - rank(b) })
	return all, err
}

// keyType is the kind of key behind a signature algorithm (RFC 8332).
func keyType(algo string) string {
	if algo == ssh.KeyAlgoRSASHA256 || algo == ssh.KeyAlgoRSASHA512 {
		return ssh.KeyAlgoRSA
	}
	return algo
}

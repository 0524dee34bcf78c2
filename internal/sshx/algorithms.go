package sshx

import (
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// algorithmList is the configured algorithms that muster knows, in ssh's order; the standard
// ones where none are configured.
func algorithmList(configured string, standard, known []string) ([]string, error) {
	if configured == "" {
		return standard, nil
	}
	names := slices.DeleteFunc(strings.Split(configured, ","), func(n string) bool { return !slices.Contains(known, n) })
	if len(names) == 0 {
		return nil, configError("none of the configured algorithms is known to muster", configured, "add another in ~/.ssh/config")
	}
	return names, nil
}

// transport are the algorithms below the keys, as the configuration has them.
func (h *host) transport() (ssh.Config, error) {
	var c ssh.Config
	c.SetDefaults()
	safe, old := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	for _, l := range []struct {
		keyword string
		list    *[]string
		known   []string
	}{
		{"kexalgorithms", &c.KeyExchanges, append(safe.KeyExchanges, old.KeyExchanges...)},
		{"ciphers", &c.Ciphers, append(safe.Ciphers, old.Ciphers...)},
		{"macs", &c.MACs, append(safe.MACs, old.MACs...)},
	} {
		names, err := algorithmList(h.settings.get(l.keyword), *l.list, l.known)
		if err != nil {
			return c, err
		}
		*l.list = names
	}
	c.Ciphers = fastFirst(c.Ciphers)
	return c, nil
}

// fastFirst is the same ciphers with AES-GCM first. OpenSSH's order begins with
// ChaCha20, which takes seven times as long in Go on amd64, where it has no assembly.
func fastFirst(ciphers []string) []string {
	slow := func(name string) bool { return name != ssh.CipherAES128GCM && name != ssh.CipherAES256GCM }
	first := slices.DeleteFunc(slices.Clone(ciphers), slow)
	return append(first, slices.DeleteFunc(slices.Clone(ciphers), func(name string) bool { return !slow(name) })...)
}

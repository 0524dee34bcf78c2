package sshx

import (
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// algorithmList is what a list of ssh_config makes of the default: replaced,
// or with '+' more at its end, '-' without those, '^' those first
// (ssh_config(5), Ciphers). What this side does not know is left out.
func algorithmList(value string, standard, known []string) []string {
	if value == "" {
		return standard
	}
	sign := value[0]
	names := strings.Split(strings.TrimLeft(value, "+-^"), ",")
	if sign == '-' {
		return slices.DeleteFunc(slices.Clone(standard), func(a string) bool { return matchList(names, a) })
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(known, n) })
	switch sign {
	case '+':
		return unique(append(slices.Clone(standard), names...))
	case '^':
		return unique(append(names, standard...))
	}
	return unique(names)
}

// unique keeps the first of each.
func unique(list []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s string) bool {
		defer func() { seen[s] = true }()
		return seen[s]
	})
}

// transport are the algorithms below the keys, as the configuration has them.
func (h *host) transport() ssh.Config {
	var c ssh.Config
	c.SetDefaults()
	safe, old := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	c.KeyExchanges = algorithmList(h.settings.get("kexalgorithms"), c.KeyExchanges, append(safe.KeyExchanges, old.KeyExchanges...))
	c.Ciphers = algorithmList(h.settings.get("ciphers"), c.Ciphers, append(safe.Ciphers, old.Ciphers...))
	c.MACs = algorithmList(h.settings.get("macs"), c.MACs, append(safe.MACs, old.MACs...))
	return c
}

package site

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state"
)

// hosts are those that a backend is configured with: one, or several that are
// its pools.
type hosts struct {
	Host  string   `json:"host"`
	Hosts []string `json:"hosts"`
	SSH   *struct {
		Host string `json:"host"`
	} `json:"ssh"` // of a scheduler
}

func hostsOf(conf providers.Backend) (h hosts) {
	_ = json.Unmarshal(conf.Config, &h) // its provider checks it
	if h.SSH != nil && h.Host == "" {
		h.Host = h.SSH.Host
	}
	return h
}

// Host is the one host of a backend, "" where it has several or none.
func Host(conf providers.Backend) string { return hostsOf(conf).Host }

// Gone reports whether a host that was a pool of a backend is configured no
// more.
func Gone(conf providers.Backend, pool string) bool {
	h := hostsOf(conf)
	return conf.Type == "ssh" && !slices.Contains(h.Hosts, pool)
}

// Elsewhere says why a backend that does not know a job is not the one to ask:
// the host that the job was submitted to is no longer configured, or is another
// machine now. Node is what the machine that answered calls itself, "" if that
// is not known. It is "" where the backend's answer counts.
func Elsewhere(conf providers.Backend, at *state.Attempt, node string) string {
	h := hostsOf(conf)
	gone := func(host, from string) string {
		return fmt.Sprintf("it was submitted to %s, which is no longer in %s of backend.%s: put it back, or cancel the job there and run muster state rm", host, from, conf.Name)
	}
	was := at.Host
	if was == "" && (len(h.Hosts) > 0 || h.Host != "" && h.SSH == nil && conf.Type == "ssh") {
		was = at.Pool
	}
	switch {
	case was == "":
	case len(h.Hosts) > 0 && !slices.Contains(h.Hosts, was):
		return gone(was, "hosts")
	case h.Host != "" && h.Host != was:
		return gone(was, "host")
	}
	if h.SSH == nil && conf.Type == "ssh" && at.Node != "" && node != "" && at.Node != node && (h.Host != "" || at.Pool != "") {
		return fmt.Sprintf("it was submitted to the machine %s, and backend.%s leads to %s now: change that back, or cancel the job there and run muster state rm", at.Node, conf.Name, node)
	}
	return ""
}

package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
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
// the job was submitted to another queue than those that answered. It is ""
// where the backend's answer counts. Queues tell their identity; of a job whose
// queue is not recorded the names of hosts and machines have to do, with the
// backend's stored settings for records of older versions.
func Elsewhere(conf providers.Backend, can offer.Capabilities, kept state.Backend, at *state.Attempt, o *offer.Observation) string {
	if o.Cause == offer.OtherCluster {
		return o.Reason + wayOut
	}
	if at.Queue != "" && slices.Contains(o.Queues, at.Queue) {
		return ""
	}
	now, was := hostsOf(conf), recordedHost(conf, kept, at)
	switch {
	case was != "" && len(now.Hosts) > 0 && !slices.Contains(now.Hosts, was):
		return gone(conf, was, "hosts")
	case was != "" && now.Host != "" && now.Host != was:
		return gone(conf, was, "host")
	case was != "" && now.Host == "" && len(now.Hosts) == 0 && now.SSH == nil:
		return gone(conf, was, "ssh")
	case at.Queue != "" && len(o.Queues) > 0:
		return replaced(conf, can, was, at, o)
	case conf.Type == "ssh" && at.Node != "" && o.Node != "" && at.Node != o.Node && (now.Host != "" || at.Pool != ""):
		return replaced(conf, can, was, at, o)
	}
	return ""
}

// recordedHost is the host that a job was submitted to, "" where it is the
// machine of muster itself.
func recordedHost(conf providers.Backend, kept state.Backend, at *state.Attempt) string {
	if at.Host != "" {
		return at.Host
	}
	if conf.Type == "ssh" && at.Pool != "" {
		return at.Pool
	}
	if at.Queue == "" {
		return Host(keptBackend(kept))
	}
	return ""
}

// Needed reports whether only the kept configuration of a backend tells to which
// host jobs were submitted that have not ended: it is not to be replaced yet.
func Needed(st *state.State, conf providers.Backend) bool {
	kept, ok := st.Backends[conf.Name]
	if was := Host(keptBackend(kept)); !ok || was == "" || was == Host(conf) {
		return false
	}
	return slices.ContainsFunc(st.InFlight(), func(j *state.Job) bool {
		at := j.Last()
		return at != nil && at.Backend == conf.Name && at.Host == "" && at.Queue == "" && (at.Pool == "" || conf.Type != "ssh")
	})
}

func keptBackend(kept state.Backend) (conf providers.Backend) {
	_ = json.Unmarshal(kept.Config, &conf)
	return conf
}

// wayOut ends messages about a job whose backend does not answer.
const wayOut = ", or end the job there and run `muster state rm`"

func gone(conf providers.Backend, host, from string) string {
	return fmt.Sprintf("it was submitted to %s, which is no longer in %s of backend.%s: put it back%s", host, from, conf.Name, wayOut)
}

// replaced is for a name that leads to another queue than it did.
func replaced(conf providers.Backend, can offer.Capabilities, host string, at *state.Attempt, o *offer.Observation) string {
	to := cmp.Or(host, "backend."+conf.Name)
	switch {
	case !can.HostQueue: // its queue is a scheduler's
		return fmt.Sprintf("%s has another workdir or cluster than when it was submitted: change that back%s", to, wayOut)
	case at.Node != "" && o.Node != "" && at.Node != o.Node:
		return fmt.Sprintf("it was submitted to the machine %s, and %s leads to %s now: change that back%s", at.Node, to, o.Node, wayOut)
	}
	return fmt.Sprintf("%s has another queue than when it was submitted (another machine, another user or another spool): change that back%s", to, wayOut)
}

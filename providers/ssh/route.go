package ssh

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// wanted is the host that `options "ssh"` names, "" for any.
func wanted(options string) (string, error) {
	if options == "" {
		return "", nil
	}
	var o struct {
		Host string `json:"host"`
	}
	err := json.Unmarshal([]byte(options), &o)
	return o.Host, err
}

// at finds the host that a job goes to: the one it asks for, that of its
// pool, or that of the jobs it comes after.
func (b *backend) at(ctx context.Context, j *providers.Job) (*host, *providers.Error) {
	invalid := func(format string, args ...any) (*host, *providers.Error) {
		return nil, providers.Errorf(providers.Invalid, format, args...)
	}
	if !b.several() {
		return b.hosts[0], nil
	}
	want, err := wanted(string(j.Options))
	if err != nil {
		return invalid("The options of %s cannot be read: %v", j.Address, err)
	}
	if want == "" {
		want = j.Pool
	}
	before, fault := b.before(ctx, j)
	if fault != nil {
		return nil, fault
	}
	if want == "" && before != nil {
		return before, nil
	}
	h := b.named(want)
	switch {
	case h == nil && want == "":
		return invalid("%s names no host of backend.%s", j.Address, b.Name)
	case h == nil:
		return invalid("backend.%s has no host %q; it has %s", b.Name, want, strings.Join(b.Hosts, ", "))
	case before != nil && before != h:
		return invalid("%s goes to %s and comes after a job on %s: a host's queue knows only its own jobs", j.Address, h.name, before.name)
	}
	return h, nil
}

// before is the host of the jobs that a job comes after, nil if it comes
// after none.
func (b *backend) before(ctx context.Context, j *providers.Job) (*host, *providers.Error) {
	if len(j.After) == 0 {
		return nil, nil
	}
	b.locate(ctx, j.After)
	b.mu.Lock()
	defer b.mu.Unlock()
	var h *host
	for _, token := range j.After {
		o := b.place[token]
		switch {
		case o == nil:
			return nil, providers.Errorf(providers.Unreachable, "The host of backend.%s that has job %s is unknown, and %s comes after that job", b.Name, token, j.Address)
		case h != nil && o != h:
			return nil, providers.Errorf(providers.Invalid, "%s comes after jobs on %s and on %s: a host's queue knows only its own jobs", j.Address, h.name, o.name)
		}
		h = o
	}
	return h, nil
}

// locate asks the hosts for tokens whose host is unknown.
func (b *backend) locate(ctx context.Context, tokens []string) {
	var open []string
	b.mu.Lock()
	for _, t := range tokens {
		if b.place[t] == nil {
			open = append(open, t)
		}
	}
	b.mu.Unlock()
	if len(open) == 0 {
		return
	}
	for _, r := range each(ctx, b, b.hosts, func(ctx context.Context, _ *host, s *session) ([]offer.Observation, error) {
		return s.Find(ctx, b.Name, open)
	}) {
		for i := range r.got {
			if r.err == nil && r.got[i].Presence == offer.Found {
				b.remember(r.host, r.got[i].Token)
			}
		}
	}
}

// remember notes where a job is.
func (b *backend) remember(h *host, token string) {
	if !b.several() {
		return
	}
	token, _, _ = strings.Cut(token, "/")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.place[token] = h
}

// handle is a queue's handle as muster keeps it: of several hosts with the
// host before it.
func (b *backend) handle(h *host, handle string) string {
	if !b.several() || handle == "" {
		return handle
	}
	return h.name + "/" + handle
}

// own are the handles that are a host's, as its queue knows them.
func (b *backend) own(h *host, handles []string) (out []string) {
	for _, handle := range handles {
		if !b.several() {
			out = append(out, handle)
		} else if rest, ok := strings.CutPrefix(handle, h.name+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

// see gives an observation its handle and pool.
func (b *backend) see(h *host, o *offer.Observation) {
	o.Handle, o.Duplicate = b.handle(h, o.Handle), b.handle(h, o.Duplicate)
	if b.several() && o.Presence != offer.Absent {
		o.Pool = h.name
	}
}

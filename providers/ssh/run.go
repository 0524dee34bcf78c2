package ssh

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Submit hands jobs to the queues of their hosts.
func (s *SSH) Submit(ctx context.Context, r providers.SubmitRequest) ([]providers.Submitted, error) {
	b, err := s.backend(r.Backend)
	if err != nil {
		return nil, err
	}
	if !b.several() {
		return submit(ctx, b, b.hosts[0], r)
	}
	out := make([]providers.Submitted, len(r.Jobs))
	at := map[*host][]int{}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		h, fault := b.at(ctx, j)
		if fault != nil {
			out[i] = providers.Submitted{Token: j.Token, Err: fault}
			continue
		}
		at[h] = append(at[h], i)
		b.remember(h, j.Token) // jobs after it may be in the same batch
	}
	var hosts []*host
	for _, h := range b.hosts {
		if len(at[h]) > 0 {
			hosts = append(hosts, h)
		}
	}
	for _, reply := range each(ctx, b, hosts, func(ctx context.Context, h *host, s *session) ([]providers.Submitted, error) {
		part := r
		part.Jobs = nil
		for _, i := range at[h] {
			part.Jobs = append(part.Jobs, r.Jobs[i])
		}
		return s.Submit(ctx, part)
	}) {
		var fault *providers.Error
		switch {
		case reply.err == nil && len(reply.got) == len(at[reply.host]):
		case errors.As(reply.err, &fault) && fault.Class != providers.StaleFence:
		case reply.err == nil:
			return nil, providers.Errorf(providers.Internal, "%s answered %d of %d jobs", reply.host.name, len(reply.got), len(at[reply.host]))
		default:
			return nil, reply.err
		}
		for n, i := range at[reply.host] {
			if fault != nil {
				out[i] = providers.Submitted{Token: r.Jobs[i].Token, Err: fault}
				continue
			}
			out[i] = reply.got[n]
			out[i].Handle = b.handle(reply.host, out[i].Handle)
		}
	}
	return out, nil
}

func submit(ctx context.Context, b *backend, h *host, r providers.SubmitRequest) (out []providers.Submitted, err error) {
	err = h.do(ctx, b, func(s *session) (e error) {
		out, e = s.Submit(ctx, r)
		return e
	})
	return out, err
}

// Find asks every host. A token is absent when all on which it may be say so;
// a host that cannot be asked leaves it unknown.
func (s *SSH) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	got, away, err := split(each(ctx, b, b.hosts, func(ctx context.Context, _ *host, s *session) ([]offer.Observation, error) {
		return s.Find(ctx, name, tokens)
	}))
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return b.recalled(got, away)
	}
	out := make([]offer.Observation, len(tokens))
	for i, token := range tokens {
		out[i] = offer.Observation{Token: token, Presence: offer.Absent}
		if len(away) > 0 {
			out[i].Presence, out[i].Reason = offer.Unknown, whyAway(away)
		}
	}
	for _, r := range got {
		for i := range min(len(r.got), len(out)) {
			o := r.got[i]
			if o.Presence != offer.Found {
				if !b.several() {
					out[i].Node = o.Node
				}
				out[i].Queues = append(out[i].Queues, o.Queues...)
				if out[i].Presence == offer.Absent && o.Reason != "" {
					out[i].Reason = r.host.name + ": " + o.Reason
				}
				continue
			}
			b.see(r.host, &o)
			b.remember(r.host, o.Token)
			if out[i].Presence == offer.Found {
				out[i].Duplicate = o.Handle
				continue
			}
			out[i] = o
		}
	}
	return out, nil
}

// recalled are all jobs that the hosts keep records of. Each host must answer: the jobs of one
// that does not are not known to be few.
func (b *backend) recalled(got, away []reply[[]offer.Observation]) (out []offer.Observation, err error) {
	if len(away) > 0 {
		return nil, away[0].err
	}
	for _, r := range got {
		for _, o := range r.got {
			b.see(r.host, &o)
			b.remember(r.host, o.Token)
			out = append(out, o)
		}
	}
	return out, nil
}

// Cancel ends jobs wherever they are, and the second job of a token where its
// handle says: a queue has a token once, so that there are two only on two hosts.
func (s *SSH) Cancel(ctx context.Context, r providers.CancelRequest) ([]providers.Outcome, error) {
	b, err := s.backend(r.Backend)
	if err != nil {
		return nil, err
	}
	got, away, err := split(each(ctx, b, b.hosts, func(ctx context.Context, h *host, s *session) ([]providers.Outcome, error) {
		part := r
		part.Handles = nil
		if b.several() {
			part.Tokens = append(slices.Clip(r.Tokens), b.own(h, r.Handles)...)
		}
		return s.Cancel(ctx, part)
	}))
	if err != nil {
		return nil, err
	}
	out := make([]providers.Outcome, len(r.Tokens))
	for i, token := range r.Tokens {
		out[i] = providers.Outcome{ID: token, What: notFound}
		if len(away) > 0 {
			out[i] = providers.Outcome{ID: token, Err: &providers.Error{Class: providers.Unreachable, Summary: "Not every host could be asked", Detail: whyAway(away)}}
		}
	}
	for _, r := range got {
		for i := range min(len(r.got), len(out)) {
			if r.got[i].What != notFound {
				out[i] = r.got[i]
			}
		}
	}
	return out, nil
}

// notFound is the host queue's answer about an unknown token.
const notFound = "not found"

// Control changes which jobs the queues may start. Every host has to hear of
// it.
func (s *SSH) Control(ctx context.Context, r providers.ControlRequest) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	var errs []error
	for _, reply := range each(ctx, b, b.hosts, func(ctx context.Context, _ *host, s *session) (struct{}, error) { return struct{}{}, s.Control(ctx, r) }) {
		errs = append(errs, reply.err)
	}
	return errors.Join(errs...)
}

// Logs writes a job's log.
func (s *SSH) Logs(ctx context.Context, r providers.LogRequest, w io.Writer) error {
	b, err := s.backend(r.Backend)
	if err != nil {
		return err
	}
	h := b.hosts[0]
	if b.several() {
		if h, err = b.holder(ctx, r); err != nil {
			return err
		}
		if own := b.own(h, []string{r.Handle}); len(own) == 1 {
			r.Handle = own[0]
		}
	}
	return h.do(ctx, b, func(s *session) error { return s.Logs(ctx, r, w) })
}

// holder is the host that has a job's log.
func (b *backend) holder(ctx context.Context, r providers.LogRequest) (*host, error) {
	for _, h := range b.hosts {
		if len(b.own(h, []string{r.Handle})) == 1 {
			return h, nil
		}
	}
	b.locate(ctx, []string{r.Token})
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.place[r.Token]; h != nil {
		return h, nil
	}
	return nil, providers.Errorf(providers.NotFound, "No host of backend.%s that can be asked knows job %s", b.Name, r.Token)
}

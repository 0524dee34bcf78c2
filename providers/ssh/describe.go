package ssh

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// poolsTime is how long a reached host may take to report its resources.
const poolsTime = 90 * time.Second

// Pools are the hosts as they are now. One of several that cannot be asked is
// left out, and the others say so.
func (s *SSH) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	type described struct {
		pools []offer.Pool
		place string
	}
	got, away, err := split(each(ctx, b, b.hosts, func(ctx context.Context, h *host, s *session) (d described, err error) {
		prompt, stop := context.WithTimeoutCause(ctx, poolsTime, providers.Errorf(providers.Unreachable, "%s did not answer within %s", h.name, units.FormatDuration(poolsTime)))
		defer stop()
		d.place = s.Account
		d.pools, err = s.Pools(prompt, name)
		return d, err
	}))
	if err != nil {
		return nil, err
	}
	var out []offer.Pool
	at := map[string]*host{}
	for _, r := range got {
		if other := at[r.got.place]; other != nil {
			return nil, &providers.Error{Class: providers.Invalid, Summary: other.name + " and " + r.host.name + " of backend." + b.Name + " are one machine",
				Detail: "Both lead to one account there: its slots would count twice, and each job there would look like two.", Hint: "Name it once in hosts."}
		}
		at[r.got.place] = r.host
		for _, p := range r.got.pools {
			p.Name, p.Filesystem = b.pool(r.host), b.filesystem(r.host)
			p.Notes = append(p.Notes, r.host.client.Notes()...)
			out = append(out, p)
		}
	}
	b.platform(out)
	if len(away) > 0 && len(out) > 0 {
		out[0].Notes = append(out[0].Notes, "not asked: "+whyAway(away))
	}
	return out, sameHome(b, out)
}

// platform adds the facts of the platform to pools. The language reads its clocks, which it
// shows also for machines that are off.
func (b *backend) platform(pools []offer.Pool) {
	p := b.profile
	if p == nil {
		return
	}
	for i := range pools {
		pools[i].Notes = append(pools[i].Notes, p.Notes...)
		if f := p.Folder(b.Workdir); f != nil {
			pools[i].Notes = append(pools[i].Notes, "workdir is in "+f.String())
		}
	}
}

// lost warns of a workdir whose files do not survive the end of a rented machine.
func (b *backend) lost() (out []providers.Finding) {
	if b.profile == nil {
		return nil
	}
	f := b.profile.Folder(b.Workdir)
	if f == nil || f.Release {
		return nil
	}
	when := "A release"
	if !f.Stop {
		when = "A stop"
	}
	detail := "It is in " + f.String() + ". Run `muster pull` before that"
	if kept := b.profile.Kept(); len(kept) > 0 {
		detail += ", or choose a workdir below " + strings.Join(kept, " or ") + ", which survives"
	}
	return []providers.Finding{{Check: -1, Warning: true, Summary: fmt.Sprintf("%s at %s deletes the workdir of backend.%s", when, b.profile.Site, b.Name), Detail: detail + "."}}
}

// filesystem names the filesystem of the workdir: shared by hosts, or the host's own.
func (b *backend) filesystem(h *host) string {
	switch {
	case b.SharedFS != "":
		return b.SharedFS
	case b.several():
		return b.Name + "/" + h.name
	}
	return ""
}

// sameHome holds that hosts which are said to see one workdir mean one folder
// by it.
func sameHome(b *backend, pools []offer.Pool) error {
	for _, p := range pools {
		if b.SharedFS != "" && !filepath.IsAbs(b.Workdir) && p.Home != pools[0].Home {
			return &providers.Error{Class: providers.Invalid, Summary: "The hosts of backend." + b.Name + " share a filesystem, and differ in their home directories",
				Detail: "~ is " + pools[0].Home + " on " + pools[0].Name + " and " + p.Home + " on " + p.Name + ".", Hint: "Write an absolute workdir, or leave shared_fs out."}
		}
	}
	return nil
}

// Quote says which shapes the hosts can run.
func (s *SSH) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	got, _, err := split(each(ctx, b, b.hosts, func(ctx context.Context, _ *host, s *session) ([]offer.Quote, error) {
		return s.Quote(ctx, name, shapes)
	}))
	if err != nil {
		return nil, err
	}
	var out []offer.Quote
	for _, r := range got {
		for _, q := range r.got {
			q.Pool = b.pool(r.host)
			if want, err := wanted(shapes[q.Shape].Options); err == nil && want != "" && want != r.host.name {
				q.Fits, q.Why, q.Would = false, "the job asks for host "+want, ""
			}
			out = append(out, q)
		}
	}
	return out, nil
}

// Preflight checks, for free, that jobs could run: on every host, or on the
// one that a check names.
func (s *SSH) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	got, away, err := split(each(ctx, b, b.hosts, func(ctx context.Context, h *host, s *session) ([]providers.Finding, error) {
		mine, at := checksOf(b, h, checks)
		found, err := s.Preflight(ctx, name, mine)
		for i := range found {
			if found[i].Pauses && found[i].Check < 0 && b.several() && len(at) > 0 {
				found[i].Check = 0 // of this host alone
			}
			if found[i].Check >= 0 && found[i].Check < len(at) {
				found[i].Check = at[found[i].Check]
			}
			if b.several() {
				found[i].Summary = h.name + ": " + found[i].Summary
			}
		}
		return found, err
	}))
	if err != nil {
		return nil, err
	}
	out := b.lost()
	for _, r := range got {
		for _, text := range r.host.told() {
			out = append(out, providers.Finding{Check: -1, Warning: true, Summary: "A file was put on " + r.host.name, Detail: text})
		}
		out = append(out, r.got...)
	}
	for _, r := range away {
		out = append(out, providers.Finding{Check: -1, Warning: true, Summary: r.host.name + " cannot be asked", Detail: r.err.Error()})
	}
	return out, nil
}

// checksOf are the checks that concern a host, and their indexes.
func checksOf(b *backend, h *host, checks []providers.Check) (mine []providers.Check, at []int) {
	for i, c := range checks {
		want, err := wanted(string(c.Options))
		if want == "" {
			want = c.Pool
		}
		if err == nil && want != "" && want != h.name && b.several() {
			continue
		}
		mine, at = append(mine, c), append(at, i)
	}
	return mine, at
}

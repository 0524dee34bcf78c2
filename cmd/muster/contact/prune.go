package contact

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/state"
)

// A Pruning selects files older than Older, and logs and failed outputs of a job beyond those
// of its newest Keep launches.
type Pruning struct {
	Now   time.Time
	Older time.Duration
	Keep  int
}

// perCall bounds the paths of one call.
const perCall = 500

// A pile is files of one kind in one place.
type pile struct{ backend, pool, what string }

var (
	ownToken = lazyregexp.New(`^[0-9a-f]{32}$`)
	aside    = path.Join(".muster", "replaced") + "/"
)

// Prunable lists the files that a pruning would remove, with sizes as the backends have them.
// It leaves out missing files; a backend that does not answer is a problem of the page.
func (b *Backends) Prunable(ctx context.Context, p Pruning) page.Clean {
	out := page.CleanOf(p.Older, p.Keep)
	wanted := map[pile][]string{}
	for _, j := range b.state.All() {
		if !j.InFlight() {
			launches := slices.Concat(b.state.Earlier[j.Key()], j.Attempts)
			p.logs(wanted, launches)
			p.torn(wanted, launches, b.state.Replaced[j.Key()])
			p.failed(wanted, launches)
		}
	}
	for _, replaced := range b.state.Replaced {
		p.replaced(wanted, replaced)
	}
	piles := make([]pile, 0, len(wanted))
	for at := range wanted {
		piles = append(piles, at)
	}
	slices.SortFunc(piles, func(a, b pile) int {
		return cmp.Or(cmp.Compare(a.backend, b.backend), cmp.Compare(a.pool, b.pool), cmp.Compare(a.what, b.what))
	})
	for _, at := range piles {
		item, err := b.sized(ctx, at, wanted[at])
		switch {
		case err != nil:
			out.Problem(at.backend, providers.WithHint(err))
		case len(item.Paths) > 0:
			out.Items = append(out.Items, item)
		}
	}
	return out
}

// logs are those of a job's launches that ended long ago, or are not among its newest. The
// last launch keeps its log as long as it is young.
func (p Pruning) logs(wanted map[pile][]string, launches []state.Attempt) {
	p.each(launches, func(a *state.Attempt, token string) {
		at := pile{a.Backend, a.Pool, "logs"}
		out, err := attempt.LogPath("", token, a.N, false), attempt.LogPath("", token, a.N, true)
		wanted[at] = append(wanted[at], out, err, attempt.ProloguePath("", token, a.N))
	})
}

// failed are the folders of outputs that launches left which did not complete.
func (p Pruning) failed(wanted map[pile][]string, launches []state.Attempt) {
	failed := slices.DeleteFunc(slices.Clone(launches), func(a state.Attempt) bool { return a.Class == "" && a.Left == nil })
	p.each(failed, func(a *state.Attempt, token string) {
		at := pile{a.Backend, a.Pool, "failed"}
		wanted[at] = append(wanted[at], attempt.FailedPath(token, a.N))
	})
}

// each calls visit with the launches that are old, or not among the newest.
func (p Pruning) each(launches []state.Attempt, visit func(a *state.Attempt, token string)) {
	for i := range launches {
		a := &launches[i]
		token, _, _ := strings.Cut(a.Token, "/")
		old := !a.Ended.IsZero() && p.Now.Sub(a.Ended) > p.Older
		if a.Adopter == "" && ownToken.MatchString(token) && (old || i < len(launches)-p.Keep) {
			visit(a, token)
		}
	}
}

// torn are the folders of checkpoints that launches moved aside long ago, since they were torn or
// belonged to other work. One that holds a replaced result, too, is listed with it; one that may
// hold files of others, which a person agreed to move, is not listed.
func (p Pruning) torn(wanted map[pile][]string, launches []state.Attempt, results []state.Replaced) {
	for i := range launches {
		a := &launches[i]
		token, _, _ := strings.Cut(a.Token, "/")
		folder := aside + token
		at := pile{a.Backend, a.Pool, "torn"}
		switch {
		case a.Adopter != "" || !ownToken.MatchString(token) || a.Ended.IsZero() || p.Now.Sub(a.Ended) <= p.Older:
		case slices.ContainsFunc(launches, func(b state.Attempt) bool { return strings.HasPrefix(b.Token, token) && p.Now.Sub(b.Ended) <= p.Older }):
		case slices.ContainsFunc(launches, func(b state.Attempt) bool { return path.Clean(b.Replaces) == folder }):
		case slices.ContainsFunc(results, func(r state.Replaced) bool { return path.Clean(r.Folder) == folder }):
		case !slices.Contains(wanted[at], folder):
			wanted[at] = append(wanted[at], folder)
		}
	}
}

// replaced are the folders of results that were replaced long ago.
func (p Pruning) replaced(wanted map[pile][]string, results []state.Replaced) {
	for _, r := range results {
		folder := path.Clean(r.Folder)
		last := r.Job.Last()
		if last == nil || !strings.HasPrefix(folder, aside) || p.Now.Sub(r.At) <= p.Older {
			continue
		}
		at := pile{last.Backend, last.Pool, "replaced"}
		if !slices.Contains(wanted[at], folder) {
			wanted[at] = append(wanted[at], folder)
		}
	}
}

// sized asks which of these paths are there, and how large they are.
func (b *Backends) sized(ctx context.Context, at pile, paths []string) (page.CleanItem, error) {
	files, name, err := b.files(ctx, at)
	item := page.CleanItem{Backend: at.backend, At: name, What: at.what}
	if err != nil {
		return item, err
	}
	for some := range slices.Chunk(paths, perCall) {
		for _, p := range some { // a folder is listed file by file
			found, err := files.List(ctx, name, []string{p})
			if err != nil {
				return item, err
			}
			n := len(found)
			for _, f := range found {
				if item.Bytes += f.Size; f.Dir {
					n--
				}
			}
			if item.Files += n; len(found) > 0 {
				item.Paths = append(item.Paths, p)
			}
		}
	}
	return item, nil
}

// files is where the files of a pile are read and removed, and under which name.
func (b *Backends) files(ctx context.Context, at pile) (providers.Files, string, error) {
	p, err := b.Reach(ctx, at.backend)
	if err != nil {
		return nil, "", err
	}
	conf, err := b.config(at.backend)
	if err != nil {
		return nil, "", err
	}
	if conf.Type == "ssh" && at.pool != "" && site.Gone(conf, at.pool) {
		return nil, "", fmt.Errorf("%s is no longer in hosts of backend.%s", at.pool, conf.Name)
	}
	pools, err := p.Pools(ctx, at.backend)
	if err != nil {
		return nil, "", err
	}
	return p, site.FilesystemOf(conf, pools, at.pool).Name(), nil
}

// Prune removes the files on a page, under the lease of a session.
func (b *Backends) Prune(ctx context.Context, c *page.Clean, fence uint64, holder string) {
	for i := range c.Items {
		item := &c.Items[i]
		p, err := b.Reach(ctx, item.Backend)
		for some := range slices.Chunk(item.Paths, perCall) {
			if err == nil {
				err = p.Remove(ctx, providers.RemoveRequest{Backend: item.At, Fence: fence, Holder: holder, Paths: some})
			}
		}
		if err != nil {
			c.Problem(item.Backend, providers.WithHint(err))
			continue
		}
		item.Removed = true
	}
}

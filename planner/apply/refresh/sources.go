package refresh

import (
	"context"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/providers"
)

// Sources are the source trees of a campaign.
type sources struct {
	*facts
	answers *answers
	trees   map[string]source.Tree // by lang.Source.Key, whole once done is closed
	done    chan struct{}
}

func newSources(f *facts, as *answers) *sources {
	return &sources{facts: f, answers: as, trees: map[string]source.Tree{}, done: make(chan struct{})}
}

// read digests every source tree of the campaign.
func (ss *sources) read(ctx context.Context) {
	defer close(ss.done)
	all := map[string]*lang.Source{}
	if s := ss.Campaign.Source; s != nil {
		all[s.Key()] = s
	}
	for _, p := range ss.Campaign.Phases {
		if p.Source != nil {
			all[p.Source.Key()] = p.Source
		}
	}
	for key, s := range all {
		if err := ss.reads(s.Dir, "read the source in"); err != nil {
			ss.answers.tell(diag.Diagnostic{Summary: "The source is outside the checkout", Detail: providers.WithHint(err), Subject: s.Range.Ptr()})
			continue
		}
		done := ss.announce("reading the source in " + s.Dir)
		spec := source.Of(ss.Campaign, s)
		spec.Cache = ss.Cache
		t, err := source.Read(ctx, spec)
		done()
		if err != nil {
			ss.answers.tell(diag.Diagnostic{Summary: "The source cannot be read", Detail: err.Error(), Subject: s.Range.Ptr()})
			continue
		}
		d := planner.SourceDigest{Digest: t.Digest, Files: len(t.Files), Bytes: t.Bytes, Locks: t.Locks()}
		d.Commit, d.Dirty = source.Commit(ctx, s.Dir)
		ss.answers.Lock()
		ss.answers.Observed.Sources[key], ss.trees[key] = d, t
		ss.versions(t, spec.Cache)
		wrong, ok := source.Missing(ss.Campaign, s)
		if len(t.Files) == 0 {
			wrong, ok = source.NoFiles(ss.Campaign, s), true
		}
		if ok {
			if ss.ranWith(t.Digest) { // by a version that only warned, or said nothing
				wrong.Severity = diag.Warning
			}
			ss.answers.Diags.Append(wrong)
		}
		ss.answers.Unlock()
	}
}

// versions notes the files of a source beside those of the versions that jobs ran with.
func (ss *sources) versions(now source.Tree, cache string) {
	if ss.State == nil {
		return
	}
	all := ss.answers.Observed.Versions
	for _, j := range ss.State.Jobs {
		if _, ok := all[j.Source]; ok || j.Source == "" || j.Source == now.Digest {
			continue
		}
		all[j.Source] = source.Version(cache, j.Source)
		all[now.Digest] = now.Listing()
	}
}

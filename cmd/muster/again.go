package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// A screen is what a plan showed in which nothing starts, with all that it
// followed from but for the jobs' files. Where that is the same again, and the
// files are as recorded, so is the plan, and it need not be made. Secrets and
// preconditions are not among it: they are asked for jobs that start.
type screen struct {
	Campaign  string          `json:"campaign"` // digest of the campaign, and of who plans it when
	State     string          `json:"state"`    // tells the state from all others
	Questions []expr.Question `json:"questions,omitempty"`
	Answers   string          `json:"answers"` // digest of what files told the campaign's functions
	Sources   []keptSource    `json:"sources,omitempty"`
	Style     string          `json:"style"` // of the text
	Text      string          `json:"text"`
	Markdown  string          `json:"markdown"`
	Plan      string          `json:"plan"` // id of the plan in the file beside it
	Sum       string          `json:"sum"`  // of all the others, against damage
}

// A keptSource is a source that a plan followed from; where it was committed
// is in plans for machines only.
type keptSource struct {
	source.Witness
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

func (s screen) sum() string {
	s.Sum = ""
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

func (a *app) cacheDir() string { return filepath.Join(a.dataDir(), "cache") }

func (a *app) screenFile() string { return filepath.Join(a.cacheDir(), "unchanged.json") }
func (a *app) keptPlan() string   { return filepath.Join(a.cacheDir(), "unchanged.mplan") }

// planAgain is the plan that was shown before, if it would be the same; nil
// if it has to be made.
func (a *app) planAgain(ctx context.Context, early earlyRead, p planFlags) *work {
	if !p.glance || early.path == "" {
		return nil
	}
	text, err := os.ReadFile(a.screenFile())
	if err != nil {
		return nil
	}
	var s screen
	if json.Unmarshal(text, &s) != nil || s.Sum != s.sum() {
		return nil
	}
	if _, key := a.campaignKey(p); key == "" || key != s.Campaign || p.text && s.Style != a.style() || !a.stands(ctx, s) {
		return nil
	}
	shown := &forms{text: s.Text, markdown: s.Markdown}
	if p.file {
		if shown.file = a.fileAgain(ctx, s); shown.file == nil {
			return nil
		}
	}
	seen := early.done().seen
	if seen == nil || seen.Of.Seal != s.State {
		return nil
	}
	return &work{plan: &planner.Plan{}, state: seen.State, shown: shown}
}

// fileAgain is the plan as it would be saved now.
func (a *app) fileAgain(ctx context.Context, s screen) *planfile.File {
	for _, k := range s.Sources {
		if commit, dirty := source.Commit(ctx, k.Dir); commit != k.Commit || dirty != k.Dirty {
			return nil
		}
	}
	f, err := planfile.Read(a.keptPlan())
	if err != nil || f.Head.ID != s.Plan {
		return nil
	}
	f.Restamp(a.now())
	return f
}

// foresee makes the plan that follows an apply, if it is that nothing starts,
// so that it is there when it is asked for.
func (a *app) foresee(ctx context.Context, c *lang.Campaign, s store.Store, v varFlags) {
	f, ok := s.(*file.Store)
	if !ok {
		return
	}
	p := planFlags{varFlags: v, refresh: true, glance: true}
	if seen := look(ctx, f, p.refresh); seen != nil {
		a.planStanding(ctx, c, seen, p) // which keeps it
	}
}

// stands reports whether the files that a screen followed from, other than
// those of jobs, are as they were.
func (a *app) stands(ctx context.Context, s screen) bool {
	told, err := expr.AskAgain(a.dir, s.Questions)
	if err != nil || told != s.Answers {
		return false
	}
	for _, k := range s.Sources {
		if !k.Holds(ctx, a.cacheDir()) {
			return false
		}
	}
	return true
}

// keep keeps for planAgain what a plan looks like that was made of a state.
// Without it the next plan is made.
func (a *app) keep(ctx context.Context, w *work, p planFlags, state string) {
	digest, key := a.campaignKey(p)
	if digest != w.campaign.Digest {
		return // it changed since it was loaded
	}
	s := screen{Campaign: key, State: state, Style: a.style(), Text: w.shown.text, Markdown: w.shown.markdown, Plan: w.plan.ID}
	var err error
	if s.Questions, s.Answers, err = w.campaign.Reads.Told(); err != nil {
		return
	}
	if s.Sources, err = a.keptSources(ctx, w); err != nil {
		return
	}
	s.Sum = s.sum()
	text, err := json.Marshal(s)
	if err != nil || os.MkdirAll(a.cacheDir(), 0o777) != nil || w.shown.file.Write(a.keptPlan()) != nil {
		return
	}
	path := a.screenFile()
	if os.WriteFile(path+".new", text, 0o600) == nil {
		_ = os.Rename(path+".new", path)
	}
}

// errMoved says that a source is not any more what a plan was made from.
var errMoved = errors.New("the source changed while the plan was made")

// keptSources are those that a plan was made from.
func (a *app) keptSources(ctx context.Context, w *work) (all []keptSource, err error) {
	seen := map[string]bool{}
	for _, p := range w.campaign.Phases {
		key := p.Source.Key()
		if key == "" || seen[key] {
			continue
		}
		seen[key] = true
		spec, was := source.Of(w.campaign, p.Source), w.input.Observed.Sources[key]
		spec.Cache = a.cacheDir()
		is, err := source.Attest(ctx, spec)
		if err != nil {
			return nil, err
		}
		if is.Digest != was.Digest {
			return nil, errMoved
		}
		all = append(all, keptSource{is, was.Commit, was.Dirty})
	}
	return all, nil
}

// campaignKey is a digest of all that decides what the campaign is, and of who
// plans it when, but for the files that it reads, and the campaign's own; ""
// where something else decides, too.
func (a *app) campaignKey(p planFlags) (digest, key string) {
	digest, decides := lang.Digest(a.loadOptions(p.varFlags, false))
	exe, err := os.Executable()
	if err != nil || !decides {
		return "", ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", ""
	}
	home, _ := os.UserHomeDir()
	day := a.now().Format("2006-01-02 -0700") // facts go stale, from one day to the next
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s %d %d\n%s\n%s\n%s\n%t", digest, exe, info.Size(), info.ModTime().UnixNano(), day, a.dir, home, p.refresh))
	return digest, hex.EncodeToString(h[:])
}

// style is how text is shown, and to whom.
func (a *app) style() string { return fmt.Sprintf("%+v", a.out) }

// closed reports whether all that a plan in which nothing starts follows from
// is known: no backend is another program's.
func closed(c *lang.Campaign) bool {
	for _, b := range c.Backends {
		if !plugins.IsBuiltin(b.Type) {
			return false
		}
	}
	return true
}

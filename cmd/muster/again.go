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

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// A screen is what a plan showed in which nothing was to do, with all that it
// followed from but for the jobs' files. Where that is the same again, and the
// files are as recorded, so is the plan, and it need not be made. Secrets and
// preconditions are not among it: they are asked for jobs that start.
type screen struct {
	Campaign  string           `json:"campaign"` // digest of the campaign, who reads it, and how it is shown
	State     string           `json:"state"`    // tells the state from all others
	Questions []expr.Question  `json:"questions,omitempty"`
	Answers   string           `json:"answers"` // digest of what files told the campaign's functions
	Sources   []source.Witness `json:"sources,omitempty"`
	Text      string           `json:"text"`
	Sum       string           `json:"sum"` // of all the others, against damage
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
	if _, key := a.campaignKey(p); key == "" || key != s.Campaign || !a.stands(ctx, s) {
		return nil
	}
	seen := early.done().seen
	if seen == nil || seen.Of.Seal != s.State {
		return nil
	}
	return &work{plan: &planner.Plan{}, state: seen.State, screen: s.Text}
}

// foresee makes the plan that follows an apply, if it is that nothing is to do,
// so that it is there when it is asked for.
func (a *app) foresee(ctx context.Context, c *lang.Campaign, s store.Store, v varFlags) {
	f, ok := s.(*file.Store)
	if !ok {
		return
	}
	p := planFlags{varFlags: v, refresh: true, glance: true}
	seen := look(ctx, f, p.refresh)
	if seen == nil {
		return
	}
	if w := a.planStanding(ctx, c, seen, p); w != nil && w.keep != nil {
		if text, err := a.screenOf(w.plan, false); err == nil {
			a.keepScreen(ctx, w, text)
		}
	}
}

// stands reports whether the files that a screen followed from, other than
// those of jobs, are as they were.
func (a *app) stands(ctx context.Context, s screen) bool {
	told, err := expr.AskAgain(a.dir, s.Questions)
	if err != nil || told != s.Answers {
		return false
	}
	for _, w := range s.Sources {
		if !w.Holds(ctx, a.cacheDir()) {
			return false
		}
	}
	return true
}

// keepScreen keeps what a plan showed for planAgain. Without it the next plan
// is made.
func (a *app) keepScreen(ctx context.Context, w *work, shown string) {
	s := *w.keep
	s.Text = shown
	var err error
	if s.Questions, s.Answers, err = w.campaign.Reads.Told(); err != nil {
		return
	}
	if s.Sources, err = a.witnesses(ctx, w); err != nil {
		return
	}
	s.Sum = s.sum()
	text, err := json.Marshal(s)
	path := a.screenFile()
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	if os.WriteFile(path+".new", text, 0o600) == nil {
		_ = os.Rename(path+".new", path)
	}
}

// errMoved says that a source is not any more what a plan was made from.
var errMoved = errors.New("the source changed while the plan was made")

// witnesses are of the sources that a plan was made from.
func (a *app) witnesses(ctx context.Context, w *work) (all []source.Witness, err error) {
	seen := map[string]bool{}
	for _, p := range w.campaign.Phases {
		key := p.Source.Key()
		if key == "" || seen[key] {
			continue
		}
		seen[key] = true
		spec := source.Of(w.campaign, p.Source)
		spec.Cache = a.cacheDir()
		is, err := source.Attest(ctx, spec)
		if err != nil {
			return nil, err
		}
		if is.Digest != w.input.Observed.Sources[key].Digest {
			return nil, errMoved
		}
		all = append(all, is)
	}
	return all, nil
}

// campaignKey is a digest of all that decides what the campaign is, and how it
// is shown, but for the files that it reads, and the campaign's own; "" where
// something else decides, too.
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
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s %d %d\n%s\n%s\n%s\n%+v %t", digest, exe, info.Size(), info.ModTime().UnixNano(), day, a.dir, home, a.out, p.refresh))
	return digest, hex.EncodeToString(h[:])
}

// closed reports whether all that a plan in which nothing starts follows from
// is known: no backend is another program's.
func closed(c *lang.Campaign) bool {
	for _, b := range c.Backends {
		if _, ours := builtins[b.Type]; !ours {
			return false
		}
	}
	return true
}

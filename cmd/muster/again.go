package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// A screen is what a plan showed in which nothing was to do, with all that it
// followed from but for the jobs' files. Where that is the same again, and the
// files are as recorded, so is the plan, and it need not be made.
type screen struct {
	Campaign string `json:"campaign"` // digest of the campaign, who reads it, and how it is shown
	State    string `json:"state"`    // tells the state from all others
	Text     string `json:"text"`
	Sum      string `json:"sum"` // of the three, against damage
}

func (s screen) sum() string {
	h := sha256.Sum256([]byte(s.Campaign + "\x00" + s.State + "\x00" + s.Text))
	return hex.EncodeToString(h[:])
}

func (a *app) screenFile() string { return filepath.Join(a.dataDir(), "cache", "unchanged.json") }

// planAgain is the plan that was shown before, if it would be the same; nil
// if it has to be made.
func (a *app) planAgain(early earlyRead, p planFlags) *work {
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
	if _, key := a.campaignKey(p); key == "" || key != s.Campaign {
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
			w.keep.Text = text
			a.keepScreen(*w.keep)
		}
	}
}

// keepScreen keeps a screen for planAgain. Without it the next plan is made.
func (a *app) keepScreen(s screen) {
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

// campaignKey is a digest of all that decides what the campaign is, and how it
// is shown, and the campaign's own; "" where something else decides, too, such
// as files that it reads.
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
	day := a.now().Format("2006-01-02 -0700") // facts go stale, from one day to the next
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s %d %d\n%s\n%s\n%+v %t", digest, exe, info.Size(), info.ModTime().UnixNano(), day, a.dir, a.out, p.refresh))
	return digest, hex.EncodeToString(h[:])
}

// closed reports whether a campaign says all that a plan of it follows from:
// it names no code, secrets, files or programs that may be others the next
// time.
func closed(c *lang.Campaign) bool {
	if c.Source != nil || len(c.RequiredProviders)+len(c.Imports) > 0 {
		return false
	}
	for _, b := range c.Backends {
		if _, ours := builtins[b.Type]; !ours {
			return false
		}
	}
	for _, p := range c.Phases {
		if p.Source != nil || len(p.Secrets)+len(p.Preconditions) > 0 {
			return false
		}
	}
	return true
}

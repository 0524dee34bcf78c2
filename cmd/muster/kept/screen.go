package kept

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/planfile"
	"github.com/muster-run/muster/state"
)

// A screen is what a plan showed in which nothing starts, with all that it
// followed from but for the jobs' files. Where that is the same again, and the
// files are as recorded, so is the plan, and it need not be made. Secrets and
// preconditions are not among it: they are asked for jobs that start.
type screen struct {
	Campaign  string          `json:"campaign"` // digest of the campaign, and of who plans it when
	State     string          `json:"state"`    // tells the state from all others
	Questions []disk.Question `json:"questions,omitempty"`
	Answers   string          `json:"answers"` // digest of what files told the campaign's functions
	Sources   []keptSource    `json:"sources,omitempty"`
	Style     string          `json:"style"` // of the text
	Text      string          `json:"text"`
	Markdown  string          `json:"markdown"`
	Plan      string          `json:"plan"` // id of the plan in the file beside it
	Sum       string          `json:"sum"`  // of all the others under this user's key, against damage and forgery
}

// A keptSource is a source that a plan followed from; where it was committed
// is in plans for machines only.
type keptSource struct {
	source.Witness
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
}

func (s screen) sum(key []byte) string {
	s.Sum = ""
	text, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

func (q Asked) screenFile() string { return filepath.Join(q.Cache, "unchanged.json") }
func (q Asked) planFile() string   { return filepath.Join(q.Cache, "unchanged.mplan") }

// Again is the plan that was shown before, and the state that it is of, if it
// would be the same; nil if it has to be made. Text and file say in which forms
// it is wanted.
func (q Asked) Again(ctx context.Context, early Early, text, file bool) (*Forms, *state.State) {
	mine := q.own(false)
	if early.Path == "" || mine == nil {
		return nil, nil
	}
	kept, err := os.ReadFile(q.screenFile())
	if err != nil {
		return nil, nil
	}
	var s screen
	if json.Unmarshal(kept, &s) != nil || s.Sum != s.sum(mine) {
		return nil, nil
	}
	if _, key := q.key(); key == "" || key != s.Campaign || text && s.Style != q.style() || !q.stands(ctx, s) {
		return nil, nil
	}
	shown := &Forms{Text: s.Text, Markdown: s.Markdown}
	if file {
		if shown.File = q.fileAgain(ctx, s); shown.File == nil {
			return nil, nil
		}
	}
	seen := early.done().seen
	if seen == nil || seen.Of.Seal != s.State {
		return nil, nil
	}
	return shown, seen.State
}

// fileAgain is the plan as it would be saved now.
func (q Asked) fileAgain(ctx context.Context, s screen) *planfile.File {
	for _, k := range s.Sources {
		if commit, dirty := source.Commit(ctx, k.Dir); commit != k.Commit || dirty != k.Dirty {
			return nil
		}
	}
	f, err := planfile.Read(q.planFile())
	if err != nil || f.Head.ID != s.Plan {
		return nil
	}
	f.Restamp(q.Now)
	return f
}

// stands reports whether the files that a screen followed from, other than
// those of jobs, are as they were.
func (q Asked) stands(ctx context.Context, s screen) bool {
	told, err := disk.AskAgain(disk.Disk{Base: q.Load.Dir, Roots: disk.Roots(q.Load.Environ)}, s.Questions)
	if err != nil || told != s.Answers {
		return false
	}
	for _, k := range s.Sources {
		if !k.Holds(ctx, q.Cache) {
			return false
		}
	}
	return true
}

// keep keeps for Again what a plan looks like that was made of a state.
// Without it the next plan is made.
func (q Asked) keep(ctx context.Context, s *Standing, c *lang.Campaign, state string) {
	digest, key := q.key()
	mine := q.own(true)
	if mine == nil || digest != c.Digest {
		return // it changed since it was loaded
	}
	k := screen{Campaign: key, State: state, Style: q.style(), Text: s.Forms.Text, Markdown: s.Forms.Markdown, Plan: s.Plan.ID}
	var err error
	if k.Questions, k.Answers, err = c.Reads.Told(); err != nil {
		return
	}
	if k.Sources, err = q.sources(ctx, c, s.Input.Observed.Sources); err != nil {
		return
	}
	k.Sum = k.sum(mine)
	text, err := json.Marshal(k)
	if err != nil || os.MkdirAll(q.Cache, 0o777) != nil || s.Forms.File.Write(q.planFile()) != nil {
		return
	}
	path := q.screenFile()
	if os.WriteFile(path+".new", text, 0o600) == nil {
		_ = os.Rename(path+".new", path)
	}
}

// errMoved says that a source is not any more what a plan was made from.
var errMoved = errors.New("the source changed while the plan was made")

// sources are those that a plan was made from.
func (q Asked) sources(ctx context.Context, c *lang.Campaign, made map[string]planner.SourceDigest) (all []keptSource, err error) {
	seen := map[string]bool{}
	for _, p := range c.Phases {
		key := p.Source.Key()
		if key == "" || seen[key] {
			continue
		}
		seen[key] = true
		spec, was := source.Of(c, p.Source), made[key]
		spec.Cache = q.Cache
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

// key is a digest of all that decides what the campaign is, and of who
// plans it when, but for the files that it reads, and the campaign's own; ""
// where something else decides, too.
func (q Asked) key() (digest, key string) {
	digest, decides := lang.Digest(q.Load)
	exe, err := os.Executable()
	if err != nil || !decides {
		return "", ""
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", ""
	}
	home, _ := os.UserHomeDir()
	day := q.Now.Format("2006-01-02 -0700") // facts go stale, from one day to the next
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s %d %d\n%s\n%s\n%s\n%t", digest, exe, info.Size(), info.ModTime().UnixNano(), day, q.Load.Dir, home, q.Refresh))
	return digest, hex.EncodeToString(h[:])
}

// own is this user's key, nil where there is none.
func (q Asked) own(make bool) []byte {
	if q.Key == nil {
		return nil
	}
	return q.Key(make)
}

// style is how text is shown, and to whom.
func (q Asked) style() string { return fmt.Sprintf("%+v", q.Style) }

// closed reports whether all that a plan in which nothing starts follows from
// is known, and stays so as time goes by: no backend is another program's, and no
// machine is told of whose days are counted.
func closed(c *lang.Campaign) bool {
	for _, b := range c.Backends {
		if !plugins.IsBuiltin(b.Type) || len(b.Rented) > 0 {
			return false
		}
	}
	return true
}

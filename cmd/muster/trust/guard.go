package trust

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Env is the variable by which a user allows all items for one command: "1".
const Env = "MUSTER_TRUST"

// A Guard decides for one command. It is a launch.Gate. Any goroutine may use it.
type Guard struct {
	Hide func(string) string // takes sensitive values out of messages; nil hides nothing

	roots []string // folders of which everything may be read
	all   bool     // everything is allowed, and nothing remembered

	mu      sync.Mutex
	store   store
	broken  error // why nothing can be remembered
	key     []byte
	trusted map[string]bool
	granted map[string]bool // by content: allowed for this command
	accept  bool            // new items are granted, and noted
	met     []Item          // granted in passing
	left    []Item          // refused
	seen    map[string]bool // by content: in left or met
}

// New is a guard for a campaign in a folder, with the variables of this user.
// Whatever is wrong with the store, the guard works: then nothing is trusted.
func New(dir string, getenv func(string) string) *Guard {
	roots := append([]string{dir, Checkout(dir, getenv("HOME"))}, disk.Roots([]string{disk.RootsEnv + "=" + getenv(disk.RootsEnv)})...)
	g := &Guard{roots: roots, all: getenv(Env) == "1", granted: map[string]bool{}, seen: map[string]bool{}}
	if g.store, g.broken = openStore(getenv); g.broken != nil {
		return g
	}
	g.reload()
	return g
}

func (g *Guard) reload() {
	if g.key, g.broken = g.store.secret(); g.broken == nil && g.key != nil {
		g.trusted, g.broken = g.store.load()
	}
}

// Problem is why nothing can be read from the store or remembered; nil if it can.
func (g *Guard) Problem() error { return g.broken }

// Checkout is the work tree of git around a folder, or the folder. A home that is kept in git
// is no checkout of the folders below it.
func Checkout(dir, home string) string {
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil && !within(at, filepath.Clean(home)) {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			return dir
		}
		at = up
	}
}

// Allows reports whether an item is allowed, and notes it where it is not.
func (g *Guard) Allows(it Item) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.knows(it) {
		return true
	}
	if g.seen[it.content] {
		return g.accept
	}
	g.seen[it.content] = true
	if g.Hide != nil {
		it.What = g.Hide(it.What)
	}
	if g.accept {
		g.met, g.granted[it.content] = append(g.met, it), true
		return true
	}
	g.left = append(g.left, it)
	return false
}

func (g *Guard) knows(it Item) bool {
	return g.all || g.granted[it.content] || g.key != nil && g.trusted[digest(g.key, it)]
}

// Left are the items refused since the last Trust, in the order of lists.
func (g *Guard) Left() []Item {
	g.mu.Lock()
	defer g.mu.Unlock()
	return ordered(g.left)
}

func ordered(items []Item) []Item {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Item) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
	return out
}

// Trust grants items for this command and remembers them. An error says that they
// could not be remembered; they are granted all the same.
func (g *Guard) Trust(items []Item, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, it := range items {
		g.granted[it.content] = true
		delete(g.seen, it.content)
	}
	g.left = slices.DeleteFunc(g.left, func(it Item) bool { return g.granted[it.content] })
	if g.broken != nil {
		return g.broken
	}
	if len(items) == 0 || g.all {
		return nil
	}
	return g.store.add(items, now)
}

// Accept grants new items from now on, for a user who has approved beforehand.
func (g *Guard) Accept() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accept = true
}

// Met are the items granted since Accept, in the order of lists; it forgets them.
func (g *Guard) Met() []Item {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := ordered(g.met)
	g.met = nil
	return out
}

// Grant allows everything for the rest of this command and remembers nothing: its
// plan was approved.
func (g *Guard) Grant() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = true
}

// fewLeftOut is up to how many refused items LeftOut names.
const fewLeftOut = 3

// LeftOut returns one line for refused items: it counts them, names them if they are few, and
// says how to allow them.
func LeftOut(items []Item) string {
	text := "Left out: " + Summary(items) + ", not trusted yet"
	for i, it := range items {
		switch {
		case len(items) > fewLeftOut:
		case i == 0:
			text += ": " + it.What
		default:
			text += "; " + it.What
		}
	}
	return text + ". `muster apply` shows and asks; " + Env + "=1 allows them once."
}

func withheld(it Item) error {
	return &providers.Error{Class: providers.Withheld, Summary: "it is not trusted yet", Detail: it.What, Hint: "`muster apply` shows and asks; " + Env + "=1 allows it for one command"}
}

// Start implements launch.Gate.
func (g *Guard) Start(typ, path, digest string) error {
	if it := ofProvider(typ, path, digest); !g.Allows(it) {
		return withheld(it)
	}
	return nil
}

// Search implements launch.Gate.
func (g *Guard) Search(dir string) error { return g.Data(dir) }

// Reach implements launch.Gate.
func (g *Guard) Reach(b providers.Backend) error {
	if it, connects := ofEndpoint(b); connects && !g.Allows(it) {
		return withheld(it)
	}
	return nil
}

// Checks implements launch.Gate.
func (g *Guard) Checks(b providers.Backend, checks []providers.Check) []providers.Check {
	out := slices.Clone(checks)
	for i, c := range out {
		if len(c.Setup) > 0 && !g.Allows(ofSetup(b, c)) {
			out[i].Setup = nil
		}
	}
	return out
}

// Verify implements launch.Gate.
func (g *Guard) Verify(b providers.Backend, r providers.VerifyRequest) (providers.VerifyRequest, error) {
	if !r.Open {
		return r, nil
	}
	if b.Type == "local" {
		f := follower{g: g, workdir: filepath.Clean(r.Workdir), inside: map[string]bool{}}
		var refused error
		for _, o := range r.Outputs {
			_ = verify.Opens(r.Workdir, o, func(path string) error {
				folder := f.outside(path)
				if folder == "" {
					return nil
				}
				err := g.Reads(folder, "backend."+b.Name+": read outputs in")
				refused = cmp.Or(refused, err) // the others are noted, too
				return err
			})
		}
		if refused != nil {
			return r, refused
		}
	}
	r.Outputs = slices.Clone(r.Outputs)
	for i, o := range r.Outputs {
		r.Outputs[i].Verify = slices.DeleteFunc(slices.Clone(o.Verify), func(c providers.VerifyCheck) bool {
			return c.Command != "" && !g.Allows(ofCheck(b, r.Workdir, c.Command))
		})
	}
	return r, nil
}

// Inside reports whether a path is in the checkout or in a folder of
// MUSTER_FILE_ROOTS.
func (g *Guard) Inside(path string) bool {
	_, _, err := disk.Locate(path, g.roots)
	outside := (*disk.OutsideError)(nil)
	return !errors.As(err, &outside)
}

// LeadsOut reports whether a file of the checkout is a link that leads out of it.
func (g *Guard) LeadsOut(path string) bool {
	return !g.Inside(path) && g.Inside(filepath.Dir(path))
}

// Reads is nil where files of a folder may be read: in the checkout, in a folder
// of MUSTER_FILE_ROOTS, or in one that is trusted. What says what for; "" only asks.
func (g *Guard) Reads(dir, what string) error {
	if g.Inside(dir) {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // a link that leads elsewhere tomorrow is another folder
	}
	it := ofFolder(dir, what)
	if what == "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.knows(it) {
			return nil
		}
		return withheld(it)
	}
	if !g.Allows(it) {
		return withheld(it)
	}
	return nil
}

// Data is nil where muster may keep or read files of its own in the campaign's
// folder: no link on the way leads out of the checkout, or the link is trusted. A
// path elsewhere is the user's choice.
func (g *Guard) Data(path string) error {
	rel, err := filepath.Rel(g.roots[0], path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	at := g.roots[0]
	for name := range strings.SplitSeq(rel, string(filepath.Separator)) {
		at = filepath.Join(at, name)
		target, err := os.Readlink(at)
		if err != nil {
			continue // no link
		}
		if _, _, err := disk.Locate(at, g.roots); err == nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(at); err == nil {
			target = real
		}
		if it := ofLink(at[len(g.roots[0])+1:], target); !g.Allows(it) {
			return withheld(it)
		}
		return nil
	}
	return nil
}

// State is nil where a state may be read: in the checkout, in a folder of
// MUSTER_FILE_ROOTS, or where that is trusted. Where nothing is, nothing is read;
// to write there is another question.
func (g *Guard) State(path string, write bool) error {
	if g.Inside(path) {
		return nil
	}
	if _, err := os.Lstat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) && !write {
		return nil
	}
	if it := ofStore(path); !g.Allows(it) {
		return withheld(it)
	}
	return nil
}

// Folder is where this user's trusted items are kept; "" where nothing can be kept.
func (g *Guard) Folder() string { return g.store.dir }

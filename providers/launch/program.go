package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
)

// NamePrefix begins the file name of every external provider.
const NamePrefix = "muster-provider-"

// A type's name becomes part of a file name, so it is kept plain.
var plainName = lazyregexp.New(`^[a-z][a-z0-9_-]{0,62}$`)

// A Program is the executable for a type.
type Program struct {
	Type   string
	Path   string
	Args   []string
	Source string // "built-in", "dev", or the place it was found in
	Pinned bool   // must agree with the lock file
}

// String is the program as people would run it.
func (p Program) String() string { return strings.Join(append([]string{p.name()}, p.Args...), " ") }

// name is the name in ps.
func (p Program) name() string {
	if p.Source == "built-in" && p.Path == kernel.Self {
		if path, err := os.Executable(); err == nil {
			return path
		}
	}
	return p.Path
}

// searchFolder is a folder that is searched, and its name for people.
type searchFolder struct{ dir, name string }

// programs finds programs. The order is the promise: built-in,
// MUSTER_PLUGIN_DIR, the campaign's .muster/providers, the user's data
// folder, PATH. Development programs come before all of them.
type programs struct {
	builtin []string
	self    string
	dev     map[string]string
	places  []searchFolder
}

func newPrograms(o Options) programs {
	p := programs{builtin: o.Builtin, self: o.Self, dev: o.Dev}
	if p.self == "" {
		p.self = kernel.Self
	}
	add := func(dir, name string) {
		if dir != "" {
			p.places = append(p.places, searchFolder{dir, name})
		}
	}
	plugins := o.PluginDir
	if plugins == "" {
		plugins = lookup(o.Environ, "MUSTER_PLUGIN_DIR")
	}
	add(plugins, "MUSTER_PLUGIN_DIR")
	if own := filepath.Join(o.Dir, ".muster", "providers"); o.Gate == nil || o.Gate.Search(own) == nil {
		add(own, ".muster/providers")
	}
	data := lookup(o.Environ, "XDG_DATA_HOME")
	if home := lookup(o.Environ, "HOME"); data == "" && home != "" {
		data = filepath.Join(home, ".local", "share")
	}
	if data != "" {
		add(filepath.Join(data, "muster", "providers"), "data folder")
	}
	for _, dir := range filepath.SplitList(lookup(o.Environ, "PATH")) {
		if filepath.IsAbs(dir) { // a relative entry means something else in every folder
			add(dir, "PATH")
		}
	}
	return p
}

// lookup returns the last value of a variable, as the kernel's list has it.
func lookup(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// find returns the program of a type.
func (p programs) find(typ string) (Program, error) {
	if !plainName.MatchString(typ) {
		return Program{}, &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("%q cannot be the name of a provider", typ),
			Detail: "A name has lower-case letters, digits, - and _, and begins with a letter.",
		}
	}
	if path := p.dev[typ]; path != "" {
		return Program{Type: typ, Path: path, Source: "dev"}, nil
	}
	if slices.Contains(p.builtin, typ) {
		self := p.self
		if self == "" {
			var err error
			if self, err = os.Executable(); err != nil {
				return Program{}, fmt.Errorf("find muster's own program: %w", err)
			}
		}
		return Program{Type: typ, Path: self, Args: []string{"provider", "serve", typ}, Source: "built-in"}, nil
	}
	for _, place := range p.places {
		path := filepath.Join(place.dir, NamePrefix+typ)
		if executable(path) {
			if abs, err := filepath.Abs(path); err == nil {
				path = abs
			}
			return Program{Type: typ, Path: path, Source: place.name, Pinned: true}, nil
		}
	}
	return Program{}, p.notFound(typ)
}

func (p programs) notFound(typ string) error {
	var where []string
	for _, place := range p.places {
		if place.name == "PATH" {
			where = append(where, "PATH")
			break
		}
		where = append(where, place.dir)
	}
	detail := fmt.Sprintf("It is not built in (%s), and there is no program %s%s in %s.",
		strings.Join(p.builtin, ", "), NamePrefix, typ, strings.Join(where, ", "))
	if len(p.builtin) == 0 {
		detail = fmt.Sprintf("There is no program %s%s in %s.", NamePrefix, typ, strings.Join(where, ", "))
	}
	return &providers.Error{
		Class: providers.NotFound, Summary: fmt.Sprintf("There is no provider for backends of type %q", typ), Detail: detail,
		Hint: "Check the spelling, or put the program into .muster/providers beside the campaign and run: muster init",
	}
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// Discover lists every external provider, sorted by type; of two with one name, the one that
// muster would use.
func (l *Launcher) Discover() []Program {
	seen := map[string]bool{}
	var out []Program
	for typ, path := range l.opts.Dev {
		seen[typ] = true
		out = append(out, Program{Type: typ, Path: path, Source: "dev"})
	}
	for _, place := range l.program.places {
		matches, _ := filepath.Glob(filepath.Join(escapeGlob(place.dir), NamePrefix+"*"))
		for _, path := range matches {
			typ := strings.TrimPrefix(filepath.Base(path), NamePrefix)
			if seen[typ] || slices.Contains(l.opts.Builtin, typ) || !plainName.MatchString(typ) || !executable(path) {
				continue
			}
			seen[typ] = true
			out = append(out, Program{Type: typ, Path: path, Source: place.name, Pinned: true})
		}
	}
	slices.SortFunc(out, func(a, b Program) int { return strings.Compare(a.Type, b.Type) })
	return out
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func escapeGlob(dir string) string { return globMeta.Replace(dir) }

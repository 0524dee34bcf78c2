package trust

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// A Kind is the action that an item allows a campaign.
type Kind string

// The kinds, as the store and messages name them.
const (
	Provider Kind = "provider" // start a program that is not muster's
	Host     Kind = "host"     // connect to a host with an identity
	Backend  Kind = "backend"  // reach another service: a scheduler, or one of an external provider
	Setup    Kind = "setup"    // run a text of setup before a job does
	Check    Kind = "check"    // run a command of verify to look at a file again
	Command  Kind = "command"  // run a command of a precondition on this machine
	Secret   Kind = "secret"   // run the command that prints a secret, or read it
	Link     Kind = "link"     // keep files of muster's outside the checkout, where a link leads
	Folder   Kind = "folder"   // read files of a folder outside the checkout
	Store    Kind = "store"    // read and write a state outside the campaign's folder
)

// kinds is their order in lists.
var kinds = []Kind{Provider, Host, Backend, Store, Link, Folder, Command, Setup, Check, Secret}

// An Item is one thing that a campaign would do and that this user must have
// allowed. Items are equal by content: the same text in another campaign is the
// same item, and a changed one is another.
type Item struct {
	Kind    Kind
	What    string // one line for people, clean of control characters
	content string // the exact text of the item; it may hold secrets and is stored as a keyed digest
	count   int    // of Kind in sentences; 0 = 1
}

// mostShown bounds the text of one item in a list, in runes.
const mostShown = 160

func item(k Kind, what string, content ...string) Item {
	return Item{Kind: k, What: term.Fit(term.CleanLine(what), mostShown), content: fmt.Sprintf("%s %q", k, content)}
}

// ofProvider is a program that is not muster's, by "sha256:…" of its file.
func ofProvider(typ, path, digest string) Item {
	return item(Provider, fmt.Sprintf("%s: start %s (%s)", typ, path, digest[:min(len(digest), 19)]+"…"), typ, digest)
}

// tuning are settings of built-in backends that neither choose where to connect
// nor as whom, nor where something is written there.
var tuning = []string{"cpus", "memory", "slots", "gpus", "gpu_free_max", "shared_fs", "partitions", "exclude_partitions", "submissions_per_minute"}

// ofEndpoint is where a backend is and the identity used there: all its own
// settings but those that only tune it, and its profile where that is a file. ok
// is false for a backend of this machine, which connects to nothing.
func ofEndpoint(b providers.Backend) (it Item, ok bool) {
	if b.Type == "local" || b.Type == "sim" {
		return Item{}, false
	}
	var settings map[string]json.RawMessage
	content := string(b.Config)
	if json.Unmarshal(b.Config, &settings) == nil {
		if plugins.IsBuiltin(b.Type) {
			for _, name := range tuning {
				delete(settings, name)
			}
		}
		if text, err := json.Marshal(settings); err == nil { // sorted by name
			content = string(text)
		}
	}
	hosts, who := connection(settings)
	if len(hosts) == 0 {
		whose, program := ownKey(settings)
		parts := append([]string{b.Type, content, b.ProfileSource}, named(b.Dir, "", program)...)
		return item(Backend, "backend."+b.Name+": ask it what it has"+ownPrograms(settings)+whose, parts...), true
	}
	it = item(Host, fmt.Sprintf("backend.%s: connect to %s%s%s", b.Name, strings.Join(hosts, ", "), who, ownPrograms(settings)), b.Type, content, b.ProfileSource)
	it.count = len(hosts)
	return it, true
}

// ownPrograms are the programs that settings name in place of a scheduler's.
func ownPrograms(settings map[string]json.RawMessage) string {
	var own map[string]string
	if json.Unmarshal(settings["commands"], &own) != nil || len(own) == 0 {
		return ""
	}
	return ", by " + strings.Join(slices.Sorted(maps.Values(own)), ", ")
}

// ownKey says which API key the settings of a rental choose, and the program that prints it.
func ownKey(settings map[string]json.RawMessage) (whose, program string) {
	var file string
	var command []string
	if json.Unmarshal(settings["api_key_file"], &file) == nil && file != "" {
		whose = ", with the API key in " + file
	}
	if json.Unmarshal(settings["api_key_command"], &command) == nil && len(command) > 0 {
		program = strings.Join(command, " ")
		whose += ", with the API key that is printed by " + program
	}
	return whose, program
}

// connection is the hosts that settings name, directly or in an ssh block, and as
// whom they are reached.
func connection(settings map[string]json.RawMessage) (hosts []string, who string) {
	text, err := json.Marshal(settings)
	if inner, ok := settings["ssh"]; ok {
		text = inner
	}
	var c struct {
		Host         string   `json:"host"`
		Hosts        []string `json:"hosts"`
		User         string   `json:"user"`
		IdentityFile string   `json:"identity_file"`
	}
	if err != nil || json.Unmarshal(text, &c) != nil {
		return nil, ""
	}
	if hosts = c.Hosts; c.Host != "" {
		hosts = append([]string{c.Host}, hosts...)
	}
	if c.User != "" {
		who += " as " + c.User
	}
	if c.IdentityFile != "" {
		who += " with " + c.IdentityFile
	}
	return hosts, who
}

// ofSetup is the setup of a check where it would run, with the variables that may change its
// effect. On this machine the files of the checkout that it names are part of it.
func ofSetup(b providers.Backend, c providers.Check) Item {
	env := maps.Clone(b.Env)
	if env == nil {
		env = map[string]string{}
	}
	for _, e := range c.SetupEnv() {
		env[e.Name] = e.Value
	}
	for _, e := range c.Env {
		if steers(e.Name) {
			env[e.Name] = e.Value
		}
	}
	content := slices.Clone(c.Setup)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		content = append(content, name+"="+env[name])
	}
	if b.Type == "local" {
		content = append(content, named(b.Dir, c.Workdir, strings.Join(c.Setup, "\n"))...)
	}
	return item(Setup, strings.Join(c.Setup, "; "), content...)
}

// steering are prefixes of variables by which a shell, the loader or an interpreter chooses
// what to run.
var steering = []string{"PATH", "LD_", "DYLD_", "ENV", "BASH_", "IFS", "SHELLOPTS", "PYTHON", "PERL", "RUBY", "NODE_", "GIT_", "JAVA_", "MODULE"}

func steers(name string) bool {
	return slices.ContainsFunc(steering, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// ofCheck is a command that verifies an output in place.
func ofCheck(b providers.Backend, workdir, command string) Item {
	content := []string{command}
	if b.Type == "local" {
		content = append(content, named(b.Dir, workdir, command)...)
	}
	return item(Check, command, content...)
}

// OfCommand is a command that runs on this machine, in a campaign's folder, before
// jobs start; the files of the checkout that it names are part of it.
func OfCommand(dir, command string) Item {
	return item(Command, command, append([]string{command}, named(dir, dir, command)...)...)
}

// OfSecret is where a secret comes from.
func OfSecret(s lang.Secret) Item {
	switch {
	case len(s.Command) > 0:
		return item(Secret, s.Name+": run "+strings.Join(s.Command, " ")+" when jobs are submitted", append([]string{"command"}, s.Command...)...)
	case s.File != "":
		return item(Secret, s.Name+": read "+s.File+" when jobs are submitted", "file", s.File)
	}
	return item(Secret, s.Name+": read the variable "+s.Env+" when jobs are submitted", "env", s.Env)
}

// ofFolder is a folder outside the checkout that the campaign reads.
func ofFolder(dir, what string) Item {
	return item(Folder, what+": "+dir, filepath.Clean(dir))
}

// ofStore is a state outside the campaign's folder.
func ofStore(path string) Item {
	return item(Store, "state: "+path, filepath.Clean(path))
}

// ofLink is a link of the campaign's folder that leads muster's own files elsewhere.
func ofLink(name, target string) Item {
	return item(Link, name+" leads to "+target+", where muster would keep files", name, target)
}

// Summary counts items by kind: "2 hosts, 1 setup".
func Summary(items []Item) string {
	n := map[Kind]int{}
	for _, it := range items {
		n[it.Kind] += max(it.count, 1)
	}
	var out []string
	for _, k := range kinds {
		switch {
		case n[k] == 1:
			out = append(out, "1 "+string(k))
		case n[k] > 1:
			out = append(out, fmt.Sprintf("%d %ss", n[k], k))
		}
	}
	return strings.Join(out, ", ")
}

// mostListed is how many items of a kind a list shows.
const mostListed = 20

// List is the items as a block of lines, indented, by kind.
func List(items []Item) string {
	var b strings.Builder
	for _, k := range kinds {
		shown := 0
		for _, it := range items {
			if it.Kind != k {
				continue
			}
			if shown++; shown <= mostListed {
				fmt.Fprintf(&b, "  %-9s %s\n", k, it.What)
			}
		}
		if shown > mostListed {
			fmt.Fprintf(&b, "  %-9s and %d more\n", k, shown-mostListed)
		}
	}
	return b.String()
}

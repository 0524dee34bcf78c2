// Package plugins finds the built-in providers and the installed ones that a
// campaign uses, with their schemas, their versions and their entries in the
// lock file.
package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/delivery"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/lambda"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/paperspace"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/runpod"
	"github.com/muster-run/muster/providers/schedulers"
	"github.com/muster-run/muster/providers/sdk"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/providers/ssh"
	"github.com/muster-run/muster/providers/vastai"
)

// A Builtin is a provider that is part of this binary. One without New has
// its schema checked and its jobs planned, but nothing drives it yet.
type Builtin struct {
	Schema func() offer.Schema
	New    func() providers.Provider
}

// Builtins are by type; tests put one of their own in a place.
var Builtins = map[string]Builtin{
	"local": {local.Schema, func() providers.Provider { return local.New() }},
	"sim":   {sim.Schema, func() providers.Provider { return sim.New(clock.Wall) }},
	"ssh":   {ssh.Schema, func() providers.Provider { return ssh.New() }},

	"lambda":     rented(lambda.Platform{}),
	"paperspace": rented(paperspace.Platform{}),
	"runpod":     rented(runpod.Platform{}),
	"vastai":     rented(vastai.Platform{}),
}

func rented(p rental.Platform) Builtin {
	return Builtin{func() offer.Schema { return rental.Schema(p) }, func() providers.Provider { return rental.New(p) }}
}

// init adds the types of batch schedulers.
func init() {
	for _, t := range schedulers.Types {
		Builtins[t.Name()] = Builtin{func() offer.Schema { return delivery.Schema(t) }, func() providers.Provider { return delivery.New(t) }}
	}
}

// A Set is the providers that a campaign in a directory can use.
type Set struct {
	Dir    string // of the campaign
	Logger func() hclog.Logger
	Pin    launch.Pin  // how strict .muster.lock.hcl is
	Gate   launch.Gate // decides what may be started, reached and run; nil: everything
	// Still starts no process: the schema of an external provider comes from Keep, which has
	// it from the last start.
	Still  bool
	Keep   string        // folder for schemas of external providers, by digest; "" = none
	Person launch.Person // who answers hosts' prompts; nil = nobody
}

// Launcher starts provider processes as they are needed.
func (p Set) Launcher() *launch.Launcher {
	return launch.New(launch.Options{Builtin: served(), Dir: p.Dir, Logger: p.Logger(), Pin: p.Pin, Gate: p.Gate, Person: p.Person})
}

// A Scripter is a built-in provider that submits scripts, and what its backends can do.
type Scripter struct {
	providers.Scripter
	Can offer.Capabilities
}

// Scripters are those of some backends' types, by type.
func Scripters(backends []*lang.Backend) map[string]Scripter {
	out := map[string]Scripter{}
	for _, c := range backends {
		b := Builtins[c.Type]
		if _, known := out[c.Type]; known || b.New == nil {
			continue
		}
		if s, ok := b.New().(providers.Scripter); ok {
			out[c.Type] = Scripter{s, b.Schema().Can}
		}
	}
	return out
}

// IsBuiltin reports whether a type of backend is part of this binary.
func IsBuiltin(typ string) bool { _, ok := Builtins[typ]; return ok }

// LocalVersion is the version of the provider of this machine.
func LocalVersion() string { return Builtins["local"].Schema().Version }

// Schemas are the schemas a campaign is checked against: the built-in ones,
// read without starting a process, and those of the external providers that
// it names; absent says why some of these cannot be asked.
func (p Set) Schemas() (out map[string]offer.Schema, absent map[string]error) {
	out, absent = map[string]offer.Schema{}, map[string]error{}
	for name, b := range Builtins {
		out[name] = b.Schema()
	}
	for _, typ := range lang.BackendTypes(p.Dir) {
		if _, ok := out[typ]; ok {
			continue
		}
		s, err := p.externalSchema(typ)
		if err != nil {
			absent[typ] = err
			continue
		}
		out[typ] = s
	}
	return out, absent
}

// externalSchema asks an external provider, or returns the kept schema of one that may not be
// started.
func (p Set) externalSchema(typ string) (offer.Schema, error) {
	l := p.Launcher()
	defer l.Close()
	path, digest, err := l.Digest(typ)
	if err != nil {
		return offer.Schema{}, err
	}
	if p.Still {
		if p.Gate != nil {
			_ = p.Gate.Start(typ, path, digest) // so that the refusal is shown
		}
		return p.kept(typ, digest), nil
	}
	ctx := context.Background()
	provider, err := l.Provider(ctx, typ)
	if providers.IsWithheld(err) {
		return p.kept(typ, digest), nil
	}
	if err != nil {
		return offer.Schema{}, err
	}
	s, err := provider.Schema(ctx)
	if err == nil {
		p.keep(digest, s)
	}
	return s, err
}

func (p Set) schemaFile(digest string) string {
	return filepath.Join(p.Keep, strings.TrimPrefix(digest, "sha256:")+".json")
}

// kept is the schema that a program gave when it last ran, or an unknown one.
func (p Set) kept(typ, digest string) offer.Schema {
	var s offer.Schema
	b, err := os.ReadFile(p.schemaFile(digest))
	if p.Keep == "" || err != nil || json.Unmarshal(b, &s) != nil || s.Type != typ {
		return offer.Schema{Type: typ, Opaque: true}
	}
	return s
}

// keep keeps a schema for kept. Without it less is checked.
func (p Set) keep(digest string, s offer.Schema) {
	b, err := json.Marshal(s)
	if p.Keep == "" || err != nil || os.MkdirAll(p.Keep, 0o700) != nil {
		return
	}
	_ = atomicfile.WriteCache(p.schemaFile(digest), b)
}

// Main runs the parts of muster that are processes of their own:
// providers and the queue of this machine.
func Main(args []string) (int, bool) {
	verifier.Enable()
	if len(args) < 2 || args[0] != "provider" {
		return 0, false
	}
	switch args[1] {
	case "queue":
		return host.Main(context.Background(), args[2:]), true
	case "serve":
		return serve(args[2:]), true
	case "node":
		return node.Main(args[2:], schedulers.Nodes()...), true
	case "verify":
		return verifier.Main(), true
	}
	return 0, false
}

func serve(args []string) int {
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	b, ok := Builtins[name]
	if !ok || b.New == nil {
		fmt.Fprintf(os.Stderr, "muster provider serve: there is no built-in provider %q; there are: %s\n", name, strings.Join(served(), ", "))
		return 1
	}
	sdk.Serve(b.New())
	return 0
}

// served are the built-in types that can be driven.
func served() []string {
	var out []string
	for name, b := range Builtins {
		if b.New != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

package main

import (
	"context"
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/term"
)

func providersCommand(a *app) *command.Command {
	return &command.Command{
		Name: "providers", Short: "the providers found and locked", MaxArgs: 0,
		Long: `Lists the built-in providers and the external ones that are found (MUSTER_PLUGIN_DIR, .muster/providers, the XDG data
directory, PATH), with their versions and whether .muster.lock.hcl has them.`,
		Examples: []command.Example{{"muster providers", "what there is"}, {"muster providers -json", "for a script"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(_ context.Context, _ []string) error {
				list, err := a.providers()
				if err != nil {
					return err
				}
				if *asJSON {
					return a.encode(map[string]any{"format_version": page.FormatVersion, "providers": list})
				}
				t := term.Table{Indent: "  "}
				for _, p := range list {
					t.Row(p.Name, p.Version, p.Kind, p.Path, p.Note)
				}
				a.printf("%s", t.String())
				return nil
			}
		},
	}
}

// A providerReport is one provider in `muster providers -json`.
type providerReport struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Kind    string `json:"kind"` // "built-in", "external"
	Path    string `json:"path,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (a *app) providers() ([]providerReport, error) {
	var out []providerReport
	for name, b := range builtins {
		p := providerReport{Name: name, Version: version, Kind: "built-in"}
		if b.new == nil {
			p.Note = "checked and planned for, from facts; not driven in this version"
		}
		out = append(out, p)
	}
	l := a.launcher()
	defer l.Close()
	lock, err := l.Lock()
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, f := range l.Discover() {
		p := providerReport{Name: f.Type, Kind: "external", Path: f.Path, Note: "not locked; muster init locks what the campaign needs"}
		found[f.Type] = true
		if locked, ok := lock.Providers[f.Type]; ok {
			p.Version, p.Note = locked.Version, "locked"
			if _, err := l.Resolve(f.Type); err != nil {
				p.Version, p.Note = "", providerFault(err).Summary
			}
		}
		out = append(out, p)
	}
	for _, name := range slices.Sorted(maps.Keys(lock.Providers)) {
		if !found[name] {
			out = append(out, providerReport{Name: name, Version: lock.Providers[name].Version, Kind: "external", Note: "locked, but not found"})
		}
	}
	slices.SortFunc(out, func(x, y providerReport) int {
		return strings.Compare(x.Kind+x.Name, y.Kind+y.Name) // "built-in" sorts before "external"
	})
	return out, nil
}

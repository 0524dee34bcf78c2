package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/cmd/muster/trust"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/launch"
)

func initCommand(a *app) *command.Command {
	return &command.Command{
		Name: "init", Short: "prepare a campaign, or create one from a starter", MaxArgs: 0,
		Long: `Finds and locks the external providers a campaign needs and makes its state store ready. A campaign on built-in providers
needs no init. -from=NAME writes a starter campaign into this directory, and a .gitignore unless there is one.`,
		Examples: []command.Example{{"muster init -from=quickstart", "begin with a small campaign that runs here"}, {"muster init -lockfile=readonly", "in CI: check providers, lock nothing new"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			var v varFlags
			v.register(fs)
			from := fs.String("from", "", "write the starter campaign `NAME`: "+strings.Join(starterNames(), ", "))
			upgrade := fs.Bool("upgrade", false, "lock the versions found now, whatever was locked before")
			lockfile := fs.String("lockfile", "", "`MODE`: readonly checks .muster.lock.hcl and does not write it")
			asJSON := fs.Bool("json", false, "print the result as JSON")
			return func(ctx context.Context, _ []string) error {
				if *upgrade && *lockfile == "readonly" {
					return command.Usagef("-upgrade writes the lock file, and -lockfile=readonly does not: give one of them")
				}
				if *lockfile != "" && *lockfile != "readonly" {
					return command.Usagef("-lockfile takes readonly, not %q", *lockfile)
				}
				if *from != "" {
					return a.starter(*from, *asJSON)
				}
				return a.init(ctx, v, *upgrade, *lockfile == "readonly", *asJSON)
			}
		},
	}
}

// starter writes a starter campaign, never over a file.
func (a *app) starter(name string, asJSON bool) error {
	src, ok := starterSource(name)
	if !ok {
		return command.Usagef("there is no starter %q; there are: %s", name, strings.Join(starterNames(), ", "))
	}
	if there, _ := filepath.Glob(filepath.Join(a.dir, "*.muster.hcl")); len(there) > 0 {
		return command.Usagef("%s has a campaign already (%s): begin in an empty directory", a.dir, filepath.Base(there[0]))
	}
	path := filepath.Join(a.dir, "campaign.muster.hcl")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write the starter: %w", err)
	}
	_, err = f.WriteString(src)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the starter: %w", err)
	}
	wrote := "campaign.muster.hcl"
	ignores := ignore(a.dir)
	if asJSON {
		return a.encode(initReport{FormatVersion: page.FormatVersion, Wrote: wrote, Builtin: []string{}, Locked: []plugins.Locked{}})
	}
	if ignores {
		wrote += " and .gitignore"
	}
	a.printf("Wrote %s. What next:\n\n%s", wrote, starterNext(src))
	return nil
}

// ignored is a .gitignore for a campaign's folder. A state in git would be an old one in each
// clone.
const ignored = `# The state of the campaign, and muster's own folder. Commit .muster.lock.hcl, if there is one.
/muster.state.*
/.muster/
# Results, as muster pull copies them.
/outputs/
`

// ignore writes a .gitignore beside a starter, unless there is one; it reports whether it did.
// A starter needs none.
func ignore(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false
	}
	_, err = f.WriteString(ignored)
	return errors.Join(err, f.Close()) == nil
}

// An initReport is the JSON of `muster init -json`.
type initReport struct {
	FormatVersion string           `json:"format_version"`
	Campaign      string           `json:"campaign,omitempty"`
	Wrote         string           `json:"wrote,omitempty"` // by -from
	Builtin       []string         `json:"builtin"`
	Locked        []plugins.Locked `json:"locked"`
}

func (a *app) init(ctx context.Context, v varFlags, upgrade, readonly, asJSON bool) error {
	switch {
	case readonly:
	case upgrade:
		a.pin = launch.PinUpgrade
	default:
		a.pin = launch.PinRecord
	}
	c, err := a.mustLoad(v)
	if err != nil {
		return err
	}
	if err := a.trustProviders(c); errors.Is(err, errTrusted) {
		if c, err = a.mustLoad(v); err != nil { // with their words for their blocks
			return err
		}
	} else if err != nil {
		return err
	}
	s, err := a.store(c)
	if err != nil {
		return err
	}
	if _, err := s.Read(ctx); err != nil {
		return err
	}
	locked, diags, err := a.plugins().Lock(ctx, c, readonly)
	if reported := a.report(diags); reported != nil {
		return reported
	}
	if err != nil {
		return err
	}
	builtin := []string{}
	for _, b := range c.Backends {
		if plugins.IsBuiltin(b.Type) && !slices.Contains(builtin, b.Type) {
			builtin = append(builtin, b.Type)
		}
	}
	if asJSON {
		return a.encode(initReport{FormatVersion: page.FormatVersion, Campaign: c.Name, Builtin: builtin, Locked: locked})
	}
	for _, p := range locked {
		a.printf("provider %s %s\n", p.Name, p.Version)
	}
	a.printf("The campaign %q is ready (built-in: %s). What next:\n\n    muster plan\n", c.Name, strings.Join(builtin, ", "))
	return nil
}

// trustProviders asks for the external providers that are not trusted yet, before
// one of them is started.
func (a *app) trustProviders(c *lang.Campaign) error {
	a.plugins().Meet(c)
	left := a.guard.Left()
	left = slices.DeleteFunc(left, func(it trust.Item) bool { return it.Kind != trust.Provider })
	if len(left) > 0 && !a.global.input {
		return a.trustLeft(applyFlags{})
	}
	if len(left) > 0 {
		return a.askTrust(left)
	}
	return nil
}

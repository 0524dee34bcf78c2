package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/providers/local"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/sdk"
	"github.com/muster-run/muster/providers/sim"
	"github.com/muster-run/muster/providers/slurm"
	"github.com/muster-run/muster/providers/slurm/node"
	"github.com/muster-run/muster/providers/ssh"
)

// A builtin is a provider that is part of this binary. One without New has
// its schema checked and its jobs planned, but nothing drives it yet.
type builtin struct {
	schema func() offer.Schema
	new    func() providers.Provider
}

var builtins = map[string]builtin{
	"local": {local.Schema, func() providers.Provider { return local.New() }},
	"sim":   {sim.Schema, func() providers.Provider { return sim.New(clock.Wall) }},
	"ssh":   {ssh.Schema, func() providers.Provider { return ssh.New() }},
	"slurm": {slurm.Schema, func() providers.Provider { return slurm.New() }},
}

// schemas are the schemas a campaign is checked against: the built-in ones,
// read without starting a process, and those of the external providers that
// it names; absent says why some of these cannot be asked.
func (a *app) schemas() (out map[string]offer.Schema, absent map[string]error) {
	out, absent = map[string]offer.Schema{}, map[string]error{}
	for name, b := range builtins {
		out[name] = b.schema()
	}
	for _, typ := range lang.BackendTypes(a.dir) {
		if _, ok := out[typ]; ok {
			continue
		}
		s, err := a.externalSchema(typ)
		if err != nil {
			absent[typ] = err
			continue
		}
		out[typ] = s
	}
	return out, absent
}

// externalSchema asks an external provider, pinned unless init is locking.
func (a *app) externalSchema(typ string) (offer.Schema, error) {
	l := launch.New(launch.Options{Builtin: served(), Dir: a.dir, Logger: a.logger(), Pin: a.pin})
	defer l.Close()
	ctx := context.Background()
	p, err := l.Provider(ctx, typ)
	if err != nil {
		return offer.Schema{}, err
	}
	return p.Schema(ctx)
}

// helperProcess runs the parts of muster that are processes of their own:
// providers and the queue of this machine.
func helperProcess(args []string) (int, bool) {
	if len(args) < 2 || args[0] != "provider" {
		return 0, false
	}
	switch args[1] {
	case "queue":
		return host.Main(context.Background(), args[2:]), true
	case "serve":
		return serve(args[2:]), true
	case "node":
		return node.Main(args[2:]), true
	}
	return 0, false
}

func serve(args []string) int {
	name := ""
	if len(args) == 1 {
		name = args[0]
	}
	b, ok := builtins[name]
	if !ok || b.new == nil {
		fmt.Fprintf(os.Stderr, "muster provider serve: there is no built-in provider %q; there are: %s\n", name, strings.Join(served(), ", "))
		return int(command.Failed)
	}
	sdk.Serve(b.new())
	return int(command.Done)
}

// served are the built-in types that can be driven.
func served() []string {
	var out []string
	for name, b := range builtins {
		if b.new != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// serveCommand stands in the table so that help and completion know it; main
// takes it before anything else is set up.
func serveCommand(a *app) *command.Command {
	return &command.Command{
		Name: "provider serve", Args: "TYPE", Short: "serve a built-in provider (internal)", Hidden: true, MinArgs: 1, MaxArgs: 1,
		Long:  "Started by muster itself, one process per type of backend.",
		Setup: func(*flag.FlagSet) command.Run { return func(context.Context, []string) error { return nil } },
	}
}

package main

import (
	"context"
	"flag"
	"runtime"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
)

func versionCommand(a *app) *command.Command {
	return &command.Command{
		Name: "version", Short: "print the version", MaxArgs: 0,
		Long:     "Prints the version and platform. muster never calls home.",
		Examples: []command.Example{{"muster version", "which muster this is"}, {"muster version -json", "for scripts"}},
		Setup: func(fs *flag.FlagSet) command.Action {
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(_ context.Context, _ []string) error {
				if *asJSON {
					return a.encode(map[string]string{"format_version": page.FormatVersion, "muster": version, "platform": platform(), "go": runtime.Version()})
				}
				a.printf("muster %s\non %s\n", version, platform())
				return nil
			}
		},
	}
}

func platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

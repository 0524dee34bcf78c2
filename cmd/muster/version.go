package main

import (
	"context"
	"flag"
	"runtime"

	"github.com/muster-run/muster/cmd/muster/page"
)

func versionCommand() *command {
	return &command{
		name: "version", short: "print the version", maxArgs: 0,
		long:     "Prints the version and platform. muster never calls home.",
		examples: []example{{"muster version", "which muster this is"}, {"muster version -json", "for scripts"}},
		setup: func(fs *flag.FlagSet) runFunc {
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(_ context.Context, a *app, _ []string) error {
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

// Command typecheck checks the types of every program, and of all that it imports, for each
// platform named GOOS/GOARCH. It compiles nothing, so that a merge can wait for it.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	status := 0
	for _, platform := range os.Args[1:] {
		goos, goarch, _ := strings.Cut(platform, "/")
		c := &packages.Config{Mode: packages.LoadAllSyntax, Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)}
		all, err := packages.Load(c, "./cmd/...")
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			status = 1
		} else if packages.PrintErrors(all) > 0 {
			fmt.Fprintf(os.Stderr, "above: errors for %s\n", platform)
			status = 1
		}
	}
	os.Exit(status)
}

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
)

// TestRelease: make release builds each program for each platform, with its
// version and nothing of the machine that builds it.
func TestRelease(t *testing.T) {
	needs.Program(t, "bash")
	cmd := exec.Command("../../.ci/release", "-n", "out")
	cmd.Env = append(cmd.Environ(), "VERSION=v1.2.3", "GO=go")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want strings.Builder
	for _, platform := range []string{"linux amd64", "linux arm64", "darwin amd64", "darwin arm64"} {
		for _, program := range []string{"muster", "muster-host"} {
			system, arch, _ := strings.Cut(platform, " ")
			entry := ""
			if system == "linux" { // it checks the limits on memory before Go's runtime starts
				entry = " -E github.com/muster-run/muster/internal/ulimit.entry"
			}
			want.WriteString("env CGO_ENABLED=0 GOOS=" + system + " GOARCH=" + arch + " go build -trimpath -buildvcs=false -ldflags -s -w -buildid= -X main.version=v1.2.3" + entry +
				" -o out/" + program + "-v1.2.3-" + system + "-" + arch + " ./cmd/" + program + "\n")
		}
	}
	if string(out) != want.String() {
		t.Errorf("it runs\n%s\nwant\n%s", out, want.String())
	}
}

//go:build linux && !cgo

package gpu

import "embed"

// carried holds the program that `make hosts` built from cmd/muster-nvml, or nothing.
//
//go:embed all:bin/arm64
var carried embed.FS

const carriedName = "bin/arm64/muster-nvml"

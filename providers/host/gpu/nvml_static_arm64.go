//go:build linux && !cgo

package gpu

import "embed"

// carried holds what `make hosts` has built of cmd/muster-nvml, or nothing.
//
//go:embed all:bin/arm64
var carried embed.FS

const carriedName = "bin/arm64/muster-nvml"

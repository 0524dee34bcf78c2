//go:build linux && !cgo && (amd64 || arm64)

package ulimit

// entry is where a static program starts that was linked with
// -E github.com/muster-run/muster/internal/ulimit.entry. It ends one whose limits
// on memory are below those of floor.h with one line, and else starts Go's runtime,
// which would abort with a list of goroutines. It uses nothing of Go's.
func entry()

var _ = entry // the linker alone calls it

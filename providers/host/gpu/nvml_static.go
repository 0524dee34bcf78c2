//go:build linux && !cgo && (amd64 || arm64)

package gpu

import "errors"

// OpenNVML loads the system's library in a program of its own, where this
// build carries one and it runs here: a static program loads no library.
func OpenNVML(path string) (Reader, error) {
	text, err := carried.ReadFile(carriedName)
	if path != "" || err != nil {
		return nil, errNoNVML // none was built, without a C compiler
	}
	r, err := openProgram(text)
	if errors.Is(err, errNoProgram) {
		return nil, errors.Join(errNoNVML, err)
	}
	return r, err
}

//go:build !linux || (!cgo && !amd64 && !arm64)

package gpu

// OpenNVML has no library to load without cgo.
func OpenNVML(string) (Reader, error) { return nil, errNoNVML }

//go:build !cgo || !linux

package gpu

// OpenNVML has no library to load without cgo.
func OpenNVML(string) (Reader, error) { return nil, errNoNVML }

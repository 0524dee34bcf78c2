//go:build !cgo || !linux

package gpu

// openNVML has no library to load without cgo.
func openNVML(string) (Reader, error) { return nil, errNoNVML }

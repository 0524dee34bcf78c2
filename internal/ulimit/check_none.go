//go:build !linux

package ulimit

// Check knows no limits of this system.
func Check() error { return nil }

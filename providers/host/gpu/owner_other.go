//go:build !linux

package gpu

import "io/fs"

func uidText(fs.FileInfo) (string, bool) { return "", false }

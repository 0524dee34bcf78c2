//go:build !linux

package verify

import "io/fs"

// markOf is a file's mark from the filesystem; inode and ctime only on Linux.
func markOf(info fs.FileInfo) Mark {
	if info == nil {
		return Mark{}
	}
	return Mark{Exists: true, Size: info.Size(), MTime: info.ModTime().UnixNano()}
}

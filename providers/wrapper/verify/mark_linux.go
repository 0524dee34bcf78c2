package verify

import (
	"io/fs"
	"syscall"
)

// markOf is a file's mark from the filesystem.
func markOf(info fs.FileInfo) Mark {
	if info == nil {
		return Mark{}
	}
	m := Mark{Exists: true, Size: info.Size(), MTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		m.Inode = st.Ino
		m.CTime = st.Ctim.Nano()
	}
	return m
}

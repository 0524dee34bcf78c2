package systemtest

import "syscall"

// full reports whether nothing more can be written below a directory.
func full(dir string) bool {
	var st syscall.Statfs_t
	return syscall.Statfs(dir, &st) == nil && st.Bavail == 0
}

package providers

import (
	"os"
	"path/filepath"
)

// ignoreFile is the file in a folder .muster by which git ignores that folder: it has keys of
// rented machines, copies of files, and logs.
const (
	ignoreFile = ".gitignore"
	ignoreAll  = "*\n"
)

// KeepFromGit lets git ignore a folder .muster on this machine, unless it has a .gitignore or
// is a link. Nothing depends on it.
func KeepFromGit(dir string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a link leads out of a checkout
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, ignoreFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, _ = f.WriteString(ignoreAll)
		_ = f.Close()
	}
}

// RemoveEmpty removes a folder .muster in which nothing is but what KeepFromGit wrote.
func RemoveEmpty(dir string) {
	file := filepath.Join(dir, ignoreFile)
	if left, err := os.ReadDir(dir); err == nil && len(left) == 1 && left[0].Name() == ignoreFile {
		if text, err := os.ReadFile(file); err == nil && string(text) == ignoreAll {
			_ = os.Remove(file)
		}
	}
	_ = os.Remove(dir)
}

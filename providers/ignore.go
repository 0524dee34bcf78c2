package providers

import (
	"os"
	"path/filepath"
)

// IgnoreFile is the file, below a campaign's folder or a workdir, by which git ignores muster's
// folder there: it has keys of rented machines, copies of files, and logs.
const (
	IgnoreFile = ".muster/.gitignore"
	IgnoreAll  = "*\n"
)

// KeepFromGit writes the IgnoreFile of a folder .muster on this machine, unless there is one or
// the folder is a link. Nothing depends on it.
func KeepFromGit(dir string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() { // a link leads out of a checkout
		return
	}
	f, err := os.OpenFile(filepath.Join(dir, filepath.Base(IgnoreFile)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		_, _ = f.WriteString(IgnoreAll)
		_ = f.Close()
	}
}

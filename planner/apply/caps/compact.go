package caps

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A file is compacted from this size on, once its lines that still say something are less
// than a quarter of it.
var compactFrom int64 = 1 << 20

const leastLive = 4

// compact replaces a file of mostly old lines by one of those that hold. It is the last
// thing under the lock: whoever opens the new file may write to it at once, and whoever
// waits for the lock of the old one finds that it was replaced. A kill leaves the old file
// or the new one, both whole. Only the file's owner replaces it, with its mode and group,
// so that nobody loses access; who may not write to the folder leaves it as it is.
func (j *journal) compact() error {
	if j.read < max(compactFrom, j.later) {
		return nil
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("compact %s: %w", j.path, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() {
		return nil
	}
	text, err := j.live()
	if j.later = int64(len(text)) * leastLive; err != nil || j.later > j.read {
		return err
	}
	temp := filepath.Join(filepath.Dir(j.path), "."+Ledger+".new")
	if err := writeNew(temp, text, info.Mode().Perm(), int(owner.Gid)); err != nil {
		return errors.Join(ignored(err), ignored(os.Remove(temp)))
	}
	if err := os.Rename(temp, j.path); err != nil {
		return fmt.Errorf("compact %s: %w", j.path, err)
	}
	dir, err := os.Open(filepath.Dir(j.path))
	if err != nil {
		return fmt.Errorf("compact %s: %w", j.path, err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// ignored is an error that leaves the old file as it is, which is as good.
func ignored(err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.EROFS) {
		return nil
	}
	return err
}

// live is the text of the lines that say something, in a fixed order.
func (j *journal) live() ([]byte, error) {
	var list []line
	for _, l := range j.lines {
		if len(l.Spent)+len(l.Held) > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b line) int { return strings.Compare(a.Lineage+" "+a.Key, b.Lineage+" "+b.Key) })
	var text []byte
	for _, l := range list {
		one, err := json.Marshal(l)
		if err != nil {
			return nil, err
		}
		text = append(append(text, one...), '\n')
	}
	return text, nil
}

// writeNew writes a file durably; what a killed process left of one goes.
func writeNew(path string, text []byte, mode os.FileMode, group int) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chown(-1, group)
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

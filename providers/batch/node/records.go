package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Records find new files in the folders of a spool since the last look.
type Records struct {
	seen    map[string]bool // "starts/TOKEN.N"
	folders map[string]folderSeen
}

// Read reports whether a name of a folder was there at a look.
func (r *Records) Read(folder, name string) bool { return r.seen[folder+"/"+name] }

// A folderSeen is the modification time of a folder at the last look, since when it has had
// that time, and whether it has been read long enough after that.
type folderSeen struct {
	changed, since time.Time
	read           bool
}

// Fresh are the names in a folder that were not there at the last look. It lists
// the folder only when that has changed.
func (r *Records) Fresh(s Spool, folder string) (names []string, err error) {
	fi, err := os.Stat(s.path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at the spool: %w", err)
	}
	// A folder may change again within its timestamp's tick, by the file server's clock. It is
	// read once more when its time has not changed for a while here.
	d := r.folders[folder]
	switch {
	case !fi.ModTime().Equal(d.changed):
		d = folderSeen{changed: fi.ModTime(), since: time.Now()}
	case d.read:
		return nil, nil
	default:
		d.read = time.Since(d.since) > time.Second
	}
	entries, err := os.ReadDir(s.path(folder))
	if err != nil {
		return nil, fmt.Errorf("look at the spool: %w", err)
	}
	if r.folders == nil {
		r.folders, r.seen = map[string]folderSeen{}, map[string]bool{}
	}
	r.folders[folder] = d
	for _, e := range entries {
		key := folder + "/" + e.Name()
		if e.Name()[0] != '.' && !r.seen[key] {
			r.seen[key] = true
			names = append(names, e.Name())
		}
	}
	return names, nil
}

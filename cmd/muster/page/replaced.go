package page

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/muster-run/muster/internal/units"
)

// A Replaced is a folder of files that were moved aside.
type Replaced struct {
	Folder string `json:"folder"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	// More says that there are more files than were counted.
	More bool `json:"more,omitempty"`
}

// mostReplaced bounds the files that are counted in one folder.
const mostReplaced = 20_000

// ReplacedIn counts the files that muster moved aside in workdirs of this machine; a workdir
// without such a folder has no entry.
func ReplacedIn(workdirs []string) (out []Replaced) {
	seen := map[string]bool{}
	var folders []string
	for _, dir := range workdirs {
		folders = append(folders, filepath.Join(dir, ".muster", "replaced"), filepath.Join(dir, ".muster", "failed"))
	}
	for _, folder := range folders {
		r := Replaced{Folder: folder}
		if seen[r.Folder] {
			continue
		}
		seen[r.Folder] = true
		_ = filepath.WalkDir(r.Folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if r.More = r.Files >= mostReplaced; r.More {
				return fs.SkipAll
			}
			r.Files++
			if info, err := d.Info(); err == nil {
				r.Bytes += info.Size()
			}
			return nil
		})
		if r.Files > 0 {
			out = append(out, r)
		}
	}
	return out
}

func (r Replaced) text() string {
	least := ""
	if r.More {
		least = "more than "
	}
	return fmt.Sprintf("\nMoved aside: %s%s, %s, in %s; they are yours to delete\n", least, units.Count(r.Files, "file"), units.FormatSize(r.Bytes), r.Folder)
}

package rental

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/userstate"
	"github.com/muster-run/muster/providers"
)

// A trace says where the records of a backend's rentals are. It is kept outside the campaign's
// folder while a machine may exist: when that folder is deleted, or cleaned by git, the machine
// is still known to be this user's.
type trace struct {
	Host string `json:"host"`
	Dir  string `json:"dir"` // of the campaign
	Name string `json:"backend"`
}

// traces are those of this user, as a backend leaves and reads them.
type traces struct {
	folder string // "" if there is none
	of     providers.Backend
}

// traceFolder is the folder of this user's traces, "" if there is none.
func traceFolder() string {
	if dir := userstate.Dir(os.Getenv); dir != "" {
		return filepath.Join(dir, "rentals")
	}
	return ""
}

// leave leaves a trace of the backend's rentals, or removes it with the last of them. Nothing
// depends on it while the records exist, so a trace that cannot be written stops no job.
func (t traces) leave(rentals []Rental) {
	if t.folder == "" {
		return
	}
	path := filepath.Join(t.folder, t.of.Lineage, t.of.Name+suffix)
	if !slices.ContainsFunc(rentals, func(r Rental) bool { return !r.Over() }) {
		_ = os.Remove(path)
		_ = os.Remove(filepath.Dir(path)) // unless another backend has a trace there
		return
	}
	host, _ := os.Hostname()
	text, _ := json.Marshal(trace{Host: host, Dir: t.of.Dir, Name: t.of.Name}) // three texts
	text = append(text, '\n')
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = atomicfile.Write(path, text, 0o600) // also of a folder that was moved
}

// ours reports whether a machine has the label of the backend's campaign, or of one whose state
// is lost: an earlier one in its folder, by the records there, or one that left a trace of
// records that do not exist anymore.
func (t traces) ours(m Machine) bool {
	if strings.HasPrefix(m.Label, tagOf(t.of.Lineage)) {
		return true
	}
	rest, ours := strings.CutPrefix(m.Label, "muster-")
	lineage, _, _ := strings.Cut(rest, "-")
	if !ours || !filepath.IsLocal(lineage) {
		return false
	}
	earlier := t.of
	earlier.Lineage = lineage
	return exists(recordsOf(earlier)) || t.folder != "" && abandoned(filepath.Join(t.folder, lineage))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// abandoned reports whether the records that a folder of traces names are gone.
func abandoned(dir string) bool {
	files, _ := os.ReadDir(dir)
	host, _ := os.Hostname()
	for _, f := range files {
		var t trace
		if readJSON(filepath.Join(dir, f.Name()), &t) != nil || t.Host != host || !filepath.IsAbs(t.Dir) {
			continue // another machine that shares this home can have the records
		}
		if _, err := os.Stat(recordsOf(providers.Backend{Dir: t.Dir, Lineage: filepath.Base(dir), Name: t.Name})); errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

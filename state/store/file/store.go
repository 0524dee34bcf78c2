// Package file keeps a state in files beside the campaign, on any file system
// with atomic rename, NFS and Lustre included. An event that Sync acknowledged
// is durable: it is found again, or its loss is an error. One holder writes at
// a time; reading takes no lock.
//
//	muster.state.json            the snapshot
//	muster.state.json.backup     the one before
//	muster.state.journal.FENCE   events since, one file per holder
//	muster.state.lock            the lease
//	muster.state.history         events already folded into the snapshot
//	muster.state.glance          the values of a snapshot that a plan of unchanged jobs needs
package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/state/store"
)

// Options say who opens a store. The zero value works.
type Options struct {
	Muster    string           // version of muster, noted in files
	Who       string           // shown to whoever finds the lease taken; the login name if empty
	Now       func() time.Time // time.Now if nil
	Heartbeat time.Duration    // between signs of life; 10 s if 0
	FoldAbove int64            // bytes of journal before it may be folded while held; 16 MiB if 0

	fs       fsys
	history  int64         // bytes; historyLimit if 0
	patience time.Duration // before a lease that looks damaged is looked at again, growing; 2 ms if 0
}

const (
	heartbeat = 10 * time.Second // between signs of life of a holder
	missed    = 6                // signs of life missed before a holder looks dead
	foldAbove = 16 << 20         // bytes of journal below which folding is not worth its time
	private   = 0o600            // mode of every file: states hold paths and logs
)

// DefaultName is the snapshot's name where none is given.
const DefaultName = "muster.state.json"

// A Store is a state in files. Each of its parts uses only those before it.
type Store struct {
	*directory
	*leases
	*reader
	*snapshots
}

// A directory has the files of a state: their names, and how they are written.
type directory struct {
	dir  string
	path string // of the snapshot
	base string // path less .json: the prefix of the other files' names
	opt  Options
	fs   fsys
}

var _ store.Store = (*Store)(nil)

// Open names the state kept in a directory (under DefaultName) or at a path.
// It touches nothing: a state that is not there yet is made by the first
// Acquire.
func Open(path string, opt Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open state %s: %w", path, err)
	}
	real := opt.fs == nil
	if real {
		opt.fs = disk{}
	}
	info, err := opt.fs.Stat(path)
	switch {
	case err == nil && info.IsDir(), err != nil && filepath.Ext(path) != ".json":
		path = filepath.Join(path, DefaultName)
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("open state %s: it is not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open state: %w", err)
	}
	if real {
		opt.fs = disk{snapshot: path}
	}
	opt.defaults()
	d := &directory{dir: filepath.Dir(path), path: path, base: strings.TrimSuffix(path, ".json"), opt: opt, fs: opt.fs}
	ls := &leases{directory: d, self: self()}
	r := &reader{directory: d, leases: ls}
	return &Store{d, ls, r, &snapshots{directory: d, reader: r}}, nil
}

func (o *Options) defaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = heartbeat
	}
	if o.history == 0 {
		o.history = historyLimit
	}
	if o.patience == 0 {
		o.patience = 2 * time.Millisecond
	}
	if o.FoldAbove <= 0 {
		o.FoldAbove = foldAbove
	}
	if o.Who == "" {
		if u, err := user.Current(); err == nil {
			o.Who = u.Username
		} else {
			o.Who = "uid " + strconv.Itoa(os.Getuid())
		}
	}
}

// Path is the path of the snapshot.
func (s *Store) Location() string { return s.path }

func (d *directory) backup() string  { return d.path + ".backup" }
func (d *directory) lock() string    { return d.base + ".lock" }
func (d *directory) history() string { return d.base + ".history" }
func (d *directory) journal(fence uint64) string {
	return d.base + ".journal." + strconv.FormatUint(fence, 10)
}

// journals are the fences of the journals there are, in order.
func (d *directory) journals() ([]uint64, error) {
	entries, err := d.fs.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for journals: %w", err)
	}
	prefix := filepath.Base(d.base) + ".journal."
	var fences []uint64
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), prefix); ok {
			if fence, err := strconv.ParseUint(rest, 10, 64); err == nil && rest == strconv.FormatUint(fence, 10) {
				fences = append(fences, fence)
			}
		}
	}
	slices.Sort(fences)
	return fences, nil
}

// sweepTemps removes the unfinished files of holders that died. A process that
// asks for the lease at this moment has a file, too: those stay a while.
func (d *directory) sweepTemps() {
	entries, _ := d.fs.ReadDir(d.dir)
	base := filepath.Base(d.base)
	for _, e := range entries {
		old := false
		if id, ok := strings.CutPrefix(e.Name(), base+".new."); ok {
			old = isID(strings.TrimSuffix(id, ".json")) || id == "json"
		} else if id, ok := strings.CutPrefix(e.Name(), filepath.Base(d.backup())+"."); ok {
			old = isID(id)
		} else if id, ok := strings.CutPrefix(e.Name(), base+".lock."); ok && isID(strings.TrimSuffix(id, ".next")) {
			info, err := e.Info()
			old = err == nil && d.opt.Now().Sub(info.ModTime()) > missed*heartbeat
		}
		if old {
			_ = d.fs.Remove(filepath.Join(d.dir, e.Name()))
		}
	}
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/disk"
	"github.com/muster-run/muster/planner/apply/caps"
	"github.com/muster-run/muster/planner/apply/ledger"
)

// sharedFiles are where budgets of many campaigns are declared: for the machine, for
// this user, and for the folders that a campaign is in.
func sharedFiles(dir string, getenv func(string) string) []string {
	out := []string{filepath.Join("/etc/muster", lang.SharedBudgets)}
	config := getenv("XDG_CONFIG_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(config) && filepath.IsAbs(home) { // XDG Base Directory Specification 0.8: relative paths are invalid
		config = filepath.Join(home, ".config")
	}
	if filepath.IsAbs(config) {
		out = append(out, filepath.Join(config, "muster", lang.SharedBudgets))
	}
	for at := dir; ; at = filepath.Dir(at) {
		if file := filepath.Join(at, lang.SharedBudgets); !slices.Contains(out, file) {
			out = append(out, file)
		}
		if at == filepath.Dir(at) {
			return out
		}
	}
}

// shareBudgets gives a campaign the budgets that it shares with others. A file that
// is a link out of the checkout is not read.
func shareBudgets(c *lang.Campaign, getenv func(string) string, leadsOut func(path string) bool) (diags diag.List) {
	dir := c.Dir
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		dir = at
	}
	for _, file := range sharedFiles(dir, getenv) {
		info, err := os.Lstat(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err == nil && (info.IsDir() || !trusted(info, file)) { // before it is opened: it may be a pipe of a stranger
			diags.Warnf("A file of shared budgets is ignored", "%s is not a file of yours, of root, or of the owner of its folder.", file)
			continue
		}
		var src []byte
		if leadsOut(file) {
			err = &disk.OutsideError{Path: file}
		} else {
			src, err = readRegular(file)
		}
		if err != nil {
			diags.Errorf("A file of shared budgets cannot be read", "%v. Its budgets hold for this campaign, too, so you have to be able to read it.", err)
			continue
		}
		budgets, ds := lang.ReadBudgets(file, src)
		diags.Append(ds...)
		for _, b := range budgets {
			b = b.Of(c.Backends)
			if b.Shared.Spent, err = caps.Spent(b); err != nil {
				diags.Append(diag.FromError(err))
			}
			if slices.ContainsFunc(c.Budgets, func(o lang.Budget) bool { return o.Name == b.Name }) {
				b.Name = fmt.Sprintf("%s (%s)", b.Name, filepath.Dir(file))
			}
			c.Budgets = append(c.Budgets, b)
		}
	}
	return diags
}

// trusted reports whether a file, or a link to one, is by this user, by root, or by the
// owner of its folder.
func trusted(file fs.FileInfo, path string) bool {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false
	}
	by, ok := file.Sys().(*syscall.Stat_t)
	its, known := folder.Sys().(*syscall.Stat_t)
	return ok && (by.Uid == 0 || int(by.Uid) == os.Getuid() || known && by.Uid == its.Uid)
}

// readRegular reads a file and waits for no pipe.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	return io.ReadAll(f)
}

// common is the shared ledger of a campaign, nil for none: a simulation spends no shared
// money.
func (ap *applying) common(w *work) func(lineage string) ledger.Common {
	c := w.campaign
	if w.simulated != nil || !slices.ContainsFunc(c.Budgets, func(b lang.Budget) bool { return b.Shared != nil }) {
		return nil
	}
	return func(lineage string) ledger.Common {
		return caps.New(caps.Campaign{Owner: lang.Owner{Lineage: lineage, Dir: c.Dir}, Name: c.Name}, c.Budgets)
	}
}

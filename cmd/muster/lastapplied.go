package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers"
)

// An appliedCampaign is the text of a campaign as it was last applied. While somebody edits the
// campaign, and it has errors, commands such as hold and status use it: they are about work that
// it started.
type appliedCampaign struct {
	At    time.Time         `json:"at"`
	Dir   string            `json:"dir"` // campaigns can share a MUSTER_DATA_DIR
	Files map[string]string `json:"files"`
}

// appliedFile is where it is kept; "" where an untrusted link leads out of the checkout.
func (ws *workspace) appliedFile() string {
	cache := ws.cacheDir()
	if cache == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(cache), "applied.json")
}

// keepApplied keeps the text of a campaign that is being applied. Nothing depends on it.
func (ws *workspace) keepApplied(c *lang.Campaign) {
	path := ws.appliedFile()
	if path == "" || os.MkdirAll(filepath.Dir(path), 0o777) != nil {
		return
	}
	kept := appliedCampaign{At: ws.now(), Dir: c.Dir, Files: map[string]string{}}
	for name, f := range c.Files {
		if filepath.Base(name) == name { // not -var-file=FILE, which is given again
			kept.Files[name] = string(f.Bytes)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return
	}
	providers.KeepFromGit(filepath.Dir(path))
	_ = atomicfile.WriteCache(path, append(text, '\n'))
}

// lastApplied loads the campaign as it was last applied, in place of one with errors, and says
// so; nil if that cannot be loaded either.
func (ws *workspace) lastApplied(v varFlags, broken diag.List) (*lang.Campaign, diag.List) {
	path := ws.appliedFile()
	if info, err := os.Lstat(path); ws.unread || err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	var kept appliedCampaign
	if err != nil || json.Unmarshal(text, &kept) != nil || kept.Dir != ws.dir || len(kept.Files) == 0 {
		return nil, nil
	}
	files := map[string][]byte{}
	for name, text := range kept.Files {
		files[name] = []byte(text)
	}
	sources := ws.sources
	c, diags := ws.loadText(v, false, files)
	if diags.HasErrors() {
		ws.sources = sources
		return nil, nil
	}
	first := broken[slices.IndexFunc(broken, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })]
	where := ""
	if first.Subject != nil {
		where = fmt.Sprintf("%s line %d: ", first.Subject.Filename, first.Subject.Start.Line)
	}
	return c, diag.List{{Severity: diag.Warning, Summary: "The campaign has errors",
		Detail: fmt.Sprintf("%s%s. Until they are fixed, this command uses the campaign as it was last applied, %s. `muster validate` shows all errors.", where, first.Summary, units.FormatTime(kept.At))}}
}

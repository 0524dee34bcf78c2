package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// strayed warns of a campaign that would start from nothing while its state is
// elsewhere: its path was changed, and all of its work would run again.
func strayed(ctx context.Context, c *lang.Campaign, st *state.State) (diags diag.List) {
	if c.Store.Type != file.Type || len(st.Jobs) > 0 {
		return nil
	}
	here, err := store.Open(c.Store.Type, c.Store.Config, store.Options{Dir: c.Dir})
	if err != nil {
		return nil
	}
	for _, path := range otherStates(c.Dir, here.Location()) {
		s, err := file.Open(path, file.Options{})
		if err != nil {
			continue
		}
		old, err := s.Read(ctx)
		if err != nil || old.Campaign != c.Name || len(old.Jobs) == 0 {
			continue
		}
		done := 0
		for _, j := range old.Jobs {
			if j.Status == state.Completed {
				done++
			}
		}
		var subject *hcl.Range
		if c.Store.Range.Filename != "" {
			subject = c.Store.Range.Ptr()
		}
		path, now := below(c.Dir, path), below(c.Dir, here.Location())
		diags.Append(diag.Diagnostic{Severity: diag.Warning, Summary: "The state of this campaign is elsewhere", Subject: subject,
			Detail: fmt.Sprintf("%s is empty, and %s has %s of campaign %q, %d of them done. Without that state, those jobs run again and no budget counts what they cost. To keep it, write its old path into the state block (the default is beside the campaign), or move its files, %s.*, to the new path before you apply anything. To start from nothing, do neither.",
				now, path, units.Count(len(old.Jobs), "record"), c.Name, done, strings.TrimSuffix(path, ".json"))})
	}
	return diags
}

// otherStates are the snapshots beside a campaign and beside its state, in folders
// next to these, and in such of folders that are named for states.
func otherStates(dir, here string) (out []string) {
	seen := map[string]bool{here: true}
	in := func(folder string) {
		found, err := os.ReadDir(folder)
		if err != nil {
			return
		}
		for _, f := range found {
			name, history := strings.CutSuffix(f.Name(), ".history") // a state of any name has one
			path := filepath.Join(folder, name+".json")
			if !history {
				path = filepath.Join(folder, f.Name())
			}
			if (history || f.Name() == file.DefaultName) && !seen[path] {
				seen[path] = true
				out = append(out, path)
			}
		}
	}
	around := []string{dir}
	if up := filepath.Dir(filepath.Dir(here)); up != filepath.Dir(dir) {
		around = append(around, up)
	}
	for _, folder := range around {
		in(folder)
		for _, next := range folders(folder) {
			in(next)
			if strings.Contains(strings.ToLower(filepath.Base(next)), "state") {
				for _, last := range folders(next) {
					in(last)
				}
			}
		}
	}
	return out
}

func folders(dir string) (out []string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, f := range found {
		if f.IsDir() {
			out = append(out, filepath.Join(dir, f.Name()))
		}
	}
	return out
}

// below is a path as people would write it in a campaign.
func below(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

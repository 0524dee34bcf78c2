package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-run/muster/lang"
)

// TestSharedBudgetFiles: each file counts once, and one that is none neither blocks
// muster nor is taken for a file without budgets.
func TestSharedBudgetFiles(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, ".config", "muster")
	dir := filepath.Join(config, "campaign")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	leadsOut := func(string) bool { return false }
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if err := os.WriteFile(filepath.Join(config, lang.SharedBudgets), []byte("budget \"mine\" { limits = { usd = 4 } }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &lang.Campaign{Dir: dir, Budgets: []lang.Budget{{Name: "mine"}}}
	if ds := shareBudgets(c, getenv, leadsOut); len(ds) > 0 || len(c.Budgets) != 2 || c.Budgets[1].Limits["usd"] != "4" || c.Budgets[1].Name != "mine ("+config+")" {
		t.Errorf("%v: %+v", ds, c.Budgets)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, lang.SharedBudgets), 0o600); err != nil {
		t.Fatal(err)
	}
	if ds := shareBudgets(&lang.Campaign{Dir: dir}, getenv, leadsOut); !ds.HasErrors() || !strings.Contains(ds[len(ds)-1].Detail, "not a regular file") {
		t.Errorf("a pipe: %v", ds)
	}
}

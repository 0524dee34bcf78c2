package spool

import (
	"os"
	"path/filepath"
	"testing"
)

// A home where nothing can be made is no home for a spool, and a spool that is
// there stays where it is, whatever its home has become since.
func TestChoose(t *testing.T) {
	const name = "queue/h1-0123"
	for title, c := range map[string]struct {
		there []string // folders, below the test's
		file  string   // in the place of a folder
		want  string
	}{
		"a new home":                     {nil, "", "home/state/muster"},
		"a home where nothing can go":    {nil, "home", "private"},
		"it is there":                    {[]string{"home/state/muster/" + name, "private/" + name}, "", "home/state/muster"},
		"it began elsewhere":             {[]string{"home/state/muster", "private/" + name}, "", "private"},
		"another machine's is elsewhere": {[]string{"private/queue/h2-4567"}, "", "home/state/muster"},
	} {
		t.Run(title, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range c.there {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(root, c.file), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := choose(filepath.Join(root, "home/state/muster"), filepath.Join(root, "private"), name)
			if want := filepath.Join(root, c.want); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

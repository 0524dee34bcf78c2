package lang

import (
	"strings"
	"testing"
)

// TestUnquoted: a text without quotes is told once, with what to write.
func TestUnquoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`walltime = 1m`:                      `Write walltime = "1m".`,
		"walltime = \"1m\"\n\tmemory = 2GiB": `Write memory = "2GiB".`,
	} {
		_, ds := LoadFiles(map[string][]byte{"c.muster.hcl": []byte("campaign \"c\" {}\nphase \"a\" {\n job {\n  command = \"x\"\n  resources {\n\t" + text + "\n  }\n }\n}\n")}, LoadOptions{})
		if len(ds) != 1 || ds[0].Detail != want {
			t.Errorf("%s: %v", text, ds)
		}
	}
	_, ds := LoadFiles(map[string][]byte{"c.muster.hcl": []byte("campaign \"c\" {}\nphase \"a\" {\n job {\n  command = train.sh\n  resources { walltime = \"1m\" }\n }\n}\n")}, LoadOptions{})
	if len(ds) != 1 || !strings.Contains(ds[0].Detail, "A text is written in quotes") {
		t.Error(ds)
	}
}

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestStartersAreWhole(t *testing.T) {
	t.Parallel()
	names := starterNames()
	if want := []string{"autodl", "gpu", "lambda", "paperspace", "pbs", "quickstart", "runpod", "slurm", "ssh", "vastai"}; !slices.Equal(names, want) {
		t.Errorf("the starters are %q, not %q", names, want)
	}
	for _, name := range names {
		src, ok := starterSource(name)
		if !ok {
			t.Fatalf("%s is listed and cannot be read", name)
		}
		next := starterNext(src)
		if !strings.HasPrefix(next, "    muster ") || !strings.Contains(next, "muster apply") {
			t.Errorf("%s does not say how it is applied: %q", name, next)
		}
		if strings.Count(next, "\n") != strings.Count(next, "    muster ") {
			t.Errorf("%s names more than commands: %q", name, next)
		}
	}
	if _, ok := starterSource("../starters/gpu"); ok {
		t.Error("a path is taken for a name")
	}
}

func TestNextStopsAtTheHead(t *testing.T) {
	t.Parallel()
	src := "# A title\n#\n#   muster plan   look\n\ncampaign \"c\" {}\n#   muster apply  not of the head\n"
	if got, want := starterNext(src), "    muster plan   look\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

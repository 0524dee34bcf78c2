package rental_test

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/lambda"
	"github.com/muster-run/muster/providers/rental"
	"github.com/muster-run/muster/providers/runpod"
	"github.com/muster-run/muster/providers/vastai"
)

// The pages of platforms say what survives as their facts do. UPDATE_DOCS=1 writes it.
func TestDocsSurvival(t *testing.T) {
	// Requirement: STO-01
	t.Parallel()
	const begin, end = "<!-- what survives: from the facts of the platform, by UPDATE_DOCS=1 go test ./providers/rental -run TestDocs -->\n\n", "\n<!-- end of what survives -->"
	for _, p := range []rental.Platform{vastai.Platform{}, lambda.Platform{}, runpod.Platform{}} {
		path := "../../docs/reference/backends/" + p.Type() + ".md"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(text), begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no %q … %q", path, begin, end)
			continue
		}
		want := head + begin + p.Facts().Survival() + end + tail
		if os.Getenv("UPDATE_DOCS") != "" {
			err = os.WriteFile(path, []byte(want), 0o644)
		}
		if err != nil || os.Getenv("UPDATE_DOCS") == "" && string(text) != want {
			t.Errorf("%s is not what the facts say; UPDATE_DOCS=1 writes it (%v)", path, err)
		}
	}
}

package staging_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A shelf takes what is pushed, and says of it what it is told to.
type shelf struct {
	liar
	says []offer.Output
}

func (s shelf) Verify(context.Context, providers.VerifyRequest) ([]offer.Output, error) {
	return s.says, nil
}

func (s shelf) Push(_ context.Context, _, _ string, _ int64, _ string, r io.ReadSeeker) error {
	_, err := r.Read(make([]byte, 100))
	return err
}

// TestWhatIsWrongWithFilesIsNotWaitedFor: files that are not what was recorded do
// not become it by waiting, so their move is not taken for one to a backend that
// cannot be reached, which is tried for ever.
func TestWhatIsWrongWithFilesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("evil"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := []offer.Output{{Name: "o"}}
	of := state.Output{Name: "o", Path: "out/o", Digest: "sha256:1", Size: 2, Files: 1}
	for name, c := range map[string]struct {
		from providers.Files
		says []offer.Output
		kind lang.OutputKind
		path string
	}{
		"no verdict":         {liar{}, nil, lang.File, ""},
		"other bytes":        {liar{sends: "12"}, other, lang.File, ""},
		"more bytes":         {liar{sends: "evil"}, other, lang.File, ""},
		"a stranger's":       {liar{lists: []providers.FileInfo{{Path: "/etc/passwd"}}}, other, lang.Dir, ""},
		"more than recorded": {liar{lists: []providers.FileInfo{{Path: "/w/out/o/x", Size: 3}}}, other, lang.Dir, ""},
		"changed here":       {staging.Here{Recorded: providers.Recorded{Digest: of.Digest}}, other, lang.File, file},
		"gone here":          {staging.Here{Recorded: providers.Recorded{Digest: of.Digest}}, other, lang.File, file + "x"},
	} {
		load := staging.Load{Output: of, From: of.Path, To: "o", Kind: c.kind}
		if c.path != "" {
			load.From = c.path
		}
		_, err := staging.Move(t.Context(), staging.Side{Files: c.from, Workdir: "/w"}, staging.Side{Files: shelf{says: c.says}, Workdir: "/t"}, load)
		if err == nil || connection.ClassOf(err) != providers.Invalid {
			t.Errorf("%s: class %q: %v", name, connection.ClassOf(err), err)
		}
	}
}

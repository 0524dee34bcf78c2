package attempt

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A torn checkpoint is moved aside, from the newest on until one passes; nothing else is touched.
//
// Requirement: WT-08
func TestResumable(t *testing.T) {
	t.Parallel()
	const good, torn = `{"step":1}`, `{"step":`
	json := []providers.VerifyCheck{{Kind: "json"}}
	for name, c := range map[string]struct {
		glob   string // "" = one path, ck
		verify []providers.VerifyCheck
		min    int64
		files  []string // NAME=TEXT or NAME->TARGET, the oldest first
		stay   []string
		says   string // the last note; "" = none
	}{
		"none yet":               {verify: json},
		"good":                   {verify: json, files: []string{"ck=" + good}, stay: []string{"ck"}},
		"torn":                   {verify: json, files: []string{"ck=" + torn}, says: "begins from the start"},
		"torn, nobody asked":     {files: []string{"ck=" + torn}, stay: []string{"ck"}},
		"empty":                  {min: 1, files: []string{"ck="}, says: "min_size: 0 bytes"},
		"folder with a torn one": {verify: json, files: []string{"ck/a=" + good, "ck/b=" + torn}, says: "ck is torn (b: json"},
		"good folder":            {verify: json, files: []string{"ck/a=" + good, "ck/b=" + good}, stay: []string{"ck/a", "ck/b"}},
		"newest good": {glob: "ck/s-*", verify: json, files: []string{"ck/s-1=" + torn, "ck/s-2=" + good, "ck/other=" + torn},
			stay: []string{"ck/s-1", "ck/s-2", "ck/other"}},
		"two torn":          {glob: "ck/s-*", verify: json, files: []string{"ck/s-1=" + good, "ck/s-2=" + torn, "ck/s-3=" + torn}, stay: []string{"ck/s-1"}, says: "resumes from ck/s-1"},
		"by time, not name": {glob: "ck/s-*", verify: json, files: []string{"ck/s-9=" + good, "ck/s-10=" + torn}, stay: []string{"ck/s-9"}, says: "resumes from ck/s-9"},
		"folders":           {glob: "ck/s-*", verify: json, files: []string{"ck/s-1/a=" + good, "ck/s-2/a=" + torn}, stay: []string{"ck/s-1/a"}, says: "resumes from ck/s-1"},
		"a link to a torn":  {glob: "ck/*", verify: json, files: []string{"far=" + torn, "ck/s-1=" + good, "ck/s-2->../far"}, stay: []string{"far"}, says: ""},
		"a link to nothing": {verify: json, files: []string{"ck->gone"}, says: "target is missing"},
		"aside, elsewhere": {verify: json, glob: "**/*.json", files: []string{".muster/replaced/x/a.json=" + torn, "ck/.muster-replaced/x/b.json=" + torn},
			stay: []string{".muster/replaced/x/a.json", "ck/.muster-replaced/x/b.json"}},
		"matches nothing":    {verify: json, glob: "ck/s-*", files: []string{"ck/t-1=" + torn}, stay: []string{"ck/t-1"}},
		"a name with a line": {verify: json, glob: "ck/*", files: []string{"ck/a\nmuster: checkpoint b=" + torn}, says: "begins from the start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, f := range c.files {
				at, text, link := strings.Cut(f, "->")
				if !link {
					at, text, _ = strings.Cut(f, "=")
				}
				path := filepath.Join(dir, at)
				os.MkdirAll(filepath.Dir(path), 0o755)
				if link {
					if err := os.Symlink(text, path); err != nil {
						t.Fatal(err)
					}
					continue
				}
				when := time.Unix(int64(1e9+i), 0)
				if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, when, when)); err != nil {
					t.Fatal(err)
				}
			}
			j := &providers.Job{Token: "0123456789", Workdir: dir, Checkpoint: providers.Checkpoint{Path: filepath.Join(dir, "ck"), Verify: c.verify, MinSize: c.min}}
			if c.glob != "" {
				j.Checkpoint.Path, j.Checkpoint.Glob = filepath.Join(dir, c.glob), true
			}
			if err := Resumable(context.Background(), j, offer.Shape{}, 2); err != nil {
				t.Fatal(err)
			}
			for _, name := range c.stay {
				if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
			notes := Notes(j, 2)
			if c.says != "" && (len(notes) == 0 || !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, c.says) })) {
				t.Errorf("%q", notes)
			}
			left, err := checkpoints(j)
			if err != nil || len(left) > len(c.files) {
				t.Fatal(left, err)
			}
			if again := Resumable(context.Background(), j, offer.Shape{}, 3); again != nil || len(Notes(j, 3)) > 0 {
				t.Error(again, Notes(j, 3))
			}
		})
	}
}

// A launch that is cancelled while its checkpoint is opened moves nothing.
func TestResumableCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ck")
	os.WriteFile(path, []byte("{"), 0o644)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	j := &providers.Job{Token: "0123456789", Workdir: dir, Checkpoint: providers.Checkpoint{Path: path, Verify: []providers.VerifyCheck{{Kind: "json"}}}}
	if err := Resumable(ctx, j, offer.Shape{}, 1); err == nil {
		t.Error("it started")
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// A checkpoint that has no verdict keeps the launch from starting, and stays; one that makes its
// command fail or crash is torn.
func TestResumableWithoutVerdict(t *testing.T) {
	t.Parallel()
	for command, stays := range map[string]bool{
		"no-such-loader": true, "exit 126": true, "exit 127": true, "kill -9 $$": true, "exit 137": true, "sleep 60": true,
		"exit 1": false, "kill -SEGV $$": false,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ck")
			os.WriteFile(path, []byte("{"), 0o644)
			j := &providers.Job{Token: "0123456789", Workdir: dir, Checkpoint: providers.Checkpoint{Path: path, VerifyTimeout: 2 * time.Second, Verify: []providers.VerifyCheck{{Kind: "command", Command: command}}}}
			err := Resumable(context.Background(), j, offer.Shape{}, 1)
			if _, gone := os.Stat(path); (gone == nil) != stays || (err != nil) != stays {
				t.Errorf("%v; %v", err, gone)
			}
			if err != nil && (!strings.Contains(err.Error(), "nothing was moved") || len(Notes(j, 1)) > 0) {
				t.Error(err, Notes(j, 1))
			}
		})
	}
}

// A thousand torn checkpoints are moved aside with a few notes.
func TestResumableThousand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "ck"), 0o755)
	for i := range 1000 {
		os.WriteFile(filepath.Join(dir, "ck", strconv.Itoa(i)), []byte("{"), 0o644)
	}
	j := &providers.Job{Token: "0123456789", Workdir: dir, Checkpoint: providers.Checkpoint{Path: filepath.Join(dir, "ck/*"), Glob: true, Verify: []providers.VerifyCheck{{Kind: "json"}}}}
	if err := Resumable(context.Background(), j, offer.Shape{}, 1); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(filepath.Join(dir, "ck"))
	if n := Notes(j, 1); len(left) > 0 || len(n) != mostNotes+1 || !strings.HasPrefix(n[mostNotes], "991 older checkpoints are torn") {
		t.Errorf("%d left, %q", len(left), n)
	}
}

// Moving a torn checkpoint aside is no progress of the launch, and no output of a command is
// taken for a note.
func TestMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "ck")
	os.WriteFile(path, []byte("{"), 0o644)
	j := &providers.Job{Token: "0123456789", Workdir: dir, Checkpoint: providers.Checkpoint{Path: path, MinSize: 2}}
	before := CheckpointMark(j)
	if err := Resumable(context.Background(), j, offer.Shape{}, 1); err != nil {
		t.Fatal(err)
	}
	if err := log(j, 1, []string{"checkpoint ck is torn, and was moved to nowhere"}); err != nil {
		t.Fatal(err)
	}
	if n := Notes(j, 1); Moved(j, 1, before) || len(n) != 1 || strings.Contains(n[0], "nowhere") {
		t.Error("it moved", n)
	}
	// A queue that was killed after it recorded what it would move.
	os.WriteFile(ProloguePath(dir, j.Token, 2), []byte(`{"notes":["checkpoint ck is torn"]}`), 0o600)
	if err := Resumable(context.Background(), j, offer.Shape{}, 2); err != nil || Moved(j, 2, before) || len(Notes(j, 2)) != 1 {
		t.Error(err, Notes(j, 2))
	}
	os.WriteFile(path, []byte("{}"), 0o644)
	if !Moved(j, 1, before) || Moved(j, 1, 0) {
		t.Error("it did not move")
	}
}

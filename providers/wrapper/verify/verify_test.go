package verify

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
)

func TestWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, s := range samples(t, dir) {
		out := checked(t, dir, s, s.data)
		if !out.OK || out.Verdict != "ok" || out.Digest != "sha256:"+sum(string(s.data)) || out.Size != int64(len(s.data)) || out.Inode == 0 || out.MTime == 0 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

// TestCutAtEveryByte refuses every prefix but those that are wholes by
// themselves.
func TestCutAtEveryByte(t *testing.T) {
	// Requirement: TDN-07
	t.Parallel()
	dir := t.TempDir()
	for name, s := range samples(t, dir) {
		for n := range len(s.data) {
			out := checked(t, dir, s, s.data[:n])
			if out.OK != slices.Contains(s.whole, n) {
				t.Errorf("%s cut to %d of %d bytes: %q", name, n, len(s.data), out.Verdict)
			}
			if !out.OK && (out.Verdict == "" || !strings.HasPrefix(out.Verdict, s.check.Kind+": ")) {
				t.Errorf("%s cut to %d of %d bytes: verdict %q", name, n, len(s.data), out.Verdict)
			}
		}
	}
}

// TestStale refuses what the job has not written, whatever its content.
func TestStale(t *testing.T) {
	// Requirement: PRE-03
	t.Parallel()
	dir := t.TempDir()
	for name, s := range samples(t, dir) {
		o := providers.Output{Name: name, Kind: "path", Path: s.file, Verify: []providers.VerifyCheck{s.check}}
		os.Remove(filepath.Join(dir, s.file))
		none := Take(dir, []providers.Output{o})
		if ok, why := none.Fresh(dir, o); ok || !strings.HasPrefix(why, "missing") {
			t.Errorf("%s not written: %t %q", name, ok, why)
		}
		put(t, dir, s.file, s.data)
		if ok, why := none.Fresh(dir, o); !ok {
			t.Errorf("%s written: %s", name, why)
		}
		before := Take(dir, []providers.Output{o})
		if ok, why := before.Fresh(dir, o); ok || !strings.HasPrefix(why, "stale") {
			t.Errorf("%s not written again: %t %q", name, ok, why)
		}
		put(t, dir, s.file, s.data)
		if ok, why := before.Fresh(dir, o); !ok {
			t.Errorf("%s written again with the same bytes: %s", name, why)
		}
	}
}

func TestStaleSet(t *testing.T) {
	t.Parallel()
	for _, o := range []providers.Output{{Name: "o", Kind: "glob", Path: "out/*.txt"}, {Name: "o", Kind: "dir", Path: "out"}} {
		dir := t.TempDir()
		put(t, dir, "out/1.txt", []byte("1"))
		put(t, dir, "out/2.txt", []byte("2"))
		b := Take(dir, []providers.Output{o})
		if ok, _ := b.Fresh(dir, o); ok {
			t.Errorf("%s: untouched is fresh", o.Kind)
		}
		put(t, dir, "out/2.txt", []byte("2"))
		if ok, why := b.Fresh(dir, o); !ok {
			t.Errorf("%s: one of two written again: %s", o.Kind, why)
		}
	}
}

// TestPreservedTimes: a copy that keeps size and times is another inode.
func TestPreservedTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := providers.Output{Name: "o", Kind: "path", Path: "a"}
	path := put(t, dir, "a", []byte("same"))
	b := Take(dir, []providers.Output{o})
	info, _ := os.Stat(path)
	copied := put(t, dir, "copy", []byte("same"))
	os.Chtimes(copied, info.ModTime(), info.ModTime())
	os.Rename(copied, path)
	if ok, why := b.Fresh(dir, o); !ok {
		t.Error(why)
	}
}

func TestVerdicts(t *testing.T) {
	// Requirement: PRE-03, PRE-04
	t.Parallel()
	good := zipped(t, map[string][]byte{"data.pkl": []byte("pickled")})
	bad := []byte(strings.Replace(string(good), "pickled", "pickles", 1))
	for _, c := range []struct{ file, kind, data, want string }{
		{"a", "json", "", "json: unexpected end at byte 0"},
		{"a", "json", `{"a": 1`, "json: unexpected end at byte 7"},
		{"a", "json", `{"a": 1}}`, `json: the value ends before byte 8, where '}' follows`},
		{"a", "json", `{"a": 1} {"a": 2}`, `json: the value ends before byte 9, where '{' follows`},
		{"a", "json", `{"a": NaN}`, "json: NaN at byte 6 is not JSON (Python's json.dump"},
		{"a", "json", `[-Infinity]`, "json: Infinity at byte 2 is not JSON"},
		{"a", "json", `{"a": 01}`, `json: unexpected '1' at byte 7`},
		{"a", "json", `{'a': 1}`, `json: unexpected '\'' at byte 1`},
		{"a", "json", `[1,]`, `json: unexpected ']' at byte 3`},
		{"a", "json", `{"a" 1}`, `json: unexpected '1' at byte 5`},
		{"a", "json", "[1]\x00\x00", "json: the value ends before byte 3, where byte 0x00 follows"},
		{"a", "json", "\"\xff\xfe\"", "json: the text is not UTF-8 at byte 1"},
		{"a", "json", "\"a\nb\"", "json: control character end of line in a string at byte 2"},
		{"a", "json", "\xef\xbb\xbf{}", "json: the file begins with a byte order mark"},
		{"a", "json", strings.Repeat("[", 20000), "json: nested deeper than 10000 at byte 10000"},
		{"a", "json", `-0.5e+10 `, "ok"},
		{"a", "json", `[[],{},{"a":{}}, "\"\\\/\b"]` + "\n\n", "ok"},
		{"a", "jsonl", "{}\n\n[1]\n  \n", "ok"},
		{"a", "jsonl", "{}\n{", "jsonl: line 2: unexpected end at byte 4"},
		{"a", "jsonl", "{}\n12", "jsonl: line 2: unexpected end at byte 5"},
		{"a", "jsonl", "{\n}\n", "jsonl: line 1: unexpected end of line at byte 1"},
		{"a", "jsonl", "{} {}\n", "jsonl: line 1: the value ends before byte 3, where '{' follows"},
		{"a", "jsonl", "\n\n", "jsonl: there is no line in the file"},
		{"a", "csv", "a,b\n1,2\n3\n", "csv: line 3 has 1 fields, the header has 2"},
		{"a", "csv", "a,b\n1,2\n3,4", "csv: the last line is not ended: it may have been cut short"},
		{"a", "csv", "\n\n", "csv: there is no header"},
		{"a", "csv", "a,b\n\"x,1\n", "csv: line "},
		{"a", "csv", "\xef\xbb\xbfa;b\n1;\"x;y\"\n", "ok"},
		{"a", "csv", "a\tb\n1\t2,5\n", "ok"},
		{"a", "csv", "a,b\r\n1,\"two\nlines\"\r\n", "ok"},
		{"a", "zip", string(bad), "zip: member data.pkl: checksum does not match"},
		{"a", "zip", "PK", "zip: no directory at the end of the file (2 bytes): it was cut short or is not a zip file"},
		{"a", "zip", string(zipped(t, nil)), "zip: there is no member in it"},
		{"a.npz", "zip", string(zipped(t, map[string][]byte{"x.npy": npy("(2, 3)", 40)})), "zip: member x.npy: npy: 110 bytes, its header asks for 118"},
		{"a.npz", "zip", string(zipped(t, map[string][]byte{"x.npy": []byte("text")})), "zip: member x.npy: npy: cut short before its header"},
		{"a.npz", "zip", string(zipped(t, map[string][]byte{"x.npy": npy("()", 8)})), "ok"},
		{"a", "gzip", "no gzip at all", "gzip: a member has no valid header"},
		{"a", "gzip", string(gzipped(t, "a")) + string(gzipped(t, "b")), "ok"},
		{"a", "gzip", string(gzipped(t, "a")) + "rest", "gzip: the stream is cut short"},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9)), "safetensors: 1 bytes follow the last tensor"},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12)), `safetensors: a gap of 4 bytes before tensor "a"`},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8)), `safetensors: tensor "b" overlaps the one before it`},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8)), `safetensors: tensor "a": 8 bytes, its shape asks for 12`},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}}`, 8)), `safetensors: tensor "a": 8 bytes, its shape asks for 18446744073709551615`},
		{"a", "safetensors", string(safetensors(`{"a":{}}`, 0)), `safetensors: header: tensor "a" lacks dtype, shape or data_offsets`},
		{"a", "safetensors", string(safetensors(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4)), `safetensors: header: tensor "a" appears twice`},
		{"a", "safetensors", "{\"a\": 1}", "safetensors: the header cannot have "},
		{"a", "safetensors", string(safetensors(`{}`, 0)), "ok"},
		{"a", "sha256", sum("x") + "  gone.bin\n", "sha256: gone.bin: missing: there is no such file"},
		{"a", "sha256", "SHA256 (a.bin) = " + sum("alpha") + "\n", "ok"},
		{"a", "sha256", sum("beta") + "  a.bin\n", "sha256: a.bin: its sha256 does not match"},
		{"a", "sha256", "# nothing\n", "sha256: manifest a lists nothing"},
		{"a", "nonempty", "", "nonempty: the file is empty"},
		{"a", "exists", "", "ok"},
		{"a", "parquet", "", `there is no check named "parquet"`},
	} {
		t.Run(c.kind+" "+c.data[:min(len(c.data), 40)], func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "a.bin", []byte("alpha"))
			out := checked(t, dir, sample{file: c.file, check: kind(c.kind)}, []byte(c.data))
			if !strings.HasPrefix(out.Verdict, c.want) || out.OK != (c.want == "ok") {
				t.Errorf("%t %q, want %q", out.OK, out.Verdict, c.want)
			}
		})
	}
}

// TestLarge takes the way of files that are not held in memory.
func TestLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := `["` + strings.Repeat("é", smallFile) + `"]`
	s := sample{file: "a", check: kind("json")}
	if out := checked(t, dir, s, []byte(text)); !out.OK || out.Digest != "sha256:"+sum(text) {
		t.Errorf("%+v", out)
	}
	if out := checked(t, dir, s, []byte(text[:len(text)-1])); out.OK {
		t.Error("cut by one byte, it passes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out := Check(ctx, dir, providers.Output{Name: "o", Kind: "path", Path: "a"}); out.OK {
		t.Error("cancelled, it passes")
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "full", []byte("12345"))
	os.Mkdir(filepath.Join(dir, "folder"), 0o700)
	syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)
	os.Symlink("full", filepath.Join(dir, "link"))
	os.Symlink("gone", filepath.Join(dir, "dangling"))
	for _, c := range []struct {
		o    providers.Output
		want string
	}{
		{providers.Output{Kind: "path", Path: "gone"}, "missing: there is no such file"},
		{providers.Output{Kind: "path", Path: "full/below"}, "missing: a file is where its folder should be"},
		{providers.Output{Kind: "path", Path: "dangling"}, "a link is there whose target is missing: gone"},
		{providers.Output{Kind: "path", Path: "folder"}, "a folder is there, not a file; declare it with dir"},
		{providers.Output{Kind: "path", Path: "pipe"}, "a named pipe is there, not a file"},
		{providers.Output{Kind: "path", Path: "link"}, "ok"},
		{providers.Output{Kind: "path", Path: filepath.Join(dir, "full")}, "ok"},
		{providers.Output{Kind: "path", Path: "full", MinSize: 5}, "ok"},
		{providers.Output{Kind: "path", Path: "full", MinSize: 6}, "min_size: 5 bytes, at least 6 are asked"},
		{providers.Output{Kind: "path", Path: "full", Shared: true, Verify: []providers.VerifyCheck{kind("json")}}, "there, not opened"},
		{providers.Output{Kind: "path", Path: "gone", Shared: true}, "missing: there is no such file"},
		{providers.Output{Kind: "dir", Path: "gone"}, "missing: there is no such folder"},
		{providers.Output{Kind: "dir", Path: "full"}, "a file is there, not a folder; declare it with path"},
		{providers.Output{Kind: "dir", Path: "folder"}, "missing: there is no file in the folder"},
		{providers.Output{Kind: "glob", Path: "gone/*.txt"}, "missing: no file matches"},
		{providers.Output{Kind: "glob", Path: "gone/*.txt", MinCount: providers.NoneNeeded}, "ok"},
		{providers.Output{Kind: "glob", Path: "full", MinSize: 6, MinCount: providers.NoneNeeded}, "full: min_size: 5 bytes, at least 6 are asked"},
		{providers.Output{Kind: "dir", Path: "gone", MinCount: providers.NoneNeeded}, "missing: there is no such folder"},
		{providers.Output{Kind: "glob", Path: "f*", MinCount: 2}, "min_count: 1 files, at least 2 are asked"},
	} {
		out := Check(t.Context(), dir, c.o)
		if out.Verdict != c.want || out.OK != (c.want == "ok" || c.want == "there, not opened") {
			t.Errorf("%+v: %t %q, want %q", c.o, out.OK, out.Verdict, c.want)
		}
	}
}

func TestSets(t *testing.T) {
	// Requirement: TDN-08
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "odd [dir] {a,b}*")
	put(t, dir, "out/b/2.json", []byte("{}"))
	put(t, dir, "out/1.json", []byte("[]"))
	put(t, dir, "out/note.txt", []byte("text"))
	put(t, dir, "out/.muster/x.json", []byte("{"))
	glob := providers.Output{Name: "o", Kind: "glob", Path: "out/**/[0-9].json", MinCount: 2, Verify: []providers.VerifyCheck{kind("json")}}
	out := Check(t.Context(), dir, glob)
	want := "sha256:" + sum("1.json\x00sha256:"+sum("[]")+"\nb/2.json\x00sha256:"+sum("{}")+"\n")
	if !out.OK || out.Files != 2 || out.Size != 4 || out.Digest != want {
		t.Errorf("glob: %+v, want digest %s", out, want)
	}
	if s := Stat(dir, glob); s.Inode != out.Inode || s.Size != out.Size || s.MTime != out.MTime || s.Digest != "" {
		t.Errorf("stat: %+v", s)
	}
	tree := providers.Output{Name: "o", Kind: "dir", Path: "out", MinSize: 8, Verify: []providers.VerifyCheck{kind("nonempty")}}
	if out = Check(t.Context(), dir, tree); !out.OK || out.Files != 3 {
		t.Errorf("dir: %+v", out)
	}
	tree.Verify = []providers.VerifyCheck{kind("json")}
	if out = Check(t.Context(), dir, tree); out.OK || out.Verdict != "note.txt: json: unexpected 'e' at byte 1" {
		t.Errorf("dir of json: %+v", out)
	}
	put(t, dir, "out/b/2.json", []byte("{"))
	if out = Check(t.Context(), dir, glob); out.OK || out.Verdict != "b/2.json: json: unexpected end at byte 1" {
		t.Errorf("one cut short: %+v", out)
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "m/model.bin", []byte("weights"))
	put(t, dir, "m/SUMS", []byte(sum("weights")+"  model.bin\n"))
	put(t, dir, "m/other", []byte("x"))
	for _, c := range []struct{ kind, path, file, want string }{
		{"path", "m/model.bin", "m/SUMS", "ok"},
		{"path", "m/model.bin", "SUMS", "ok"}, // beside the output
		{"path", "m/other", "m/SUMS", "sha256: manifest SUMS does not list the file"},
		{"path", "m/other", "nowhere", "sha256: manifest nowhere: missing: there is no such file"},
		{"dir", "m", "SUMS", "ok"},
		{"dir", "m", "", "sha256: name the manifest of a folder with file"},
	} {
		o := providers.Output{Kind: c.kind, Path: c.path, Verify: []providers.VerifyCheck{{Kind: "sha256", File: c.file}}}
		if out := Check(t.Context(), dir, o); out.Verdict != c.want {
			t.Errorf("%+v: %q", c, out.Verdict)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a", []byte("x"))
	for command, want := range map[string]string{
		`test "$PWD" -ef "$(dirname "$1")"`:        "ok",
		`echo first; echo "bad magic" >&2; exit 3`: "command: exit status 3: bad magic",
		`printf 'red \033[31malert\n'; exit 1`:     "command: exit status 1: red",
		`kill -9 $$`:                               "command: signal: killed, and it said nothing; it was run as: sh -c 'kill -9 $$' sh " + filepath.Join(dir, "a"),
		`no-such-loader "$1"`:                      "command: exit status 127",
		``:                                         "command: there is no command to run",
	} {
		o := providers.Output{Kind: "path", Path: "a", Verify: []providers.VerifyCheck{{Kind: "command", Command: command}}}
		out := Check(t.Context(), dir, o)
		if !strings.HasPrefix(out.Verdict, want) || strings.ContainsRune(out.Verdict, 0x1b) {
			t.Errorf("%q: %q, want %q", command, out.Verdict, want)
		}
	}
}

// TestBounds: what passes its bound is unverified, whatever it is.
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a", []byte("x"))
	huge := filepath.Join(dir, "huge")
	put(t, dir, "huge", nil)
	if err := os.Truncate(huge, 4<<40); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "bomb.gz", packed(t, 64<<20))
	put(t, dir, "tensors", safetensors("{"+strings.Repeat(" ", mostDirectory), 0))
	put(t, dir, "members.zip", crowded(t, mostDirectory/64))
	for _, c := range []struct {
		o    providers.Output
		want string
	}{
		{providers.Output{Path: "a", VerifyTimeout: 50 * time.Millisecond, Verify: []providers.VerifyCheck{{Kind: "command", Command: "sleep 60 & wait"}}},
			"command: it was not verified within 50ms (verify_timeout)"},
		{providers.Output{Path: "huge"}, "huge is 4TiB, and at most 1200GiB are verified (verify_max_size)"},
		{providers.Output{Path: "huge", VerifyTimeout: 50 * time.Millisecond, VerifyMaxSize: 8 << 40}, "it was not verified within 50ms (verify_timeout)"},
		{providers.Output{Path: "bomb.gz", VerifyMaxSize: 1 << 20, Verify: []providers.VerifyCheck{{Kind: "gzip"}}},
			"gzip: more than 1MiB would have to be read and unpacked (verify_max_size)"},
		{providers.Output{Path: "tensors", Verify: []providers.VerifyCheck{{Kind: "safetensors"}}}, "safetensors: " + errDirectory.why},
		{providers.Output{Path: "members.zip", Verify: []providers.VerifyCheck{{Kind: "zip"}}}, "zip: " + errDirectory.why},
		{providers.Output{Path: "h*", Kind: "glob", VerifyMaxSize: 1 << 30}, "it is 4TiB, and at most 1GiB are verified (verify_max_size)"},
	} {
		r := Task{Workdir: dir, Outputs: []providers.Output{c.o}, Walltime: time.Minute}.Run(t.Context())
		if o := r.Outputs[0]; o.OK || !o.Unverified || o.Verdict != c.want || r.Unverified == "" || r.Wrong != "" {
			t.Errorf("%s: %+v, want %q", c.o.Path, r, c.want)
		}
	}
}

// crowded is a zip of n empty members.
func crowded(t *testing.T, n int) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		if _, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("a-member-with-a-name-%08d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packed is n zero bytes as gzip.
func packed(t *testing.T, n int) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return b.Bytes()
}

// TestSaysWhatIsThere: what is no file is named.
func TestSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "file", []byte("x"))
	for name, to := range map[string]string{"null": "/dev/null", "dangling": "nowhere", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600), os.Mkdir(filepath.Join(dir, "folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, path, want string }{
		{"path", "fifo", "a named pipe is there, not a file"},
		{"path", "folder", "a folder is there, not a file; declare it with dir"},
		{"path", "null", "a link to a device (/dev/null) is there, not a file"},
		{"path", "dangling", "a link is there whose target is missing: nowhere"},
		{"path", "loop", "a link is there that leads back to itself"},
		{"path", "file/x", "missing: a file is where its folder should be"},
		{"dir", "file", "a file is there, not a folder; declare it with path"},
		{"dir", "fifo", "a named pipe is there, not a folder"},
		{"dir", "folder", "missing: there is no file in the folder"},
		{"dir", "dangling", "a link is there whose target is missing: nowhere"},
		{"glob", "fo*", "missing: no file matches, but a folder: folder"},
		{"glob", "fif*", "missing: no file matches, but a named pipe: fifo"},
	} {
		o := providers.Output{Name: "o", Kind: c.kind, Path: c.path}
		for _, judged := range []bool{true, false} {
			r := Task{Workdir: dir, Outputs: []providers.Output{o}, Judged: judged}.Run(t.Context())
			if out := r.Outputs[0]; out.OK || out.Verdict != c.want {
				t.Errorf("%s %s: %q, want %q", c.kind, c.path, out.Verdict, c.want)
			}
		}
	}
}

// TestStillWritten refuses a file that changes while it is checked.
func TestStillWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a", []byte("x"))
	o := providers.Output{Kind: "path", Path: "a", Verify: []providers.VerifyCheck{{Kind: "command", Command: `echo more >> "$1"`}}}
	if out := Check(t.Context(), dir, o); out.OK || !strings.Contains(out.Verdict, "it changed while it was checked") {
		t.Errorf("%+v", out)
	}
}

func BenchmarkCheckSmallJSON(b *testing.B) {
	dir := b.TempDir()
	put(b, dir, "a.json", []byte(`{"final": {"loss": 0.125}, "history": [1, 2, 3]}`))
	o := providers.Output{Name: "o", Kind: "path", Path: "a.json", Verify: []providers.VerifyCheck{kind("json")}}
	for b.Loop() {
		if out := Check(b.Context(), dir, o); !out.OK {
			b.Fatal(out.Verdict)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add([]byte(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`), 8)
	f.Add([]byte(`{"__metadata__":{"a":"b"}}`), 0)
	f.Fuzz(func(t *testing.T, header []byte, data int) {
		list, err := parseHeader(header)
		if err != nil {
			return
		}
		if err := extent(list, uint64(data)); err != nil {
			return
		}
		total := uint64(0)
		for _, x := range list {
			total += x.Offsets[1] - x.Offsets[0]
		}
		if total != uint64(data) {
			t.Errorf("%d bytes of tensors in %d bytes of data pass", total, data)
		}
	})
}

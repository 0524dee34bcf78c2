package providertest

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

var fileTests = []test{
	{name: "verify opens outputs and refuses the truncated", run: func(s *site) {
		whole := map[string][]byte{"json": []byte(`{"loss": [1, 2, 3]}`), "gzip": gzipped(), "zip": zipped()}
		var outputs []providers.Output
		for _, kind := range []string{"json", "gzip", "zip"} {
			for _, cut := range []int{0, 5} {
				name := strings.Repeat("cut-", min(cut, 1)) + "x." + kind
				s.write(name, string(whole[kind][:len(whole[kind])-cut]))
				o := path(name)
				o.Verify = []providers.VerifyCheck{{Kind: kind}}
				outputs = append(outputs, o)
			}
		}
		small := path("x.json")
		small.MinSize = 1 << 20
		outputs = append(outputs, small, path("absent"))
		found := s.verify(true, outputs...)
		for i, f := range found {
			want := i < 6 && i%2 == 0
			if f.OK != want || f.Verdict == "" {
				s.Errorf("%s (min_size %d): ok is %v, verdict %q", f.Path, outputs[i].MinSize, f.OK, f.Verdict)
			}
		}
		sum := sha256.Sum256(whole["json"])
		if found[0].Digest != "sha256:"+hex.EncodeToString(sum[:]) || found[0].Size != int64(len(whole["json"])) {
			s.Errorf("digest is %s, size %d", found[0].Digest, found[0].Size)
		}
	}},
	{name: "verify without opening tells size and presence", run: func(s *site) {
		s.write("a", "12345")
		found := s.verify(false, path("a"), path("b"))
		if !found[0].OK || found[0].Size != 5 || found[0].MTime == 0 || found[1].OK {
			s.Errorf("found %+v", found)
		}
	}},
	{name: "a pushed file arrives whole, in place at once", needs: needs("transfer", func(c offer.Capabilities) bool { return c.Transfer }), run: func(s *site) {
		data := noise(3<<20 + 17)
		s.must(s.push("in/data.bin", data, digest(data)))
		if got := s.read("in/data.bin"); got != string(data) {
			s.Errorf("the file has %d bytes, want %d, or others", len(got), len(data))
		}
		s.must(s.push("in/data.bin", data, digest(data))) // again is no error
		s.must(s.push("empty", nil, digest(nil)))
		if got := s.read("empty"); got != "" {
			s.Errorf("the empty file has %d bytes", len(got))
		}
	}},
	{name: "a push that was cut off goes on", needs: needs("transfer", func(c offer.Capabilities) bool { return c.Transfer }), run: func(s *site) {
		data := noise(3 << 20)
		cut := &failing{Reader: bytes.NewReader(data), after: 2 << 20}
		err := s.p.Push(s.ctx, s.b.Name, s.file("data.bin"), int64(len(data)), digest(data), cut)
		if err == nil {
			s.Fatal("a push whose file could not be read is no error")
		}
		if s.exists("data.bin") {
			s.Error("half a file is in place")
		}
		s.must(s.push("data.bin", data, digest(data)))
		if got := s.read("data.bin"); got != string(data) {
			s.Error("the file is not what was pushed")
		}
	}},
	{name: "a push with another digest is refused", needs: needs("transfer", func(c offer.Capabilities) bool { return c.Transfer }), run: func(s *site) {
		err := s.push("data.bin", []byte("something"), digest([]byte("something else")))
		if err == nil || s.exists("data.bin") {
			s.Errorf("error is %v, the file is there: %v", err, s.exists("data.bin"))
		}
	}},
	{name: "a pull goes on from an offset", needs: needs("transfer", func(c offer.Capabilities) bool { return c.Transfer }), run: func(s *site) {
		data := noise(2<<20 + 5)
		s.write("data.bin", string(data))
		for _, offset := range []int64{0, 1, 1 << 20, int64(len(data))} {
			var b bytes.Buffer
			s.must(s.p.Pull(s.ctx, s.b.Name, s.file("data.bin"), offset, &b))
			if !bytes.Equal(b.Bytes(), data[offset:]) {
				s.Errorf("from %d: %d bytes, or others", offset, b.Len())
			}
		}
		err := s.p.Pull(s.ctx, s.b.Name, s.file("absent"), 0, new(bytes.Buffer))
		s.wantClass("Pull", err, providers.NotFound)
		full := errors.New("the disk is full")
		err = s.p.Pull(s.ctx, s.b.Name, s.file("data.bin"), 0, refusing{full})
		if !errors.Is(err, full) {
			s.Errorf("the writer's error came back as %v", err)
		}
	}},
	{name: "list resolves files, globs and folders", run: func(s *site) {
		for _, name := range []string{"d/a.txt", "d/b.txt", "d/e/c.bin", "x.txt"} {
			s.write(name, name)
		}
		for patterns, want := range map[string][]string{
			"x.txt": {"x.txt"}, "d/*.txt": {"d/a.txt", "d/b.txt"}, "d": {"d/a.txt", "d/b.txt", "d/e/c.bin"}, "none*": nil,
			"x.txt d/e/* none* d/*": {"x.txt", "d/e/c.bin", "d/a.txt", "d/b.txt"},
		} {
			var asked []string
			for _, pattern := range strings.Fields(patterns) {
				asked = append(asked, s.file(pattern))
			}
			found, err := s.p.List(s.ctx, s.b.Name, asked)
			s.must(err)
			var got []string
			for _, f := range found {
				if f.Dir {
					continue
				}
				rel, err := filepath.Rel(s.b.Workdir, f.Path)
				s.must(err)
				if got = append(got, rel); f.Size != int64(len(rel)) {
					s.Errorf("%s has %d bytes", rel, f.Size)
				}
			}
			if !slices.Equal(got, want) {
				s.Errorf("%s is %v, want %v", patterns, got, want)
			}
		}
	}},
	{name: "remove moves aside, or deletes, under the fence", run: func(s *site) {
		s.write("keep.txt", "old")
		s.write("drop.txt", "old")
		s.fence = 5
		s.submit(s.once())
		stale := providers.RemoveRequest{Backend: s.b.Name, Fence: 4, Paths: []string{s.file("drop.txt")}}
		s.wantClass("Remove", s.p.Remove(s.ctx, stale), providers.StaleFence)
		if !s.exists("drop.txt") {
			s.Error("a stale fence deleted a file")
		}
		s.must(s.p.Remove(s.ctx, providers.RemoveRequest{Backend: s.b.Name, Fence: 5, Paths: []string{s.file("keep.txt")}, To: s.file("aside")}))
		s.must(s.p.Remove(s.ctx, providers.RemoveRequest{Backend: s.b.Name, Fence: 5, Paths: []string{s.file("drop.txt"), s.file("never")}}))
		if s.exists("keep.txt") || s.exists("drop.txt") || s.read("aside/keep.txt") != "old" {
			s.Error("the files are not where they belong")
		}
	}},
	{name: "what is moved aside goes over nothing", run: func(s *site) {
		for _, text := range []string{"first", "second"} {
			s.write("d/keep.txt", text)
			s.must(s.p.Remove(s.ctx, providers.RemoveRequest{Backend: s.b.Name, Fence: s.fence, Paths: []string{s.file("d/keep.txt")}, To: s.file("aside")}))
		}
		found, err := s.p.List(s.ctx, s.b.Name, []string{s.file("aside")})
		s.must(err)
		var texts []string
		for _, f := range found {
			if text, err := os.ReadFile(f.Path); err == nil {
				texts = append(texts, string(text))
			}
		}
		slices.Sort(texts)
		if !slices.Equal(texts, []string{"first", "second"}) || s.exists("d/keep.txt") {
			s.Errorf("aside are %q", texts)
		}
	}},
	{name: "a rename comes after the removal and goes over nothing", run: func(s *site) {
		s.write("now", "now")
		s.write("kept/one", "before")
		s.write("kept/tree/leaf", "leaf")
		s.must(s.p.Remove(s.ctx, providers.RemoveRequest{
			Backend: s.b.Name, Fence: s.fence, Paths: []string{s.file("now")}, To: s.file("aside"),
			Renames: []providers.Rename{{From: s.file("kept/one"), To: s.file("now")}, {From: s.file("kept/tree"), To: s.file("new/tree")}, {From: s.file("never"), To: s.file("nowhere")}},
		}))
		if s.read("now") != "before" || s.read("aside/now") != "now" || s.read("new/tree/leaf") != "leaf" || s.exists("kept/one") || s.exists("nowhere") {
			s.Error("the files are not where they belong")
		}
		s.write("other", "other")
		over := []providers.Rename{{From: s.file("other"), To: s.file("now")}}
		if err := s.p.Remove(s.ctx, providers.RemoveRequest{Backend: s.b.Name, Fence: s.fence, Renames: over}); err == nil {
			s.Error("a rename over another file is no error")
		}
		if s.read("now") != "before" || s.read("other") != "other" {
			s.Error("a rename went over another file")
		}
	}},
	{name: "a stale fence renames nothing", run: func(s *site) {
		s.write("from", "x")
		s.fence = 5
		s.submit(s.once())
		r := providers.RemoveRequest{Backend: s.b.Name, Fence: 4, Renames: []providers.Rename{{From: s.file("from"), To: s.file("to")}}}
		s.wantClass("Remove", s.p.Remove(s.ctx, r), providers.StaleFence)
		if !s.exists("from") || s.exists("to") {
			s.Error("a stale fence renamed a file")
		}
	}},
}

func (s *site) verify(open bool, outputs ...providers.Output) []offer.Output {
	s.Helper()
	out, err := s.p.Verify(s.ctx, providers.VerifyRequest{Backend: s.b.Name, Workdir: s.b.Workdir, Outputs: outputs, Open: open})
	s.must(err)
	if len(out) != len(outputs) {
		s.Fatalf("%d verdicts of %d outputs", len(out), len(outputs))
	}
	for i, f := range out {
		if f.Name != outputs[i].Name {
			s.Fatalf("verdict %d has token %s, want %s", i, f.Name, outputs[i].Name)
		}
	}
	return out
}

func (s *site) push(name string, data []byte, sum string) error {
	return s.p.Push(s.ctx, s.b.Name, s.file(name), int64(len(data)), sum, bytes.NewReader(data))
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b)
	return b
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func gzipped() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(noise(1000))
	_ = w.Close()
	return b.Bytes()
}

func zipped() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, _ := w.Create("member")
	_, _ = f.Write(noise(1000))
	_ = w.Close()
	return b.Bytes()
}

// failing is a file that cannot be read to its end.
type failing struct {
	*bytes.Reader
	after int64
}

func (f *failing) Read(p []byte) (int, error) {
	at, _ := f.Seek(0, io.SeekCurrent)
	if at >= f.after {
		return 0, os.ErrPermission
	}
	return f.Reader.Read(p[:min(int64(len(p)), f.after-at)])
}

// refusing is a writer that cannot write.
type refusing struct{ err error }

func (r refusing) Write([]byte) (int, error) { return 0, r.err }

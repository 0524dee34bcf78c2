package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/storetest"
)

var update = flag.Bool("update", false, "write golden files anew")

func TestRoundTripOfRandomStates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := state.New("c")
		for _, e := range storetest.Events(30).Draw(t, "events") {
			raw, _ := json.Marshal(e) // so that text that is not UTF-8 is as in a journal
			if !bytes.Contains(raw, []byte(`\ufffd`)) {
				s.Apply(e)
			}
		}
		data, err := Bytes(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode("s", data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, back, cmpopts.IgnoreUnexported(state.State{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		again, _ := Bytes(back)
		if !bytes.Equal(data, again) {
			t.Fatalf("%s\n%s", data, again)
		}
		edited, err := Read("s", data)
		if err != nil || edited.Digest() != s.Digest() {
			t.Fatalf("read as if edited: %v", err)
		}
	})
}

func TestManyParts(t *testing.T) {
	t.Parallel()
	s := campaign(3 * perTurn)
	data, err := Bytes(s)
	if err != nil || len(data) < 3*partSize {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if !json.Valid(data) {
		t.Error("it is no JSON")
	}
	back, err := Decode("s", data)
	if err != nil || back.Digest() != s.Digest() || len(back.Ledger) != len(s.Ledger) {
		t.Fatalf("%v", err)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	data, err := Bytes(campaign(2))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/v1.json", data)
	if !json.Valid(data) {
		t.Error("it is no JSON")
	}
	if n := bytes.Count(data, []byte("\n{\"address\":\"phase.")); n != 2+4 {
		t.Errorf("%d rows: not a line a job", n)
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestUpgradeFromVersion0(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/v0.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode("testdata/v0.json", data)
	if err != nil {
		t.Fatal(err)
	}
	j := s.Jobs[`phase.teachers["lr=1e-3"]`]
	if s.Version != state.SchemaVersion || s.Serial != 12 || len(s.Jobs) != 2 || j == nil || j.Status != state.Completed || len(j.Attempts) != 1 || *j.Attempts[0].Exit != 0 {
		t.Errorf("%+v", s)
	}
	again, err := Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/v0.upgraded.json", again)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	whole, err := Bytes(campaign(2))
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole)
	newer := campaign(1)
	newer.Muster = "9.1.0"
	later := []byte(strings.Replace(string(must(Bytes(newer))), `{"version":1`, `{"version":2`, 1))
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "digest"},
		{"cut off", text[:len(text)/2], "cut off, or changed by hand"},
		{"a job taken out", strings.Replace(text, `"status":"completed"`, `"status":"failed"`, 1), "digest does not match"},
		{"formatted anew", indent(t, whole), "changed by hand"},
		{"no JSON", "hello", "digest"},
		{"a later version, sealed", string(seal(later)), "use muster 9.1.0 or a newer one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode("muster.state.json", []byte(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			var corrupt *store.CorruptError
			if errors.As(err, &corrupt) && !strings.Contains(corrupt.Way, "cp muster.state.json.backup muster.state.json") {
				t.Errorf("no way out: %+v", corrupt)
			}
		})
	}
}

func TestReadTakesWhatWasEdited(t *testing.T) {
	t.Parallel()
	s := campaign(3)
	data, err := Bytes(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read("edited", []byte(indent(t, data)))
	if err != nil || got.Digest() != s.Digest() {
		t.Fatalf("%v", err)
	}
	for _, c := range []struct{ name, data, want string }{
		{"no version", "{}", "no version"},
		{"negative version", `{"version":-1}`, "does not exist"},
		{"a job twice", `{"version":1,"jobs":[{"address":"a","phase":"p","status":"failed"},{"address":"a","phase":"p","status":"failed"}]}`, "twice"},
		{"a job without address", `{"version":1,"jobs":[{}]}`, "no address"},
		{"null for a job", `{"version":1,"jobs":[null]}`, "no address"},
		{"version 0, jobs a list", `{"version":0,"jobs":[]}`, "no object"},
	} {
		if _, err := Read("edited", []byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// seal computes a document's digest again.
func seal(data []byte) []byte {
	body := data[:len(data)-SealLen]
	sum := sha256.Sum256(body)
	return append(bytes.Clone(body), digestHead+hex.EncodeToString(sum[:])+digestTail...)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func indent(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

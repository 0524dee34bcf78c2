package verify

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A sample is a whole file of one kind.
type sample struct {
	file  string // its name
	check providers.VerifyCheck
	data  []byte
	// whole are lengths at which a cut leaves a shorter whole.
	whole []int
}

func samples(t testing.TB, dir string) map[string]sample {
	put(t, dir, "a.bin", []byte("alpha"))
	put(t, dir, "b.bin", []byte("beta"))
	jsonl := "{\"step\": 1}\n{\"step\": 2}\n"
	csv := "step,loss\n1,0.5\n2,0.25\n"
	manifest := sum("alpha") + "  a.bin\n" + sum("beta") + " *b.bin\n"
	line := len(sum("")) + len("  a.bin")
	return map[string]sample{
		"json":        {file: "a.json", check: kind("json"), data: []byte(`{"final": {"loss": -1.5e-3, "é": [true, null, "\u00e9"]}}`)},
		"jsonl":       {file: "a.jsonl", check: kind("jsonl"), data: []byte(jsonl), whole: []int{11, 12, 23}},
		"csv":         {file: "a.csv", check: kind("csv"), data: []byte(csv), whole: []int{10, 16}},
		"zip":         {file: "a.pt", check: kind("zip"), data: zipped(t, map[string][]byte{"data.pkl": []byte("pickled"), "data/0": bytes.Repeat([]byte{1, 2}, 50)})},
		"npz":         {file: "a.npz", check: kind("zip"), data: zipped(t, map[string][]byte{"x.npy": npy("(2, 3)", 48)})},
		"gzip":        {file: "a.gz", check: kind("gzip"), data: gzipped(t, "some text, "+strings.Repeat("again ", 20))},
		"safetensors": {file: "a.safetensors", check: kind("safetensors"), data: safetensors(`{"__metadata__":{"f":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"a":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]}} `, 12)},
		"sha256":      {file: "SHA256SUMS", check: kind("sha256"), data: []byte(manifest), whole: []int{line, line + 1, len(manifest) - 1}},
		"command":     {file: "a.txt", check: providers.VerifyCheck{Kind: "command", Command: `test "$1" = "$MUSTER_OUTPUT" && grep -q '^end$' "$1"`}, data: []byte("begin\nend\n"), whole: []int{9}},
		"nonempty":    {file: "a.any", check: kind("nonempty"), data: []byte("x")},
	}
}

func kind(k string) providers.VerifyCheck { return providers.VerifyCheck{Kind: k} }

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func put(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t testing.TB, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// npy is an array of float64 with this many bytes of data.
func npy(shape string, data int) []byte {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }\n", shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	return append(append(b, header...), make([]byte, data)...)
}

func safetensors(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

// checked runs one check over these bytes.
func checked(t testing.TB, dir string, s sample, data []byte) offer.Output {
	t.Helper()
	put(t, dir, s.file, data)
	return Check(t.Context(), dir, providers.Output{Name: "o", Kind: "path", Path: s.file, Verify: []providers.VerifyCheck{s.check}})
}

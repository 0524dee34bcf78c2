package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
	"github.com/muster-run/muster/state/store"
)

// Decode reads a snapshot. The state shares text with data, which must not
// change afterwards. Anything that is not as Encode wrote it is a
// *store.CorruptError; a snapshot of an older format is brought up to date, of
// a newer one it is a *store.NewerError.
func Decode(path string, data []byte) (*state.State, error) {
	d := decoder{path: path, text: unsafe.String(unsafe.SliceData(data), len(data))}
	body, want, sealed := d.seal()
	if !sealed {
		if version, ok := versionOf(data); ok && version < firstSealed {
			return Read(path, data)
		}
		return nil, d.damage(len(data), "it does not end with its digest: it was cut off, or changed by hand")
	}
	// The hash is taken beside the decoding, which is safe on any bytes; only a
	// confirmed state is returned.
	var s *state.State
	var parse error
	var g errgroup.Group
	var got [sha256.Size]byte
	g.Go(func() error { got = sha256.Sum256(data[:len(body)]); return nil })
	s, parse = d.parse(body)
	_ = g.Wait()
	if hex.EncodeToString(got[:]) != want {
		return nil, d.damage(0, "its digest does not match: some of its bytes changed")
	}
	if version, ok := versionOf(data); ok && version != state.SchemaVersion {
		return Read(path, data)
	}
	return s, parse
}

type decoder struct {
	path string
	text string
}

func (d *decoder) damage(at int, why string) error {
	return &store.CorruptError{Path: d.path, Offset: int64(at), Why: why, Way: store.WaySnapshot(d.path)}
}

// seal splits the digest off.
func (d *decoder) seal() (body, digest string, ok bool) {
	at := len(d.text) - SealLen
	if at < 0 {
		return "", "", false
	}
	rest, ok := strings.CutPrefix(d.text[at:], digestHead)
	if !ok {
		return "", "", false
	}
	digest, ok = strings.CutSuffix(rest, digestTail)
	return d.text[:at], digest, ok
}

// parse reads the output of Encode, in parts of about partSize bytes.
func (d *decoder) parse(body string) (*state.State, error) {
	head, rest, ok := strings.Cut(body, ledgerMark)
	if !ok {
		return nil, d.damage(0, "it has no ledger")
	}
	s := &state.State{}
	if err := json.Unmarshal([]byte(head+"}"), s); err != nil {
		return nil, d.damage(0, "its head is no JSON: "+err.Error())
	}
	ledger, jobs, ok := cutRows(rest, jobsMark)
	if !ok {
		return nil, d.damage(len(head), "it has no jobs")
	}
	at := len(body) - len(jobs)
	if jobs, ok = strings.CutSuffix(jobs, digestMark); !ok {
		return nil, d.damage(at, "its jobs have no end")
	}
	entries, err := decodeRows(ledger, (*codec.Decoder).Entry)
	if err != nil {
		return nil, d.damage(len(head), "the ledger: "+err.Error())
	}
	rows, err := decodeRows(jobs, (*codec.Decoder).Job)
	if err != nil {
		return nil, d.damage(at, "the jobs: "+err.Error())
	}
	s.Ledger = flat(entries)
	if key := s.Fill(rows); key != "" {
		return nil, d.damage(at, fmt.Sprintf("job %q is out of order", key))
	}
	return s, nil
}

// cutRows splits rows from the rest. A mark cannot stand inside a row: rows
// have no newlines of their own.
func cutRows(text, mark string) (rows, rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, mark); ok {
		return "", rest, true
	}
	rows, rest, ok = strings.Cut(text, "\n"+mark)
	return rows + "\n", rest, ok
}

// partSize is how many bytes of rows a core decodes in one go.
const partSize = 1 << 20

// decodeRows decodes rows on all cores, in their order.
func decodeRows[T any](rows string, decode func(*codec.Decoder, string, *T) error) ([][]T, error) {
	var parts []string
	for rows != "" {
		n := len(rows)
		if n > partSize {
			if i := strings.IndexByte(rows[partSize:], '\n'); i >= 0 {
				n = partSize + i + 1
			}
		}
		parts = append(parts, rows[:n])
		rows = rows[n:]
	}
	out := make([][]T, len(parts))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range parts {
		g.Go(func() error {
			var d codec.Decoder
			list := make([]T, strings.Count(part, "\n"))
			for n := range list {
				line, after, _ := strings.Cut(part, "\n")
				if err := decode(&d, strings.TrimSuffix(line, ","), &list[n]); err != nil {
					return fmt.Errorf("%s: %w", line[:min(len(line), 80)], err)
				}
				part = after
			}
			out[i] = list
			return nil
		})
	}
	return out, g.Wait()
}

func count[T any](parts [][]T) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func flat[T any](parts [][]T) []T {
	if len(parts) == 0 {
		return nil
	}
	all := make([]T, 0, count(parts))
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// versionOf is the schema version that the document names.
func versionOf(data []byte) (int, bool) {
	const head = `{"version":`
	if rest, ok := bytes.CutPrefix(data, []byte(head)); ok {
		var n, digits int
		for digits < len(rest) && digits < 9 && rest[digits] >= '0' && rest[digits] <= '9' {
			n = n*10 + int(rest[digits]-'0')
			digits++
		}
		if digits > 0 {
			return n, true
		}
	}
	var v struct {
		Version *int `json:"version"`
	}
	if json.Unmarshal(data, &v) != nil || v.Version == nil {
		return 0, false
	}
	return *v.Version, true
}

// FenceOf is the fence that the head of a snapshot names, 0 if it names none.
// Head needs not be the whole file.
func FenceOf(head []byte) (fence uint64) {
	_, rest, ok := bytes.Cut(head, []byte(`"fence":`))
	if !ok {
		return 0
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		fence = fence*10 + uint64(c-'0')
	}
	return fence
}

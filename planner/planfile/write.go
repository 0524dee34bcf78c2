package planfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// magic begins every plan file; the head has the format's number.
const magic = "muster plan\n"

// Write saves a plan: to a temporary file beside it, synced, then renamed, so
// that a reader never sees half of one.
func Write(path string, p *planner.Plan, m Meta) error {
	if err := atomicfile.Fill(path, 0o600, func(w io.Writer) error { return encode(w, p, m) }); err != nil {
		return fmt.Errorf("save plan %s: %w", path, err)
	}
	return nil
}

func encode(w io.Writer, p *planner.Plan, m Meta) error {
	sum := sha256.New()
	out := &writer{Writer: bufio.NewWriterSize(w, 1<<16), sum: sum}
	head, err := json.Marshal(headOf(p, m))
	if err != nil {
		return err
	}
	out.head(head)
	for _, pp := range p.Phases {
		out.phase(pp)
	}
	return out.end()
}

func headOf(p *planner.Plan, m Meta) Head {
	h := Head{
		Format: version, Muster: m.Muster, Providers: m.Providers, ID: p.ID, Body: p.Body, Campaign: p.Campaign, Digest: p.Digest, Lineage: p.Lineage,
		Serial: p.Serial, Now: p.Now, Reason: p.Reason, Options: m.Input.Options, Backends: p.Backends, Transfers: p.Transfers, Notes: p.Notes,
		Forecast: p.Forecast, Budgets: p.Budgets, Ceiling: p.Ceiling, Asks: p.Asks, Second: p.Second, Counts: p.Counts, Faster: p.Faster(), Risks: p.Risks(), Inside: p.Inside(),
	}
	if p.Counts.Changes() {
		h.Quotes = m.Input.Quotes // the approval covers them, and here is one
	}
	h.Options.Destroy, h.Options.RefreshOnly = p.Destroy, p.RefreshOnly
	if c := m.Input.Campaign; c != nil {
		h.Files, h.Tolerance = fileDigests(c), c.Policy.PriceTolerance
		h.Variables, h.Sensitive = variables(c)
	}
	for _, pp := range p.Phases {
		h.Phases = append(h.Phases, Phase{Name: pp.Phase.Name, Cells: len(pp.Kind), Placements: pp.Placements, After: pp.After, Smoke: pp.Smoke, Pilot: pp.Pilot, Hold: pp.Hold, Reread: pp.Reread, Source: pp.Source, Images: pp.Images, SmokeImages: pp.SmokeImages, ImageStamps: pp.ImageStamps, Raw: pp.Raw})
	}
	for _, r := range p.Loose {
		h.Loose = append(h.Loose, Row{Kind: r.Kind, Address: r.Address, Backend: r.Backend, Release: r.Release, Orphan: r.Orphan, PerHour: r.PerHour, Away: r.Away, Detail: detail(r.Detail), Before: before(r.Detail.State)})
	}
	for _, d := range p.Diags {
		if d.Severity == diag.Warning {
			h.Warnings = append(h.Warnings, warning{d.Summary, d.Detail, d.Address})
		}
	}
	return h
}

// fileDigests are of the files that a plan rests on: the campaign's, and the
// profiles of its own. By them a refusal names the file that changed.
func fileDigests(c *lang.Campaign) map[string]string {
	out := map[string]string{}
	add := func(name string, text []byte) {
		s := sha256.Sum256(text)
		out[name] = hex.EncodeToString(s[:16])
	}
	for name, f := range c.Files {
		if strings.HasSuffix(name, ".muster.hcl") { // not variables: their values are in the head
			add(filepath.Base(name), f.Bytes)
		}
	}
	for _, b := range c.Backends {
		if b.OwnProfile() {
			add(b.Profile, []byte(b.ProfileSource))
		}
	}
	return out
}

// variables are the values that apply needs again, and the names of those
// that no file may hold.
func variables(c *lang.Campaign) (values map[string]json.RawMessage, sensitive []string) {
	values = map[string]json.RawMessage{}
	for _, v := range c.Variables {
		switch {
		case v.Sensitive:
			sensitive = append(sensitive, v.Name)
		case v.Text != "":
			values[v.Name] = json.RawMessage(v.Text)
		}
	}
	return values, sensitive
}

// A writer counts everything into the checksum.
type writer struct {
	*bufio.Writer
	sum hash.Hash
	buf []byte
	err error
}

func (w *writer) bytes(b []byte) {
	if w.err != nil {
		return
	}
	w.sum.Write(b)
	_, w.err = w.Write(b)
}

func (w *writer) head(line []byte) {
	w.bytes([]byte(magic))
	w.bytes(append(line, '\n'))
}

func (w *writer) end() error {
	if w.err == nil {
		_, w.err = w.Write(w.sum.Sum(nil))
	}
	if w.err != nil {
		return w.err
	}
	return w.Flush()
}

// statuses are one byte in a row; the position never changes.
var statuses = []state.Status{"", state.Submitting, state.Queued, state.Running, state.Verifying, state.Waiting, state.Completed, state.Failed, state.Held, state.Cancelled, state.Forgotten}

// phase writes the rows of a phase, then the details that are kept. A row is
// kind, status and attempt of the record, place, result, the record's result
// where it differs, and the key: some 25 bytes and the key.
func (w *writer) phase(pp *planner.PhasePlan) {
	for i, k := range pp.Kind {
		b := before(pp.Record(i))
		buf := append(w.buf[:0], byte(k), byte(max(slices.Index(statuses, b.Status), 0)))
		buf = binary.AppendUvarint(buf, uint64(b.Attempt))
		buf = binary.LittleEndian.AppendUint16(buf, pp.Place[i])
		buf = append(buf, pp.Result[i][:]...)
		old, ok := result.ParseHash(b.Result)
		if ok && old != pp.Result[i] {
			buf = append(append(buf, 1), old[:]...)
		} else {
			buf = append(buf, 0)
		}
		at := len(buf)
		buf = pp.Phase.AppendKey(buf, i)
		n := len(buf) - at
		buf = binary.AppendUvarint(buf, uint64(n))
		w.buf = rotate(buf, at, n)
		w.bytes(w.buf)
	}
	w.details(pp)
}

// rotate puts the length that was appended after the key before it.
func rotate(buf []byte, at, n int) []byte {
	length := append([]byte(nil), buf[at+n:]...)
	copy(buf[at+len(length):], buf[at:at+n])
	copy(buf[at:], length)
	return buf
}

func (w *writer) details(pp *planner.PhasePlan) {
	cells := make([]int, 0, len(pp.Details))
	for i := range pp.Details {
		cells = append(cells, i)
	}
	slices.Sort(cells)
	w.bytes(binary.AppendUvarint(nil, uint64(len(cells))))
	for _, i := range cells {
		text, err := json.Marshal(detail(pp.Details[i]))
		if err != nil {
			w.err = err
			return
		}
		buf := binary.AppendUvarint(w.buf[:0], uint64(i))
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		w.buf = append(buf, text...)
		w.bytes(w.buf)
	}
}

package lang

import (
	"bytes"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/expr"
)

// Variant is which form of a job is meant.
type Variant int

// The variants of a job.
const (
	Run       Variant = iota // also a pilot: a pilot is a real cell
	SmokeRun                 // the same job with the smoke's params
	CanaryRun                // the same job with the canary's params, a longer smoke
)

// Smoke reports whether the job proves its phase, so that its outputs are no results.
func (v Variant) Smoke() bool { return v != Run }

// Len is the number of cells of the phase.
func (p *Phase) Len() int { return p.Grid.Len() }

// Key is the cell's identity text, `N=384,seed=42`; "" without a grid.
func (p *Phase) Key(i int) string { return p.Grid.Key(i) }

// AppendKey appends the cell's key.
func (p *Phase) AppendKey(buf []byte, i int) []byte { return p.Grid.AppendKey(buf, i) }

// Index finds a cell by key; its axes may come in any order.
func (p *Phase) Index(key string) (int, bool) { return p.Grid.Index(key) }

// Address is `phase.NAME["key"]`, or `phase.NAME` without a grid.
func (p *Phase) Address(i int) string { return string(p.AppendAddress(nil, i)) }

// AppendAddress appends the cell's address.
func (p *Phase) AppendAddress(buf []byte, i int) []byte {
	buf = append(append(buf, "phase."...), p.Name...)
	if len(p.Grid.Axes) == 0 {
		return buf
	}
	start := len(buf) + 2
	buf = p.Grid.AppendKey(append(buf, '[', '"'), i)
	if bytes.IndexByte(buf[start:], '"') < 0 && bytes.IndexByte(buf[start:], '\\') < 0 {
		return append(buf, '"', ']')
	}
	// A key with quotes in it is quoted as addresses are.
	return addr.Job{Phase: p.Name, Key: string(buf[start:])}.Append(buf[:start-len(p.Name)-len(`phase.["`)])
}

// Axes are the texts of a cell's axes by name, for records; nil without a grid.
func (p *Phase) Axes(i int) map[string]string {
	if len(p.Grid.Axes) == 0 {
		return nil
	}
	out := make(map[string]string, len(p.Grid.Axes))
	for a := range p.Grid.Axes {
		out[p.Grid.Axes[a].Name] = p.Grid.Value(i, a).Text
	}
	return out
}

// Label is the job's name as shown and used as the scheduler's job name.
func (p *Phase) Label(i int) string { return expr.Unescape(string(p.appendLabel(nil, i))) }

// appendLabel appends the label in its canonical text.
func (p *Phase) appendLabel(buf []byte, i int) []byte {
	if t := p.job.label; t != nil {
		return t.AppendText(buf, i)
	}
	buf = append(buf, p.Name...)
	if len(p.Grid.Axes) == 0 {
		return buf
	}
	return p.Grid.AppendKey(append(buf, '-'), i)
}

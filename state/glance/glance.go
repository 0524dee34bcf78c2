// Package glance keeps, beside a snapshot, the values that a plan needs of a
// state in which all work has ended, nearly all of it well: a tenth of the
// snapshot's bytes, read without parsing. Every snapshot writes a new one,
// which counts only for that snapshot. A reader that finds it missing, damaged
// or insufficient reads the snapshot.
package glance

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"path/filepath"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/state"
)

// A Snapshot says which snapshot a glance was made of.
type Snapshot struct {
	Size int64  // bytes
	Sum  uint32 // CRC-32C of all of them
	Seal string // its last line, which holds its digest
}

// Table is the polynomial of every checksum here: CRC-32C (RFC 3720, B.4),
// which finds every change within 32 bits and for which processors have an
// instruction.
var Table = crc32.MakeTable(crc32.Castagnoli)

// mostStopped is how many jobs may have stopped without being done. Each has
// its whole record in a glance, which is a parsed kilobyte or more.
const mostStopped = 1000

// mostSamples is how many samples a glance may have.
const mostSamples = 1000

// Metrics say by which definitions the metrics of completed jobs were read.
type Metrics struct {
	// Samples have one record for each phase, definition and set of metrics with a value.
	Samples     []state.Job
	Definitions map[string]json.RawMessage // those of samples that name metrics
}

// metricsOf gives false for a state with too many kinds of records.
func metricsOf(s *state.State) (ms Metrics, ok bool) {
	seen := map[string]*state.Job{}
	var key []byte
	for _, j := range s.Jobs {
		if j.Smoke || j.Status != state.Completed {
			continue
		}
		key = appendText(appendText(key[:0], j.Phase), j.Definition)
		for name, print := range j.Read.All() {
			key = appendText(appendText(key, name), print)
		}
		key = append(key, 0)
		if len(j.Metrics) > 0 {
			for _, name := range slices.Sorted(maps.Keys(j.Metrics)) {
				key = appendText(key, name)
			}
		}
		if seen[string(key)] == nil {
			seen[string(key)] = j
		}
		if len(seen) > mostSamples {
			return ms, false
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		ms.add(seen[key], s.Definitions)
	}
	return ms, true
}

func (ms *Metrics) add(j *state.Job, definitions map[string]json.RawMessage) {
	sample := state.Job{Phase: j.Phase, Status: j.Status, Definition: j.Definition, Read: j.Read}
	for name := range j.Metrics {
		if sample.Metrics == nil {
			sample.Metrics = map[string]string{}
		}
		sample.Metrics[name] = "0"
	}
	for _, o := range j.Outputs {
		sample.Outputs = append(sample.Outputs, state.Output{Name: o.Name, Digest: "-"})
	}
	ms.Samples = append(ms.Samples, sample)
	if def := definitions[j.Definition]; bytes.Contains(def, []byte(`"metrics":`)) {
		if ms.Definitions == nil {
			ms.Definitions = map[string]json.RawMessage{}
		}
		ms.Definitions[j.Definition] = def
	}
}

// settled reports whether all there is to know of a state is that its jobs
// ended well, and where their files are on this machine, and how a few others
// stopped: nothing is under way, rented, billed later, copied elsewhere or
// missing.
func settled(s *state.State) bool {
	if len(s.Jobs) == 0 || len(s.Rentals) > 0 {
		return false
	}
	for i := range s.Ledger {
		if s.Ledger[i].Unknown {
			return false
		}
	}
	left := mostStopped
	for _, j := range s.Jobs {
		if stopped(j) {
			left--
		} else if !over(j) {
			return false
		}
	}
	return left >= 0
}

// stopped reports whether a job ended in another way than well, so that it
// stays as it is until somebody does something: no backend has it.
func stopped(j *state.Job) bool {
	switch j.Status {
	case state.Failed, state.Held, state.Cancelled:
		return !j.Smoke && !j.InFlight()
	}
	return false
}

// over reports whether a job ended for good. A smoke's validation says how it ended.
func over(j *state.Job) bool {
	if j.Smoke {
		return !j.InFlight()
	}
	if j.Status != state.Completed {
		return false
	}
	for i := range j.Outputs {
		if !plain(&j.Outputs[i]) {
			return false
		}
	}
	return true
}

// plain reports whether an output is one file, where it was made.
func plain(o *state.Output) bool {
	return !o.Missing && o.Files == 0 && len(o.Copies) == 0 && filepath.IsAbs(o.Workdir)
}

// An account is the key by which entries of a ledger are summed: budgets tell
// phases and backends apart.
type account struct{ phase, backend string }

// sums is a ledger with one entry for each account. A sum that cannot be taken
// gives false.
func sums(ledger []state.Entry) ([]state.Entry, bool) {
	var out []state.Entry
	totals := map[account]map[string]decimal.Decimal{}
	for i := range ledger {
		e := &ledger[i]
		at := account{e.Phase, e.Backend}
		if totals[at] == nil {
			totals[at] = map[string]decimal.Decimal{}
			out = append(out, state.Entry{Phase: e.Phase, Backend: e.Backend})
		}
		for unit, text := range e.Spent.All() {
			d, err := decimal.NewFromString(text)
			if err != nil {
				return nil, false
			}
			totals[at][unit] = totals[at][unit].Add(d)
		}
	}
	for i := range out {
		spent := state.Amounts{}
		for unit, d := range totals[account{out[i].Phase, out[i].Backend}] {
			spent[unit] = d.String()
		}
		out[i].Spent = state.TextsOf(spent)
	}
	return out, true
}

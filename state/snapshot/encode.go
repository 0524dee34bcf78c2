// Package snapshot writes a state as one JSON document and reads it back, on
// every core and in linear time. The document has one line a job, sorted, so
// that jq, grep and diff work on it, and a digest at its end, which reveals
// every changed byte.
package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/muster-run/muster/state"
	"github.com/muster-run/muster/state/codec"
)

// The document is the head, less its closing brace, and then
//
//	,"ledger":[
//	{…},
//	{…}
//	],
//	"jobs":[
//	{…}
//	],
//	"digest":"sha256:HEX"}
//
// HEX is the SHA-256 of every byte before its own line:
// head -n -1 muster.state.json | sha256sum
const (
	ledgerMark = ",\"ledger\":[\n"
	jobsMark   = "],\n\"jobs\":[\n"
	digestMark = "],\n"
	digestHead = `"digest":"sha256:`
	digestTail = "\"}\n"
)

// SealLen is the length of the last line, which has the digest: no two
// snapshots that differ end in the same.
const SealLen = len(digestHead) + 2*sha256.Size + len(digestTail)

// perTurn is how many rows a core encodes before they are written; it bounds
// the memory of Encode.
const perTurn = 512

// Encode writes the state. The same state always gives the same bytes.
func Encode(w io.Writer, s *state.State) error {
	hash := sha256.New()
	out := io.MultiWriter(w, hash)
	head := *s
	head.Version, head.Ledger, head.Jobs = state.SchemaVersion, nil, nil
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&head); err != nil {
		return fmt.Errorf("encode the head of the state: %w", err)
	}
	b.Truncate(b.Len() - len("}\n"))
	b.WriteString(ledgerMark)
	if _, err := out.Write(b.Bytes()); err != nil {
		return err
	}
	err := rows(out, len(s.Ledger), func(b []byte, i int) ([]byte, error) { return codec.AppendEntry(b, &s.Ledger[i]) })
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, jobsMark); err != nil {
		return err
	}
	keys := s.Addresses()
	err = rows(out, len(keys), func(b []byte, i int) ([]byte, error) { return codec.AppendJob(b, s.Jobs[keys[i]]) })
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, digestMark); err != nil {
		return err
	}
	_, err = io.WriteString(w, digestHead+hex.EncodeToString(hash.Sum(nil))+digestTail)
	return err
}

// rows writes n rows, a line each, encoding them on all cores.
func rows(w io.Writer, n int, row func(b []byte, i int) ([]byte, error)) error {
	type part struct {
		room *[]byte // buffers of text, for reuse
		text []byte
		err  error
	}
	parts := make(chan chan part, runtime.GOMAXPROCS(0))
	stop := make(chan struct{})
	defer func() { // the producer ends before we do
		close(stop)
		for range parts {
		}
	}()
	go func() {
		defer close(parts)
		for from := range stepped(n) {
			done := make(chan part, 1)
			select {
			case parts <- done:
			case <-stop:
				return
			}
			go func() {
				p := part{room: buffers.Get().(*[]byte)}
				p.text = (*p.room)[:0]
				for i := from; i < min(from+perTurn, n) && p.err == nil; i++ {
					p.text, p.err = row(p.text, i)
					if i < n-1 {
						p.text = append(p.text, ',')
					}
					p.text = append(p.text, '\n')
				}
				done <- p
			}()
		}
	}()
	for done := range parts {
		p := <-done
		if p.err != nil {
			return fmt.Errorf("encode a row of the state: %w", p.err)
		}
		if _, err := w.Write(p.text); err != nil {
			return err
		}
		*p.room = p.text
		buffers.Put(p.room)
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// stepped gives 0, perTurn, 2·perTurn … below n.
func stepped(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i += perTurn {
			if !yield(i) {
				return
			}
		}
	}
}

// Bytes is Encode into memory.
func Bytes(s *state.State) ([]byte, error) {
	var b bytes.Buffer
	if err := Encode(&b, s); err != nil {
		return nil, err
	}
	return slices.Clip(b.Bytes()), nil
}

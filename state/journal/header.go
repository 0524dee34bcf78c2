package journal

import (
	"encoding/json"
	"time"
)

// A Header is the first line of a journal: its writer, and its predecessor.
type Header struct {
	Format  int       `json:"journal"`
	Fence   uint64    `json:"fence"`
	After   Position  `json:"after"` // the accepted part of the journal before it
	Lineage string    `json:"lineage,omitempty"`
	Muster  string    `json:"muster,omitempty"`
	Who     string    `json:"who,omitempty"`
	Host    string    `json:"host,omitempty"`
	At      time.Time `json:"at"`
}

// A Position is an event in the history of a state: the holder that came
// last, and the number of the last event accepted.
type Position struct {
	Fence uint64 `json:"fence"`
	Seq   uint64 `json:"seq"`
}

// Bytes is the header's line.
func (h Header) Bytes() ([]byte, error) {
	h.Format = format
	return appendSealed(nil, func(b []byte) ([]byte, error) {
		text, err := json.Marshal(h)
		if err != nil {
			return b, err
		}
		return append(b, text[1:]...), nil // less the brace before the checksum
	})
}

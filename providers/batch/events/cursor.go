package events

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
)

// From is the number of events that the holder of a cursor has. An empty cursor
// continues after the last acknowledged event.
func (l *Log) From(cursor string) int {
	if cursor == "" {
		text, _ := os.ReadFile(l.acked())
		cursor = strings.TrimSpace(string(text))
	}
	at, _ := strconv.Atoi(cursor)
	return min(max(at, 0), len(l.all))
}

// Ack keeps the cursor that a watcher has stored. If it cannot be kept, events are
// only repeated.
func (l *Log) Ack(cursor string) {
	_ = atomicfile.WriteCache(l.acked(), []byte(cursor+"\n"))
}

func (l *Log) acked() string { return filepath.Join(filepath.Dir(l.path), "acked") }

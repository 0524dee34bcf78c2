package events

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// From is how many events somebody has been told who has this cursor; without
// one it goes on where the last was acknowledged.
func (l *Log) From(cursor string) int {
	if cursor == "" {
		text, _ := os.ReadFile(l.acked())
		cursor = strings.TrimSpace(string(text))
	}
	at, _ := strconv.Atoi(cursor)
	return min(max(at, 0), len(l.all))
}

// Ack keeps the cursor that somebody holds for sure. One that cannot be kept
// costs no more than that events are told again.
func (l *Log) Ack(cursor string) {
	next := l.acked() + ".new"
	if err := os.WriteFile(next, []byte(cursor+"\n"), 0o600); err == nil {
		os.Rename(next, l.acked())
	}
}

func (l *Log) acked() string { return filepath.Join(filepath.Dir(l.path), "acked") }

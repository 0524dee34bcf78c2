package wrapper

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Record is what a wrapper wrote down of one start.
type Record struct {
	Token   string
	Restart int
	PID     int    // of the wrapper, which leads the job's session
	Boot    string // boot id of the machine then
	Launch  string // who started it: the backend's id, or the queue's own
	// Exit is the command's exit status, as a shell gives it: above 128 for a
	// signal. Nil: the wrapper did not see the end.
	Exit *int
	// Ended is when the record was last written; no good if Exit is nil.
	Ended time.Time
}

// ReadRecord reads the record at path. It fails with os.ErrNotExist if the
// job was never claimed. A claim that was cut short has no PID.
func ReadRecord(path string) (Record, error) {
	var r Record
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	var buf [1024]byte // two lines of known, bounded words
	n, err := f.Read(buf[:])
	if n == 0 {
		return r, nil // claimed, and nothing written yet, or no room to write
	}
	if err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	for line := range bytes.Lines(buf[:n]) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		r.line(strings.Fields(string(line)))
	}
	if r.Exit != nil {
		if fi, err := f.Stat(); err == nil {
			r.Ended = fi.ModTime()
		}
	}
	return r, nil
}

func (r *Record) line(w []string) {
	switch {
	case len(w) == 6 && w[0] == "claim":
		r.Token, r.Boot, r.Launch = w[1], w[4], w[5]
		r.Restart, _ = strconv.Atoi(w[2])
		r.PID, _ = strconv.Atoi(w[3])
	case len(w) == 2 && w[0] == "exit":
		if code, err := strconv.Atoi(w[1]); err == nil {
			r.Exit = &code
		}
	}
}

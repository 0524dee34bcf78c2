package wrapper

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Record is the wrapper's record of one start:
//
//	1                    the version of the format
//	claim PID LAUNCH     the first of these holds the claim
//	exit STATUS          as a shell gives it: above 128 for a signal
//	duplicate PID LAUNCH a start that came too late, and did not run
type Record struct {
	PID    int    // of the wrapper, which leads the job's session; 0 = not claimed
	Launch string // the start that holds the claim
	Exit   *int   // nil: the wrapper did not see the end
	// Duplicates are the launches that came too late.
	Duplicates []string
	// Torn says that nothing can be claimed here any more: the record is
	// neither as it was laid out nor claimed. The disk was full, or the power went.
	Torn bool
	// Ended is when the record was last written; no good if Exit is nil.
	Ended time.Time
}

// ReadRecord reads the record at path. It fails with os.ErrNotExist if there
// is none. Lines that were cut short count as not written.
func ReadRecord(path string) (Record, error) {
	var r Record
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	var buf [4096]byte // a few lines of bounded words
	n, err := f.Read(buf[:])
	if n == 0 {
		r.Torn = true
		return r, nil
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
	r.Torn = r.PID == 0 && string(buf[:n]) != recordHead
	if r.Exit != nil {
		if fi, err := f.Stat(); err == nil {
			r.Ended = fi.ModTime()
		}
	}
	return r, nil
}

func (r *Record) line(w []string) {
	switch {
	case len(w) == 3 && w[0] == "claim" && r.PID == 0:
		r.PID, _ = strconv.Atoi(w[1])
		r.Launch = w[2]
	case len(w) == 2 && w[0] == "exit":
		if code, err := strconv.Atoi(w[1]); err == nil {
			r.Exit = &code
		}
	case len(w) == 3 && w[0] == "duplicate":
		r.Duplicates = append(r.Duplicates, w[2])
	}
}

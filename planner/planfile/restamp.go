package planfile

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"io"
	"time"

	"github.com/muster-run/muster/planner/plan"
)

// Restamp makes of a plan the one that would have been made at another time,
// for those who know that it would be the same but for that.
func (f *File) Restamp(now time.Time) {
	f.Head.Now, f.Head.ID = now, plan.IDOf(f.Head.Body, now)
}

// Write saves the plan again, as the function Write does.
func (f *File) Write(path string) error { return save(path, f.encode) }

func (f *File) encode(w io.Writer) error {
	head, err := json.Marshal(f.Head)
	if err != nil {
		return err
	}
	sum := sha256.New()
	out := &writer{Writer: bufio.NewWriterSize(w, 1<<16), sum: sum}
	out.head(head)
	out.bytes(f.rows)
	return out.end()
}

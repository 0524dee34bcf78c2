package attempt

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/wrapper"
)

// tailLines is how many lines of a failed job's log go with its event.
const tailLines = 20

// Tail is the ends of both streams of an attempt as evidence, and the lines
// that are shown of them, without the secrets of the job.
func Tail(j *providers.Job, attempt int, mask wrapper.Mask) (evidence []byte, shown []string) {
	out := mask.Bytes(readTail(LogPath(j.Workdir, j.Token, attempt, false), failure.TailSize/2))
	errs := mask.Bytes(readTail(LogPath(j.Workdir, j.Token, attempt, true), failure.TailSize/2))
	evidence = append(append(out, '\n'), errs...)
	evidence = bytes.TrimPrefix(evidence, []byte("\n"))
	if len(bytes.TrimSpace(out)) > 0 && !saysMore(errs) {
		return evidence, LastLines(out, tailLines)
	}
	return evidence, LastLines(errs, tailLines)
}

// saysMore reports whether there are lines that are not muster's.
func saysMore(errs []byte) bool {
	for line := range bytes.Lines(errs) {
		if len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte(ownLine)) {
			return true
		}
	}
	return false
}

// TailOf is the last lines of any file, none where it cannot be read.
func TailOf(path string) []string { return LastLines(readTail(path, failure.TailSize/2), tailLines) }

// readTail is the last n bytes of a file, from the start of a line on.
func readTail(path string, n int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil
	}
	from := max(fi.Size()-n, 0)
	b, _ := io.ReadAll(io.NewSectionReader(f, from, n))
	if from > 0 {
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[i+1:]
		}
	}
	return b
}

// lineBytes bounds a line that goes with an event.
const lineBytes = 400

// LastLines are the last n lines of a log, without files of the wrapper and cut to a length
// that can be shown.
func LastLines(b []byte, n int) []string {
	lines := strings.Split(strings.TrimRight(string(b), "\n\r \t"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	for i, l := range lines {
		l = failure.InTheUsersWords(l)
		if len(l) > lineBytes {
			l = l[:lineBytes] + "…"
		}
		lines[i] = strings.ToValidUTF8(l, "�")
	}
	return lines
}

// Scrub masks the secrets of a job in both logs of an ended attempt, in place, so that no
// reader has to mask them.
func Scrub(j *providers.Job, attempt int, mask wrapper.Mask) error {
	return errors.Join(mask.File(LogPath(j.Workdir, j.Token, attempt, false)), mask.File(LogPath(j.Workdir, j.Token, attempt, true)))
}

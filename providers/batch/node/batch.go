package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/wrapper"
)

// A Batch is one array of like jobs on the spool. The file jobs has one job a line; the file
// index has one line of fixed width for each element, with its offset in jobs.
type Batch string

// An Element is one job of a batch and its index in the array.
type Element struct {
	Index int
	Job   providers.Job
}

// indexLine is "ELEMENT OFFSET LENGTH TOKEN".
const indexLine = "%8d %12d %10d %-64s\n"

var indexWidth = len(fmt.Sprintf(indexLine, 0, 0, 0, ""))

// Write writes a batch; elements are in the order of their indexes.
func (b Batch) Write(elements []Element) error {
	var jobs, index bytes.Buffer
	for _, e := range elements {
		text, err := json.Marshal(e.Job)
		if err != nil {
			return fmt.Errorf("job %s: %w", e.Job.Token, err)
		}
		fmt.Fprintf(&index, indexLine, e.Index, jobs.Len(), len(text), e.Job.Token)
		jobs.Write(text)
		jobs.WriteByte('\n')
	}
	if err := atomicfile.Write(filepath.Join(string(b), "jobs"), jobs.Bytes(), 0o600); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(string(b), "index"), index.Bytes(), 0o600)
}

// Read reads all elements of a batch.
func (b Batch) Read() ([]Element, error) {
	jobs, err := os.ReadFile(filepath.Join(string(b), "jobs"))
	if err != nil {
		return nil, err
	}
	index, err := os.ReadFile(filepath.Join(string(b), "index"))
	if err != nil {
		return nil, err
	}
	var out []Element
	for line := range strings.Lines(string(index)) {
		e, at, n, err := parseIndex(line)
		if err != nil || at+n > int64(len(jobs)) {
			return nil, fmt.Errorf("batch %s: its index is damaged", b)
		}
		el := Element{Index: e}
		if err := json.Unmarshal(jobs[at:at+n], &el.Job); err != nil {
			return nil, fmt.Errorf("batch %s, element %d: %w", b, e, err)
		}
		out = append(out, el)
	}
	return out, nil
}

// Job reads one element without reading the whole batch.
func (b Batch) Job(element int) (*providers.Job, error) {
	index, err := os.Open(filepath.Join(string(b), "index"))
	if err != nil {
		return nil, err
	}
	defer index.Close()
	fi, err := index.Stat()
	if err != nil {
		return nil, err
	}
	line := make([]byte, indexWidth)
	read := func(i int) (e int, at, n int64, err error) {
		if _, err := index.ReadAt(line, int64(i*indexWidth)); err != nil && err != io.EOF {
			return 0, 0, 0, err
		}
		return parseIndex(string(line))
	}
	count := int(fi.Size()) / indexWidth
	i := sort.Search(count, func(i int) bool {
		e, _, _, readErr := read(i)
		if readErr != nil {
			err = readErr
		}
		return e >= element
	})
	if err != nil {
		return nil, err
	}
	if i == count {
		return nil, fmt.Errorf("batch %s has no element %d", b, element)
	}
	e, at, n, err := read(i)
	if err != nil {
		return nil, err
	}
	if e != element {
		return nil, fmt.Errorf("batch %s has no element %d", b, element)
	}
	jobs, err := os.Open(filepath.Join(string(b), "jobs"))
	if err != nil {
		return nil, err
	}
	defer jobs.Close()
	text := make([]byte, n)
	if _, err := jobs.ReadAt(text, at); err != nil {
		return nil, err
	}
	var j providers.Job
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("batch %s, element %d: %w", b, element, err)
	}
	return &j, nil
}

func parseIndex(line string) (element int, at, n int64, err error) {
	f := strings.Fields(line)
	if len(f) != 4 {
		return 0, 0, 0, fmt.Errorf("malformed index line %q", line)
	}
	if element, err = strconv.Atoi(f[0]); err == nil {
		if at, err = strconv.ParseInt(f[1], 10, 64); err == nil {
			n, err = strconv.ParseInt(f[2], 10, 64)
		}
	}
	return element, at, n, err
}

// secrets is the file of a job's exported secrets, mode 0600.
func (b Batch) secrets(token string) string { return filepath.Join(string(b), "secret-"+token) }

// Mask hides the secrets of a job, for as long as they are kept.
func (b Batch) Mask(token string) wrapper.Mask { return wrapper.ReadMask(b.secrets(token)) }

// Secrets are those that WriteSecrets kept for a job, nil if there are none.
func (b Batch) Secrets(token string) []byte {
	text, err := os.ReadFile(b.secrets(token))
	if err != nil {
		return nil
	}
	return text
}

// WriteSecrets keeps secrets for the node, for as long as the job may start.
func (b Batch) WriteSecrets(token string, text []byte) error {
	return atomicfile.Write(b.secrets(token), text, 0o600)
}

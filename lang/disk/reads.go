package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Reads remembers what functions asked of files, and what they were told, so
// that it can be seen later whether they would be told the same again. The
// zero value is ready, nil remembers nothing; any goroutine may use it.
type Reads struct {
	mu   sync.Mutex
	told map[Question]string // digests
	torn bool
}

// A Question is one that a function asked of files, or of where folders lie.
type Question struct {
	Function string `json:"function"`
	Path     string `json:"path"` // as the campaign has it
	Glob     string `json:"glob,omitempty"`
}

// mostQuestions is how many questions are worth asking again.
const mostQuestions = 10_000

// errTorn says that nothing can be told from what was read.
var errTorn = errors.New("a file changed while it was read, or too many were")

// Told gives the questions in order, and a digest over them and the answers.
// It is an error if a question had two answers, or if there were very many.
func (r *Reads) Told() ([]Question, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.torn || len(r.told) > mostQuestions {
		return nil, "", errTorn
	}
	questions := slices.SortedFunc(maps.Keys(r.told), func(a, b Question) int {
		return strings.Compare(a.text(), b.text())
	})
	h := sha256.New()
	for _, q := range questions {
		fmt.Fprintf(h, "%s %s\n", q.text(), r.told[q])
	}
	return questions, hex.EncodeToString(h.Sum(nil)), nil
}

func (q Question) text() string { return fmt.Sprintf("%s %q %q", q.Function, q.Path, q.Glob) }

// AskAgain is the digest that Told would give if functions that read d asked
// these questions now.
func AskAgain(d Disk, questions []Question) (string, error) {
	d.Reads = &Reads{}
	for _, q := range questions {
		if !d.ask(q) {
			return "", fmt.Errorf("there is no function %s that reads files", q.Function)
		}
	}
	_, digest, err := d.Reads.Told()
	return digest, err
}

func (r *Reads) note(q Question, answer string, err error) {
	if r == nil {
		return
	}
	text := "ok " + answer
	if err != nil {
		text = "error " + err.Error()
	}
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if was, asked := r.told[q]; asked && was != digest {
		r.torn = true
	}
	if r.told == nil {
		r.told = map[Question]string{}
	}
	r.told[q] = digest
}

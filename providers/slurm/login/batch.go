package login

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/arrays"
	"github.com/muster-run/muster/providers/slurm/cluster"
	"github.com/muster-run/muster/providers/slurm/node"
)

// A batch is like jobs that go to Slurm together: one array, or one job.
type batch struct {
	Name    string    `json:"name"` // Slurm's job name, which squeue and sacct keep everywhere
	Seq     int       `json:"seq"`  // in the order of submission
	Phase   string    `json:"phase"`
	Pool    string    `json:"pool,omitempty"`
	Limit   int       `json:"limit,omitempty"`  // most of the phase at once
	Cap     int       `json:"cap,omitempty"`    // this batch's part of that
	Behind  string    `json:"behind,omitempty"` // the batch that has to end before this one begins
	Of      string    `json:"of,omitempty"`     // the batch that this one is a part of; see split
	Array   bool      `json:"array"`
	Made    time.Time `json:"made"`
	Indexes []int     `json:"-"`

	dir  node.Batch
	jobs map[int]*job
	// id is Slurm's, "" until it is known; tried is when an sbatch was begun
	// whose outcome is not known.
	id     string
	tried  time.Time
	held   string    // why it is held by us, "" if it is not; see release
	heeded time.Time // Slurm was asked for its part of the limit; see heed
	wide   bool      // each element waits for all that one of them comes after; see narrow
}

// A job is one token and what is known of it.
type job struct {
	token    string
	address  string
	phase    string
	digest   string
	after    []string
	base     int // attempt of its first start
	walltime time.Duration
	scales   bool // its retry policy asks for more of something
	batch    *batch
	index    int
	// unlaunchable says that its script could not be started where Slurm sent it.
	unlaunchable bool

	last    offer.Observation
	ended   bool      // for good
	asked   time.Time // since when Slurm is asked for an end that left no record
	cycles  int
	missing bool           // it is noted that neither knows of it
	other   *cluster.Place // what claimed its token, if that is not its place in the batch; see claimant
	owed    []debt         // ends of earlier launches that are yet to be told; see settle
	later   []offer.Observation
}

// elementID is a job's id as Slurm prints it.
func (j *job) elementID() string {
	if j.batch.id == "" || !j.batch.Array {
		return j.batch.id
	}
	return fmt.Sprintf("%s_%d", j.batch.id, j.index)
}

// ahead is a batch as others come after it.
func (b *batch) ahead() arrays.Ahead {
	return arrays.Ahead{Name: b.Name, Seq: b.Seq, ID: b.id, Array: b.Array, Jobs: len(b.Indexes)}
}

// part is which part of another batch it is, counted from 1; 0 = it is none.
func (b *batch) part() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(b.Name, b.Of+"-"))
	return n
}

// write lays a batch down on the spool: after it, a new muster knows of it.
func (b *batch) write(elements []node.Element, secrets map[string][]byte, most node.Bounds) error {
	aside := string(b.dir) + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return err
	}
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	tmp := node.Batch(aside)
	if err := tmp.Write(elements); err != nil {
		return err
	}
	if err := tmp.WriteBounds(most); err != nil {
		return err
	}
	for token, text := range secrets {
		if err := tmp.WriteSecrets(token, text); err != nil {
			return err
		}
	}
	head, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(aside, "batch.json"), append(head, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(aside, string(b.dir))
}

// loadBatch reads a batch back.
func loadBatch(dir string) (*batch, []node.Element, error) {
	head, err := os.ReadFile(filepath.Join(dir, "batch.json"))
	if err != nil {
		return nil, nil, err
	}
	b := &batch{dir: node.Batch(dir), jobs: map[int]*job{}}
	if err := json.Unmarshal(head, b); err != nil {
		return nil, nil, fmt.Errorf("batch %s: %w", dir, err)
	}
	elements, err := b.dir.Read()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range elements {
		b.Indexes = append(b.Indexes, e.Index)
	}
	b.readLimit()
	b.id, b.held, b.wide = b.dir.Noted("id"), b.dir.Noted("held"), b.dir.Noted("wide") != ""
	if t, err := time.Parse(time.RFC3339Nano, b.dir.Noted("tried")); err == nil {
		b.tried = t
	}
	return b, elements, nil
}

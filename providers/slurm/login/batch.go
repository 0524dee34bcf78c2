package login

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/node"
)

// A batch is like jobs that go to Slurm together: one array, or one job.
type batch struct {
	Name    string    `json:"name"` // Slurm's job name, which squeue and sacct keep everywhere
	Seq     int       `json:"seq"`  // in the order of submission
	Phase   string    `json:"phase"`
	Pool    string    `json:"pool,omitempty"`
	Cap     int       `json:"cap,omitempty"` // most of the phase at once
	Array   bool      `json:"array"`
	Made    time.Time `json:"made"`
	Indexes []int     `json:"-"`

	dir  node.Batch
	jobs map[int]*job
	// id is Slurm's, "" until it is known; tried is when an sbatch was begun
	// whose outcome is not known.
	id    string
	tried time.Time
	held  bool // by us, until what goes with it is in
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
	batch    *batch
	index    int

	last   offer.Observation
	ended  bool      // for good
	asked  time.Time // since when Slurm is asked for an end that left no record
	cycles int
}

// elementID is a job's id as Slurm prints it.
func (j *job) elementID() string {
	if j.batch.id == "" || !j.batch.Array {
		return j.batch.id
	}
	return fmt.Sprintf("%s_%d", j.batch.id, j.index)
}

// maxName bounds a job name; Slurm itself takes 1024 bytes, screens show few.
const maxName = 40

// nameOf is a job name that is found again: letters, digits, ._- only, as all
// else comes back changed.
func nameOf(phase, token string, part int) string {
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, phase)
	return fmt.Sprintf("%.*s.%.12s.%d", maxName, clean, token, part)
}

// A group is like jobs of one request, at one depth among themselves.
type group struct {
	jobs  []*providers.Job
	level int
}

// likeness is what the jobs of one array must share: all that stands in its
// #SBATCH lines.
func likeness(j *providers.Job, level int) string {
	b, err := json.Marshal([]any{j.Phase, j.Pool, j.Shape, j.Options, j.Cap, j.Checkpoint.Signal, j.Checkpoint.Grace, max(j.Retry.Max, 1) > 1, j.Smoke, j.Workdir, len(j.Setup) > 0, level})
	if err != nil {
		panic("bug: a job cannot be marshalled: " + err.Error())
	}
	return string(b)
}

// groups gathers like jobs, in an order in which none comes before what it
// comes after, and cuts them to the length of an array.
func groups(jobs []*providers.Job, most int) []group {
	levels := depths(jobs)
	by := map[string]int{}
	var out []group
	for i, j := range jobs {
		key := likeness(j, levels[i])
		at, ok := by[key]
		if !ok || most > 0 && len(out[at].jobs) >= most {
			at = len(out)
			by[key] = at
			out = append(out, group{level: levels[i]})
		}
		out[at].jobs = append(out[at].jobs, j)
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Compare(a.level, b.level) })
	return out
}

// depths is for each job how many others of the request it comes after, in a row.
func depths(jobs []*providers.Job) []int {
	at := make(map[string]int, len(jobs))
	for i, j := range jobs {
		at[j.Token] = i
	}
	out := make([]int, len(jobs))
	done := make([]bool, len(jobs))
	var visit func(i int) int
	visit = func(i int) int {
		if done[i] {
			return out[i]
		}
		done[i] = true // a cycle ends here, rather than never
		for _, t := range jobs[i].After {
			if k, ok := at[t]; ok {
				out[i] = max(out[i], visit(k)+1)
			}
		}
		return out[i]
	}
	for i := range jobs {
		visit(i)
	}
	return out
}

// write lays a batch down on the spool: after it, a new muster knows of it.
func (b *batch) write(elements []node.Element, secrets map[string][]byte) error {
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

// note keeps a fact of a batch in a file of its own.
func (b *batch) note(name, text string) error {
	path := filepath.Join(string(b.dir), name)
	if text == "" {
		err := os.Remove(path)
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if err := os.WriteFile(path+".new", []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (b *batch) noted(name string) string {
	text, err := os.ReadFile(filepath.Join(string(b.dir), name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
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
	b.id, b.held = b.noted("id"), b.noted("held") != ""
	if t, err := time.Parse(time.RFC3339Nano, b.noted("tried")); err == nil {
		b.tried = t
	}
	return b, elements, nil
}

// indexList writes indexes as sbatch --array takes them.
func indexList(indexes []int) string {
	var parts []string
	for i := 0; i < len(indexes); {
		k := i
		for k+1 < len(indexes) && indexes[k+1] == indexes[k]+1 {
			k++
		}
		if k > i {
			parts = append(parts, fmt.Sprintf("%d-%d", indexes[i], indexes[k]))
		} else {
			parts = append(parts, fmt.Sprint(indexes[i]))
		}
		i = k + 1
	}
	return strings.Join(parts, ",")
}

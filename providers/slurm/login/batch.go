package login

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	scales   bool // its retry policy asks for more of something
	batch    *batch
	index    int

	last    offer.Observation
	ended   bool      // for good
	asked   time.Time // since when Slurm is asked for an end that left no record
	cycles  int
	missing bool // it is noted that neither knows of it
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
// comes after, and cuts them to the length of an array. known names the batch
// of a token of an earlier request.
func groups(jobs []*providers.Job, most int, known func(token string) string) []group {
	levels := depths(jobs)
	of := map[string]string{} // token: its group's number
	where := func(token string) string {
		if g, ok := of[token]; ok {
			return g
		}
		return known(token)
	}
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(levels[a], levels[b]) })
	var out []group
	for len(order) > 0 {
		level := levels[order[0]]
		var kinds [][]*providers.Job
		by := map[string]int{}
		for len(order) > 0 && levels[order[0]] == level {
			j := jobs[order[0]]
			order = order[1:]
			key := likeness(j, level)
			at, ok := by[key]
			if !ok {
				at = len(kinds)
				by[key], kinds = at, append(kinds, nil)
			}
			kinds[at] = append(kinds[at], j)
		}
		for _, like := range kinds {
			for _, part := range byUpstream(like, where) {
				n := most
				if n <= 0 {
					n = len(part)
				}
				for cut := range slices.Chunk(part, n) {
					for _, j := range cut {
						of[j.Token] = "#" + strconv.Itoa(len(out))
					}
					out = append(out, group{level: level, jobs: cut})
				}
			}
		}
	}
	return out
}

// byUpstream divides like jobs by the arrays that they come after, where each
// part can then come after like elements, which one submission says; else each
// element would have to be told on its own what it comes after.
func byUpstream(jobs []*providers.Job, where func(token string) string) [][]*providers.Job {
	type part struct {
		jobs []*providers.Job
		seen map[string]bool
		same bool // all come after the same
		each bool // no two come after the same
	}
	var parts []*part
	by, own := map[string]*part{}, map[string]bool{}
	for _, j := range jobs {
		var up []string
		for _, t := range j.After {
			if g := where(t); g != "" {
				up = append(up, g)
			}
		}
		once := len(up)
		slices.Sort(up)
		up = slices.Compact(up)
		key, tokens := strings.Join(up, " "), strings.Join(j.After, " ")
		p := by[key]
		if p == nil {
			p = &part{seen: map[string]bool{}, same: true, each: true}
			by[key], parts = p, append(parts, p)
		}
		p.same = p.same && (len(p.jobs) == 0 || p.seen[tokens])
		p.each = p.each && len(up) == once && !p.seen[tokens]
		p.jobs, p.seen[tokens] = append(p.jobs, j), true
		own[tokens] = true
	}
	if len(parts) >= len(own) || slices.ContainsFunc(parts, func(p *part) bool { return !p.same && !p.each }) {
		return [][]*providers.Job{jobs}
	}
	var out [][]*providers.Job
	for _, p := range parts {
		out = append(out, p.jobs)
	}
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

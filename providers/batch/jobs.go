package batch

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/arrays"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// jobs are a campaign's jobs on one cluster, and their batches, as the spool has
// them. A job is in one batch: the part that took it out, or the batch itself.
type jobs struct {
	*spools
	notation     scheduler.Notation
	batches      []*batch // in the order of submission, parts before the batch that they were in
	byToken      map[string]*job
	replacements map[string]string // by token: the job that replaces it; see dependencies.replace
}

func newJobs(s *spools, n scheduler.Notation) *jobs {
	return &jobs{spools: s, notation: n, byToken: map[string]*job{}, replacements: map[string]string{}}
}

// load reads the spool; a missing spool is an empty one.
func (js *jobs) load() error {
	dirs, err := os.ReadDir(js.path("batches"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the spool: %w", err)
	}
	elements := map[*batch][]node.Element{}
	for _, d := range dirs {
		if strings.HasSuffix(d.Name(), ".new") {
			continue
		}
		b, list, err := loadBatch(js.path("batches", d.Name()))
		if err != nil {
			return fmt.Errorf("read the spool: %w", err)
		}
		js.batches, elements[b] = append(js.batches, b), list
	}
	slices.SortFunc(js.batches, func(a, b *batch) int { // parts before their whole
		return cmp.Or(a.Seq-b.Seq, strings.Compare(b.Of, a.Of), a.Made.Compare(b.Made), len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name))
	})
	holder := map[string]*batch{} // by token: a part keeps its files when a later one takes jobs out of it
	for _, b := range js.batches {
		for _, e := range elements[b] {
			if h := holder[e.Job.Token]; h == nil || b.part() > h.part() {
				holder[e.Job.Token] = b
			}
		}
	}
	for _, b := range js.batches {
		b.Indexes = nil
		for i := range elements[b] {
			e := &elements[b][i]
			if holder[e.Job.Token] == b {
				js.add(b, e.Index, &e.Job)
				b.Indexes = append(b.Indexes, e.Index)
			}
		}
	}
	js.loadReplacements()
	return nil
}

// loadReplacements reads which jobs replace others.
func (js *jobs) loadReplacements() {
	files, _ := filepath.Glob(js.path("heirs", "*"))
	for _, f := range files {
		token := filepath.Base(f)
		if heir := js.spool().Heir(token); heir != token {
			js.replacements[token] = heir
		}
	}
}

// add adds a job of a batch.
func (js *jobs) add(b *batch, index int, j *providers.Job) *job {
	k := &job{token: j.Token, address: j.Address, smoke: j.Smoke, result: j.ResultHash, of: j.StoppedAs(), digest: digestOf(j), after: j.After, base: max(j.Attempt, 1),
		walltime: j.Shape.Walltime, scales: j.Retry.Max > 1 && len(j.Retry.Scale) > 0, batch: b, index: index}
	k.last = offer.Observation{Token: j.Token, Presence: offer.Found, Status: offer.Queued, Attempt: k.base, Pool: j.Pool, Stage: b.stage()}
	b.jobs[index] = k
	js.byToken[j.Token] = k
	return k
}

// stopped reports whether a breaker keeps every job of a batch from starting.
func (js *jobs) stopped(k *batch) bool {
	seen := map[string]bool{}
	for _, j := range k.jobs {
		if !seen[j.of] && js.spool().Stopped(j.of) == "" {
			return false
		}
		seen[j.of] = true
	}
	return len(seen) > 0
}

// digestOf tells one spec from another. Dependencies may differ, as completed jobs
// are not named again; so may facts about files and the size of the phase.
func digestOf(j *providers.Job) string {
	k := *j
	k.After, k.MoveAside, k.Guard, k.Checkpoint.Fresh, k.Breaker.Jobs = nil, "", nil, false, 0
	b, err := json.Marshal(k)
	if err != nil {
		panic("bug: a job cannot be marshalled: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// forget removes a batch and its jobs.
func (js *jobs) forget(k *batch) {
	for i, j := range k.jobs {
		delete(js.byToken, j.token)
		delete(k.jobs, i)
	}
	os.RemoveAll(string(k.dir))
	js.batches = slices.DeleteFunc(js.batches, func(b *batch) bool { return b == k })
}

func (js *jobs) nextSeq() int {
	if n := len(js.batches); n > 0 {
		return js.batches[n-1].Seq + 1
	}
	return 1
}

// unfinished are the submitted jobs that have not ended.
func (js *jobs) unfinished() (open []*job) {
	for _, b := range js.batches {
		if b.id == "" {
			continue
		}
		for _, i := range b.Indexes {
			if j := b.jobs[i]; j != nil && !j.ended {
				open = append(open, j)
			}
		}
	}
	return open
}

// idle reports whether jobs of a pack ran, none does, and the turn of others has not come:
// the scheduler's job is over, or about to be.
func (js *jobs) idle() bool {
	return slices.ContainsFunc(js.batches, func(k *batch) bool {
		ran, waits := false, false
		for _, j := range k.jobs {
			if !j.ended && j.last.Status != offer.Queued {
				return false
			}
			ran, waits = ran || j.ended && !j.last.Started.IsZero(), waits || !j.ended
		}
		return k.id != "" && k.turns() && ran && waits
	})
}

// replacement is the token of the job that now replaces another; most jobs are not
// replaced.
func (js *jobs) replacement(token string) string {
	for range len(js.replacements) {
		next := js.replacements[token]
		if next == "" {
			break
		}
		token = next
	}
	return token
}

// current is the job that a token now means; nil if this spool has none.
func (js *jobs) current(token string) *job { return js.byToken[js.replacement(token)] }

// open is the job of a token if others still wait for it: it has not completed.
// nil = nothing waits, or the job is not on this spool.
func (js *jobs) open(token string) *job {
	j := js.current(token)
	if j == nil || j.last.Status == offer.Completed {
		return nil
	}
	if e, ok := js.spool().LastEnd(j.token); ok && e.Completed() {
		return nil
	}
	return j
}

// ahead is the element of a token, if others still wait for it.
func (js *jobs) ahead(token string) (arrays.Element, bool) {
	j := js.open(token)
	if j == nil {
		return arrays.Element{}, false
	}
	return arrays.Element{Of: j.batch.ahead(), Index: j.index}, true
}

// openBatch names the batch of a token that others still wait for; "" = none do.
func (js *jobs) openBatch(token string) string {
	if j := js.open(token); j != nil {
		return j.batch.Name
	}
	return ""
}

// before is the batch ahead of another one in its lane; nil once that has ended.
func (js *jobs) before(k *batch) (p *batch) {
	for _, o := range js.batches {
		switch {
		case k.Behind == "", o.over():
		case o.Name == k.Behind:
			return o
		case o.Of == k.Behind:
			p = o
		}
	}
	return p
}

// followed are the batches of a list on which others of it depend.
func (js *jobs) followed(list []*batch) map[*batch]bool {
	in := map[*batch]bool{}
	for _, k := range list {
		in[k] = true
	}
	out := map[*batch]bool{}
	for _, k := range list {
		if p := js.before(k); p != nil {
			out[p] = true
		}
		for _, j := range k.jobs {
			for _, t := range j.after {
				if p := js.current(t); p != nil && in[p.batch] {
					out[p.batch] = true
				}
			}
		}
	}
	return out
}

// stuck reports whether a dependency of a job has failed, or was refused: the job
// would not run.
func (js *jobs) stuck(j *job) bool {
	for _, t := range j.after {
		p := js.current(t)
		if p != nil && p.ended && p.last.Status != offer.Completed || p == nil && js.spool().Unmet(t) {
			return true
		}
	}
	return false
}

// hasFailedBefore reports whether a dependency of a job has not completed.
func (js *jobs) hasFailedBefore(j *job) bool {
	for _, t := range j.after {
		if p := js.current(t); p != nil && p.last.Status != offer.Completed {
			if e, ok := js.spool().LastEnd(p.token); !ok || !e.Completed() {
				return true
			}
		}
	}
	return false
}

// mayReturn reports whether a dependency of jobs may fail and be submitted again
// under a new id, because its retry needs more than the scheduler can change. Then
// the scheduler must keep the jobs that wait for it, and muster redirects them.
func (js *jobs) mayReturn(list []*providers.Job) bool {
	for _, j := range list {
		for _, t := range j.After {
			if p := js.open(t); p != nil && p.scales {
				return true
			}
		}
	}
	return false
}

// handle is a job's id as the scheduler prints it, "" where it has none yet.
func (js *jobs) handle(j *job) string {
	at := scheduler.ElementID{Array: j.batch.id, Index: -1}
	if at.Array == "" {
		return ""
	}
	if j.batch.Array {
		at.Index = j.index
	}
	return js.notation.ID(at)
}

// claimed reports whether a launch of a job claimed its token.
func (js *jobs) claimed(j *job) bool { return exists(js.path("claims", j.token)) }

// unwanted reports whether a job was cancelled.
func (js *jobs) unwanted(j *job) bool { return exists(js.path("cancels", j.token)) }

// claimant is the place of the launch that claimed a job's token, where that is
// another than muster knows: a submission that was lost and sent again may have
// submitted twice. Only the claimant decides how the job ends.
func (js *jobs) claimant(j *job) *scheduler.ElementID {
	at, ok := js.notation.Place(js.spool().Claimed(j.token))
	if !ok || at.Array == j.batch.id {
		return nil
	}
	return &at
}

// duplicate is the id of another launch that found the token claimed; "" = there
// is none.
func (js *jobs) duplicate(j *job) string {
	for _, id := range js.spool().Duplicates(j.token) {
		if id != j.last.Handle {
			return id
		}
	}
	return ""
}

// split moves jobs of a batch into a part: an array of its own with the same
// indexes, or with consecutive ones where the scheduler has no others.
func (js *jobs) split(k *batch, indexes []int) (*batch, error) {
	elements, err := k.dir.Read()
	if err != nil {
		return nil, err
	}
	part := &batch{Of: cmp.Or(k.Of, k.Name), Seq: k.Seq, Phase: k.Phase, Pool: k.Pool, Limit: k.Limit, Cap: min(k.Cap, len(indexes)), Behind: k.Behind, Array: k.Array, Packed: k.Packed && len(indexes) > 1, Slots: k.Slots,
		Made: k.Made, Indexes: slices.Clone(indexes), jobs: map[int]*job{}}
	part.Name = js.partName(part.Of)
	part.dir = node.Batch(js.path("batches", part.Name))
	slices.Sort(part.Indexes)
	renumber := k.Packed || !js.notation.Elements().Apart
	if renumber {
		part.Array = part.Array && len(indexes) > 1
	}
	var mine []node.Element
	secrets := map[string][]byte{}
	for _, e := range elements {
		if !slices.Contains(part.Indexes, e.Index) {
			continue
		}
		if renumber {
			e.Index = len(mine)
		}
		mine = append(mine, e)
		if text := k.dir.Secrets(e.Job.Token); text != nil {
			secrets[e.Job.Token] = text
		}
	}
	// The batch keeps its files: of a job that is in both, the part has it.
	if err := part.write(mine, secrets, k.dir.Bounds()); err != nil {
		return nil, fmt.Errorf("divide batch %s: %w", k.Name, err)
	}
	k.Indexes = slices.DeleteFunc(slices.Clone(k.Indexes), func(i int) bool { return slices.Contains(part.Indexes, i) })
	for n, i := range part.Indexes {
		j := k.jobs[i]
		delete(k.jobs, i)
		if renumber {
			part.Indexes[n] = n
		}
		if j != nil {
			j.batch, j.index = part, part.Indexes[n]
			part.jobs[j.index] = j
		}
	}
	js.batches = slices.Insert(js.batches, slices.Index(js.batches, k), part)
	return part, nil
}

// partName is an unused name for a part of a batch.
func (js *jobs) partName(of string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s-%d", of, n)
		if !slices.ContainsFunc(js.batches, func(k *batch) bool { return k.Name == name }) && !exists(js.path("batches", name)) {
			return name
		}
	}
}

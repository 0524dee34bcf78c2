package history

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/state"
)

// MovedBlocks are the moved blocks of a campaign, by the address they move from.
type MovedBlocks struct{ lang.Moves }

// MovedOf indexes moved blocks.
func MovedOf(blocks []lang.Moved) MovedBlocks { return MovedBlocks{lang.MovesOf(blocks)} }

// Renames lists the blocks, each with the address at the end of its chain: those of jobs
// before those of phases.
func (b MovedBlocks) Renames() (out state.Renames) {
	for from := range b.Moves {
		to, _ := b.Follow(from)
		out = append(out, state.Rename{From: from, To: to})
	}
	slices.SortFunc(out, func(x, y state.Rename) int {
		return cmp.Or(cmp.Compare(len(y.From), len(x.From)), strings.Compare(x.From, y.From))
	})
	return out
}

// Former lists the addresses that blocks move to an address.
func (b MovedBlocks) Former(address string) (out []string) {
	for _, r := range b.Renames() {
		if rest, ok := strings.CutPrefix(address, r.To); ok && (rest == "" || rest[0] == '[') {
			out = append(out, r.From+rest)
		}
	}
	return out
}

// Smokes are the records of smokes whose jobs have another address now, by their keys in the
// state, each with its new key. Has reports whether the campaign has a job. A key that is
// taken is left alone.
func (b MovedBlocks) Smokes(jobs map[string]*state.Job, has func(address string) bool) map[string]string {
	if len(b.Moves) == 0 {
		return nil
	}
	var smokes []string
	for key, job := range jobs {
		if job.Smoke {
			smokes = append(smokes, key)
		}
	}
	slices.Sort(smokes)
	out, taken := map[string]string{}, map[string]bool{}
	for _, key := range smokes {
		address := jobs[key].Address
		to, _ := b.Follow(address)
		if now := state.SmokeAddress(to); to != address && !has(address) && has(to) && jobs[now] == nil && !taken[now] {
			out[key], taken[now] = now, true
		}
	}
	return out
}

// Spender tells under which phase a budget counts an entry of the ledger: records
// names the new phase of records that move, by their former address; of work that
// has no record any more the blocks say where it moved.
func Spender(blocks []lang.Moved, records map[string]string) func(e *state.Entry) (phase string) {
	to := MovedOf(blocks)
	return func(e *state.Entry) string {
		if phase, ok := records[e.Address]; ok {
			return phase
		}
		if e.Phase == "" || len(to.Moves) == 0 {
			return e.Phase
		}
		was := strings.TrimPrefix(e.Address, smokePrefix)
		if phase, _, ok := addr.Split(was); !ok || phase != e.Phase {
			return e.Phase // its record moved already
		}
		now, _ := to.Follow(was)
		phase, _, ok := addr.Split(now)
		if !ok {
			return e.Phase
		}
		return phase
	}
}

const smokePrefix = "smoke." // before the address of a smoke's job

// Matches pair records whose jobs are not wanted with wanted jobs that have no
// record, by a result hash that is unique on both sides.
type Matches map[matchKey]*match

type matchKey struct {
	scheme int
	hash   result.Hash
}

type match struct {
	job     *state.Job
	records int // with this hash
	wanted  int // jobs with this hash and no record
}

// Offer counts in a record that is free. One that is not movable, since there
// is nothing of it to have elsewhere, makes its hash ambiguous all the same.
func (m Matches) Offer(scheme int, job *state.Job, movable bool) {
	h, ok := result.ParseHash(job.Result)
	if !ok {
		return
	}
	k := matchKey{scheme, h}
	if m[k] == nil {
		m[k] = &match{job: job}
	}
	if m[k].records++; !movable {
		m[k].records++
	}
}

// Want counts in a job without a record.
func (m Matches) Want(scheme int, h result.Hash) {
	if c := m[matchKey{scheme, h}]; c != nil {
		c.wanted++
	}
}

// For is the record of a job that was counted in; nil without one.
func (m Matches) For(scheme int, h result.Hash) *state.Job {
	if c := m[matchKey{scheme, h}]; c != nil && c.records == 1 && c.wanted == 1 {
		return c.job
	}
	return nil
}

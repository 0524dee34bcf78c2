package batch

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// holds name the jobs that muster keeps from starting: all, or some by token.
// The scheduler holds submitted jobs; muster does not submit the others.
type holds struct {
	spools *spools
	all    bool
	tokens map[string]bool
}

func (h *holds) load() {
	h.all = exists(h.spools.path("hold"))
	h.tokens = map[string]bool{}
	files, _ := os.ReadDir(h.spools.path("holds")) // older spools have none
	for _, e := range files {
		h.tokens[e.Name()] = true
	}
}

// holdAll records whether everything is held.
func (h *holds) holdAll(hold bool) error {
	if err := h.spools.make(); err != nil {
		return err
	}
	h.all = hold
	if hold {
		return os.WriteFile(h.spools.path("hold"), nil, 0o600)
	}
	if err := os.Remove(h.spools.path("hold")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// hold records that a job is held.
func (h *holds) hold(token string) error {
	if err := os.WriteFile(h.spools.path("holds", token), nil, 0o600); err != nil {
		return err
	}
	h.tokens[token] = true
	return nil
}

// lift records that a job is no longer held.
func (h *holds) lift(token string) error {
	if !h.tokens[token] {
		return nil
	}
	if err := os.Remove(h.spools.path("holds", token)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	delete(h.tokens, token)
	return nil
}

// has reports whether a job is held by token.
func (h *holds) has(j *job) bool { return h.tokens[j.token] }

// any reports whether a job of a batch is held by token.
func (h *holds) any(k *batch) bool {
	for _, j := range k.jobs {
		if h.has(j) {
			return true
		}
	}
	return false
}

// free are the indexes of a batch whose jobs are not held by token.
func (h *holds) free(k *batch) (indexes []int) {
	for i, j := range k.jobs {
		if !h.has(j) {
			indexes = append(indexes, i)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// at reports whether the job at an index of a submitted batch is held by token.
func (h *holds) at(k *batch, index int) bool {
	j := k.at(index)
	return j != nil && h.has(j)
}

// Why muster holds a batch, in its notes and reports.
const (
	untilAllIsIn = "until all of its campaign is in"
	asForgotten  = "again: %s was killed, and has forgotten that it was let go"
)

// hold records why muster holds a batch; "" = it no longer does.
func (b *batch) hold(why string) error {
	b.held = why
	if err := b.dir.Note("held", why); err != nil {
		return fmt.Errorf("note whether %s is held: %w", b.Name, err)
	}
	return nil
}

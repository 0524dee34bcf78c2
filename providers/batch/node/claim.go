package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A claim decides whether a start may run its command.
type claim int

const (
	claimed   claim = iota
	duplicate       // another job of the scheduler, or the same start again, holds it
	over            // an earlier start of this job has ended for good
)

// take claims a token for a start: TOKEN for the first, TOKEN/N for restart N of the job that
// holds TOKEN. It makes the directory aside and renames it, which succeeds for one start alone
// and never shows a claim without its holder. rename(2): "oldpath can specify a directory. In
// this case, newpath must either not exist, or it must specify an empty directory."
func (s Spool) take(b Begin) (claim, error) {
	dir := s.path("claims", b.Token)
	if b.Restart > 0 && s.Claimed(b.Token) == b.ID {
		for n := b.Restart - 1; n >= 0; n-- {
			if e, err := s.ReadEnd(b.Token, n); err == nil && e.Final && !e.Outside {
				return over, nil
			}
		}
		return s.rename(filepath.Join(dir, strconv.Itoa(b.Restart)), b)
	}
	got, err := s.rename(dir, b)
	if err == nil && got == duplicate && s.Claimed(b.Token) == "" {
		return got, fmt.Errorf("claim %s: its holder cannot be read", dir)
	}
	return got, err
}

func (s Spool) rename(to string, b Begin) (claim, error) {
	aside, err := os.MkdirTemp(s.path("run"), ".claim-")
	if err != nil {
		return duplicate, fmt.Errorf("claim: %w", err)
	}
	defer os.RemoveAll(aside)
	if b.Restart > 0 && filepath.Base(to) == b.Token { // the first start to run is a restart, and the only one of its number
		err := errors.Join(os.Mkdir(filepath.Join(aside, strconv.Itoa(b.Restart)), 0o700), os.WriteFile(filepath.Join(aside, ofRestart), nil, 0o600))
		if err != nil {
			return duplicate, fmt.Errorf("claim: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(aside, "id"), []byte(b.ID+"\n"), 0o600); err != nil {
		return duplicate, fmt.Errorf("claim: %w", err)
	}
	err = os.Rename(aside, to)
	switch {
	case err == nil:
		return claimed, nil
	case errors.Is(err, os.ErrExist), isNotEmpty(err):
		return duplicate, nil
	}
	return duplicate, fmt.Errorf("claim: %w", err)
}

// nextClaim is the first restart after one that claimed a token, 0 if none did.
func (s Spool) nextClaim(token string, after int) (next int) {
	names, _ := os.ReadDir(s.path("claims", token))
	for _, f := range names {
		if n, err := strconv.Atoi(f.Name()); err == nil && n > after && (next == 0 || n < next) {
			next = n
		}
	}
	return next
}

// lastClaim is the last restart that claimed a token, 0 if the first start alone did.
func (s Spool) lastClaim(token string) (last int) {
	for n := s.nextClaim(token, 0); n > 0; n = s.nextClaim(token, n) {
		last = n
	}
	return last
}

// earlier is, for a restart that has claimed, the last start that ran before it, and how many
// starts did not run: the scheduler also counts launches that failed and launches that were
// put off.
func (s Spool) earlier(b Begin) (before, lost int) {
	ran := map[int]bool{}
	names, _ := os.ReadDir(s.path("claims", b.Token))
	for _, f := range names {
		if n, err := strconv.Atoi(f.Name()); err == nil {
			ran[n] = true
		}
	}
	for n := range b.Restart {
		// The directory of the claim belongs to the first start, unless a restart made it.
		if ran[n] || n == 0 && !s.claimedByRestart(b.Token) {
			before = n
		} else {
			lost++
		}
	}
	return before, lost
}

// ofRestart marks a claim that a restart made, because no earlier start ran.
const ofRestart = "restart"

func (s Spool) claimedByRestart(token string) bool {
	_, err := os.Lstat(s.path("claims", token, ofRestart))
	return err == nil
}

// recordDuplicate leaves a note of a start that came too late.
func (s Spool) recordDuplicate(b Begin) error {
	return os.WriteFile(filepath.Join(s.path("claims", b.Token), "duplicate-"+b.ID+"."+strconv.Itoa(b.Restart)), nil, 0o600)
}

// Duplicates are the ids of jobs that came too late for a token.
func (s Spool) Duplicates(token string) (ids []string) {
	found, _ := filepath.Glob(filepath.Join(s.path("claims", token), "duplicate-*"))
	for _, f := range found {
		id := filepath.Base(f)[len("duplicate-"):]
		ids = append(ids, id[:len(id)-len(filepath.Ext(id))])
	}
	return ids
}

// unmet is the first dependency of a job that did not complete, "" if all did. The scheduler
// checks this, too, but treats a forgotten dependency as met.
func (s Spool) unmet(j *providers.Job) string {
	for _, token := range j.After {
		if s.Unmet(token) {
			return token
		}
	}
	return ""
}

// outputsOf are the outputs that the job of a token recorded at its end.
func (s Spool) outputsOf(token string) []offer.Output {
	if e, ok := s.LastEnd(s.Heir(token)); ok && e.Completed() {
		return e.Seen.Outputs
	}
	return nil
}

// Unmet reports whether the dependents of a token still have to wait for it.
func (s Spool) Unmet(token string) bool {
	e, ok := s.LastEnd(s.Heir(token))
	return !ok || !e.Completed()
}

func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }

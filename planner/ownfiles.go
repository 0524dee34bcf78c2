package planner

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// OwnFiles are a job's own files in a workdir, by the state. Earlier are the
// attempts that the record does not count any more. A record that a person made
// muster forget has none.
func OwnFiles(rec *state.Job, earlier []state.Attempt, workdir string) offer.Guard {
	var g offer.Guard
	if rec == nil {
		rec = &state.Job{} // it was freed: its work is among the earlier launches
	}
	if rec.Status == state.Forgotten {
		return g
	}
	for _, o := range slices.Concat(rec.Outputs, rec.Kept) {
		if o.Workdir == "" || workdir == "" || o.Workdir == workdir {
			g.Own = append(g.Own, ownOutput(o))
		}
	}
	if rec.Status == state.Completed {
		g.Results, g.Begun = slices.Clone(g.Own), true
		return g
	}
	last := lastThatRan(rec.Attempts)
	if last == nil {
		last = lastThatRan(earlier)
	}
	if last == nil {
		return g
	}
	g.Begun, g.Unseen = true, last.Left == nil
	token, _, _ := strings.Cut(last.Token, "/")
	g.Before = token + "." + strconv.Itoa(last.N)
	for _, o := range last.Left {
		o.Digest = ""
		if left := ownOutput(o); !slices.ContainsFunc(g.Own, left.Unchanged) {
			g.Own = append(g.Own, left)
		}
	}
	return g
}

// notOwn are the files found at a job's output paths that are not its own.
func notOwn(there []offer.Output, g offer.Guard, shared func(output string) bool) (out []offer.Output) {
	for _, o := range there {
		if g.Fate(o, false) == offer.Foreign || shared(o.Name) && o.Exists() {
			out = append(out, o)
		}
	}
	return out
}

func lastThatRan(attempts []state.Attempt) *state.Attempt {
	for i := len(attempts) - 1; i >= 0; i-- {
		if ran(&attempts[i]) {
			return &attempts[i]
		}
	}
	return nil
}

// ran reports whether the command of an attempt may have begun.
func ran(a *state.Attempt) bool {
	if a.NotRun || a.Class == failure.NotItsOwn { // its start may have been seen, but not of its command
		return false
	}
	switch a.Class {
	case failure.NodeFailure, failure.Preempted, failure.Killed, failure.Transport: // its start may not have been seen
		return true
	}
	return !a.Started.IsZero()
}

func ownOutput(o state.Output) offer.Output {
	return offer.Output{Name: o.Name, Path: o.Path, Size: o.Size, Digest: o.Digest, MTime: o.MTime, Inode: o.Inode, Files: o.Files}
}

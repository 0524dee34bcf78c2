package node

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

// A tally counts how the jobs of a phase have ended since the phase last had nothing to run,
// or since a resume. Nodes share no reliable lock, so each end is a file of its own, and
// counting is listing:
//
//	well/RECORD            a job that completed
//	failed/CLASS/RECORD    one that failed for good
//	row/ERROR/RECORD       of those, the last with one error and none that did well between
//	again/JOB/ERROR/RECORD the same of the starts of one job, each of which another follows
type tally string

func (s Spool) tally(of string) tally { return tally(s.path("errors", fileOf(of))) }

// StopFile is the name of the file in a spool that stops the jobs of a breaker, as
// Job.StoppedAs has them; it holds the reason.
func StopFile(of string) string { return "stop." + fileOf(of) }

// fileOf is the phase or setting of a breaker as a part of a file name: a phase by its name,
// a setting by its digest.
func fileOf(of string) string {
	if strings.Contains(of, "[") { // which no name has
		return digest(of)
	}
	return of
}

func (t tally) path(parts ...string) string {
	return filepath.Join(append([]string{string(t)}, parts...)...)
}

// Forget empties the tally of a phase, or of what else Job.StoppedAs has.
func (s Spool) Forget(of string) error { return os.RemoveAll(string(s.tally(of))) }

// well enters a job that completed: rows start from zero.
func (t tally) well(e End) {
	for _, rows := range []string{"row", "again"} {
		os.RemoveAll(t.path(rows))
	}
	enter(t.path("well"), e)
}

// failed enters a job that failed for good, under its class.
func (t tally) failed(e End, v failure.Verdict) { enter(t.path("failed", className(v.Class)), e) }

// row enters it under its error, and returns how many there are with no other error after
// them.
func (t tally) row(e End, v failure.Verdict) int { return rowOf(t.path("row"), e, v) }

// again enters a start that is followed by another, in the row of its own job.
func (t tally) again(j *providers.Job, e End, v failure.Verdict) int {
	return rowOf(t.path("again", digest(cmp.Or(j.Address, j.Token))), e, v)
}

func rowOf(dir string, e End, v failure.Verdict) int {
	same := digest(v.Signature)
	if old, err := os.ReadDir(dir); err == nil {
		for _, other := range old {
			if other.Name() != same {
				os.RemoveAll(filepath.Join(dir, other.Name()))
			}
		}
	}
	enter(filepath.Join(dir, same), e)
	return files(filepath.Join(dir, same), -1)
}

// share says that a class has failed a large enough share of the finished jobs, "" if it has
// not; 0 as the most turns the rule off.
func (t tally) share(class string, policy providers.Breaker) string {
	n, all := files(t.path("failed", className(class)), -1), files(t.path("well"), -1)
	for _, c := range t.classes() {
		all += files(t.path("failed", className(c)), -1)
	}
	s := failure.ClassCount{Class: class, N: n, Corners: n, Finished: all, Jobs: policy.Jobs}
	if !s.Reaches(policy.Share) {
		return ""
	}
	if s.Corners = 0; !s.Reaches(policy.Share) { // then it matters how close together they are
		if s.Corners = t.corners(class); !s.Reaches(policy.Share) {
			return ""
		}
	}
	return fmt.Sprintf("%d of %d finished jobs failed with %s", n, all, class)
}

// corners are how many separate groups of failures with a class there are, in the order in
// which jobs ended.
func (t tally) corners(class string) (n int) {
	type end struct {
		at   time.Time
		mine bool
	}
	var ends []end
	gather := func(dir string, mine bool) {
		list, _ := os.ReadDir(dir)
		for _, f := range list {
			if fi, err := f.Info(); err == nil {
				ends = append(ends, end{fi.ModTime(), mine})
			}
		}
	}
	gather(t.path("well"), false)
	for _, c := range t.classes() {
		gather(t.path("failed", className(c)), c == class)
	}
	slices.SortStableFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	last := -1
	for i, e := range ends {
		if !e.mine {
			continue
		}
		if last < 0 || i-last > failure.Neighbours {
			n++
		}
		last = i
	}
	return n
}

// atTheLast is share after a completed job. That makes no share larger, but may make the batch
// large enough for shares to count; jobs that end at the same time may each miss that moment,
// hence the margin.
func (t tally) atTheLast(policy providers.Breaker) (why string) {
	if policy.Share <= 0 || files(t.path("well"), 2*failure.ShareFrom) == 2*failure.ShareFrom {
		return ""
	}
	for _, c := range t.classes() {
		why = cmp.Or(why, t.share(c, policy))
	}
	return why
}

// anyWell reports whether a job has done well.
func (t tally) anyWell() bool { return files(t.path("well"), 1) > 0 }

// classPrefix keeps a class named by a campaign from being a special name to a filesystem.
const classPrefix = "class-"

func className(class string) string { return classPrefix + url.PathEscape(class) }

// classes are those that jobs have failed with.
func (t tally) classes() (list []string) {
	dirs, _ := os.ReadDir(t.path("failed"))
	for _, d := range dirs {
		if c, err := url.PathUnescape(strings.TrimPrefix(d.Name(), classPrefix)); err == nil {
			list = append(list, c)
		}
	}
	return list
}

// enter writes a file for an end. Where the spool cannot be written, nothing is counted:
// nothing could be stopped either.
func enter(dir string, e End) {
	if os.MkdirAll(dir, 0o700) == nil {
		os.WriteFile(filepath.Join(dir, RecordName(e.Token, e.Begin.Restart)), nil, 0o600)
	}
}

// files are how many files a folder has, as far as most, -1 for all.
func files(dir string, most int) int {
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer f.Close()
	names, err := f.Readdirnames(most)
	if err != nil && err != io.EOF {
		return 0
	}
	return len(names)
}

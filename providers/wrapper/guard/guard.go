// Package guard decides, before a job starts, what to do with files at its
// output paths. It never overwrites a file that is not the job's own: it
// renames a file that the job may replace, and any other file keeps the job
// from starting. The queue of a machine and the nodes of a scheduler ask it
// before each launch.
package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// Foreign is the error of a job that found a file which is not its own, and which nobody
// agreed to replace. The job moved and wrote nothing.
type Foreign struct {
	Path string // as declared
	More int    // other such files
}

func (f *Foreign) Error() string {
	files, they := f.Path+" is", "it"
	if f.More > 0 {
		files, they = fmt.Sprintf("%s and %d more are", f.Path, f.More), "them"
	}
	return fmt.Sprintf("%s there, and this job did not make %s, so it was not started. "+
		"Run `muster apply` to be asked whether to replace %s, adopt %s with an import block, or move %s away", files, they, they, they, they)
}

// A Start is one start of a job.
type Start struct {
	Job *providers.Job
	// First is the first launch under the job's token.
	First bool
	// Left are the outputs of the launch before this one, as it recorded them at its end. Nil
	// means that there is no such record: every file there counts as its own.
	Left []offer.Output
	// Before is the launch that left the files, TOKEN.N; "" means that none ran.
	Before string
}

// Fresh reports whether the launch resumes from no checkpoint that is there.
func (l Start) Fresh() bool { return l.First && l.Job.Checkpoint.Fresh }

// Unseen reports whether nobody recorded the files of the launch before this
// one.
func (l Start) Unseen() bool {
	if l.First {
		return l.Job.Guard != nil && l.Job.Guard.Unseen
	}
	return l.Left == nil
}

// Clear prepares a launch: it moves aside the files that the job may replace, and returns a
// Foreign error where another file is at an output path.
func Clear(l Start) error {
	j := l.Job
	if j.Guard == nil || j.Smoke {
		switch {
		case !l.First:
			return nil
		case j.MoveAside != "":
			return moveAll(j, j.Outputs)
		}
		return moveAll(j, slices.DeleteFunc(slices.Clone(j.Outputs), func(o providers.Output) bool { return !otherKind(j, o) }))
	}
	var aside []providers.Output
	var foreign []string
	for _, o := range watched(j) {
		there := verify.Stat(j.Workdir, o)
		fate := j.Guard.Again(there, o.Shared, l.Left)
		if l.First {
			fate = j.Guard.Fate(there, o.Shared)
		}
		if fate == offer.Stays && there.Path != o.Path { // its own, and in place of a folder that it writes to
			fate = offer.Aside
		}
		switch fate {
		case offer.Aside:
			aside = append(aside, o)
		case offer.Foreign:
			foreign = append(foreign, there.Path)
		}
	}
	if len(foreign) > 0 {
		return &Foreign{Path: foreign[0], More: len(foreign) - 1}
	}
	return moveAll(j, aside)
}

// otherKind reports whether a folder is at the path of a smoke's output that is a file, or a file
// where a folder is to be: of an earlier smoke, whose output was declared so.
func otherKind(j *providers.Job, o providers.Output) bool {
	if !j.Smoke || o.Shared {
		return false
	}
	if o.Kind == "glob" {
		return verify.Stat(j.Workdir, o).Path != o.Path
	}
	info, err := os.Stat(inWorkdir(j.Workdir, o.Path))
	return err == nil && info.IsDir() != (o.Kind == "dir")
}

// watched are the outputs of a job, and its checkpoint as one more.
func watched(j *providers.Job) []providers.Output {
	if j.Checkpoint.Path == "" {
		return j.Outputs
	}
	return append(slices.Clip(j.Outputs), Checkpoint(j.Workdir, j.Checkpoint))
}

// Checkpoint is a job's checkpoint as an output: at its path, relative to the
// workdir where it is below it.
func Checkpoint(workdir string, c providers.Checkpoint) providers.Output {
	o := providers.Output{Name: offer.CheckpointName, Path: c.Path}
	if rel, err := filepath.Rel(workdir, c.Path); err == nil && filepath.IsLocal(rel) {
		o.Path = rel
	}
	if c.Glob {
		o.Kind, o.MinCount = "glob", providers.NoneNeeded
	}
	return o
}

// Left are the files at a launch's output paths when it ends.
func Left(j *providers.Job) []offer.Output {
	left := make([]offer.Output, 0, len(j.Outputs))
	for _, o := range j.Outputs {
		left = append(left, verify.Stat(j.Workdir, o))
	}
	return left
}

// Note adds the files at the output paths to the end of a launch that did not complete, so
// that the next launch can distinguish them from files of others.
func Note(j *providers.Job, o *offer.Observation) {
	if j.Guard == nil {
		return
	}
	left := Left(j)
	for i := range left {
		if i < len(o.Outputs) {
			left[i].OK, left[i].Verdict = o.Outputs[i].OK, o.Outputs[i].Verdict
		}
	}
	o.Outputs = left
}

package batch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// told are the commands that change something, in order.
func (f *fakeSlurm) told() (out []string) {
	for _, c := range f.calls {
		switch {
		case strings.Contains(c, " Comment="): // goes with each release; see TestMark
		case strings.HasPrefix(c, "sbatch") && strings.Contains(c, "--hold"):
			out = append(out, "sbatch --hold")
		case strings.HasPrefix(c, "sbatch"):
			out = append(out, "sbatch")
		case strings.HasPrefix(c, "scontrol update"), strings.HasPrefix(c, "scontrol release"), strings.HasPrefix(c, "scontrol hold"), strings.HasPrefix(c, "scancel"):
			out = append(out, c)
		}
	}
	return out
}

// TestRepoint: a job that comes back under a new id takes with it what came
// after it, before it may start; what came after others stays as it is.
func TestRepoint(t *testing.T) {
	// Requirement: E8
	t.Parallel()
	retry := providers.Retry{On: []string{failure.Walltime}, Max: 3, Scale: map[string]providers.Scale{"walltime": {GPUs: 2}}}
	start := func(k *bench) []providers.Job {
		teachers := k.jobs("teachers", 3, nil)
		for i := range teachers {
			teachers[i].Retry = retry
		}
		students := k.jobs("students", 3, func(i int) []string { return []string{teachers[i].Token} })
		all := k.jobs("report", 1, func(int) []string { return []string{students[0].Token, students[1].Token, students[2].Token} })
		k.submit("a", slices.Concat(teachers, students, all)...)
		if s := k.f.scripts[1]; directive(s, "kill-on-invalid-dep") != "no" || directive(s, "dependency") != "aftercorr:1" {
			k.Errorf("students are submitted with\n%s", s)
		}
		if s := k.f.scripts[2]; directive(s, "kill-on-invalid-dep") != "yes" {
			k.Errorf("what comes after what does not scale is submitted with\n%s", s)
		}
		k.ends(teachers[0].Token, offer.Completed, "")
		k.ends(teachers[1].Token, offer.Failed, failure.Walltime)
		k.f.calls = nil
		return teachers
	}
	again := func(old providers.Job, token string) providers.Job {
		old.Token, old.Attempt, old.Shape.GPUs = token, 2, 2
		return old
	}

	t.Run("one element", func(t *testing.T) {
		t.Parallel()
		k := newBench(t)
		teachers := start(k)
		k.submit("b", again(teachers[1], "teachers1again"))
		want := []string{"sbatch --hold", "scontrol update JobId=2_[1] Dependency=afterok:4", "scontrol release 4"}
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("Slurm is told %q, want %q", got, want)
		}
		spool := node.Spool(k.spool())
		if h := spool.Heir(teachers[1].Token); h != "teachers1again" {
			t.Errorf("%s stands for the teacher on the node", h)
		}
		// It fails, too, and comes back once more to a restarted muster.
		k.ends("teachers1again", offer.Failed, failure.Walltime)
		k.restart()
		k.f.calls = nil
		k.submit("c", again(teachers[1], "teachers1third"))
		want = []string{"sbatch --hold", "scontrol update JobId=2_[1] Dependency=afterok:5", "scontrol release 5"}
		if got := k.f.told(); !slices.Equal(got, want) {
			t.Errorf("the third time Slurm is told %q, want %q", got, want)
		}
	})

	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		k := newBench(t)
		teachers := start(k)
		k.f.answer = func(argv []string) *command.Result {
			if argv[0] == "scontrol" && argv[1] == "update" {
				return &command.Result{Code: 1, Err: []byte("Job is no longer pending execution for job 2_1\n")}
			}
			return nil
		}
		k.submit("b", again(teachers[1], "teachers1again"))
		if got := k.f.told(); !slices.Contains(got, "scancel -- 2_[1]") || got[len(got)-1] != "scontrol release 4" {
			t.Errorf("Slurm is told %q", got)
		}
		if o := k.found("students1"); o.Status != offer.Cancelled || o.Cause != offer.Blocked {
			t.Errorf("the student is %+v", o)
		}
		if o := k.found("students2"); o.Status != offer.Queued {
			t.Errorf("another student is %+v", o)
		}
	})

	t.Run("slurmctld away", func(t *testing.T) {
		t.Parallel()
		k := newBench(t)
		teachers := start(k)
		away := &command.Result{Code: 1, Err: []byte("slurm_update error: Unable to contact slurm controller (connect failure)\n")}
		k.f.answer = func(argv []string) *command.Result {
			if argv[0] == "scontrol" && argv[1] == "update" {
				return away
			}
			return nil
		}
		k.submit("b", again(teachers[1], "teachers1again"))
		if got := k.f.told(); slices.ContainsFunc(got, func(c string) bool { return strings.Contains(c, "release") }) {
			t.Errorf("it is released before its students are pointed at it: %q", got)
		}
		away, k.f.calls = nil, nil
		k.restart()
		k.submit("c", k.jobs("more", 1, nil)...)
		if got := k.f.told(); !slices.Contains(got, "scontrol update JobId=2_[1] Dependency=afterok:4") || got[len(got)-1] != "scontrol release 4" {
			t.Errorf("when it is back Slurm is told %q", got)
		}
	})
}

// spool is the campaign's directory.
func (k *bench) spool() string { return spoolDir(k.b.Workdir, "slurm", k.b.Lineage, k.b.Name) }

// ends writes the record of the end of a job's first start.
func (k *bench) ends(token string, status offer.Status, class string) {
	k.Helper()
	o := offer.Observation{Token: token, Presence: offer.Found, Status: status, Class: class, Attempt: 1, Ended: time.Now()}
	if found := k.found(token); found.Attempt > 0 {
		o.Attempt = found.Attempt
	}
	k.record(token, node.End{Begin: node.Begin{Token: token}, Final: true, Seen: o})
	if got := k.found(token); got.Status != status {
		k.Fatalf("%s is %s, not %s", token, got.Status, status)
	}
}

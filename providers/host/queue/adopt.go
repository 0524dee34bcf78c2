package queue

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/monotonic"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// adoption takes over the jobs of an earlier queue.
type adoption struct {
	*core
	attempts  *attempts
	scheduler *scheduler
	starts    *starts
}

// adopt takes over from an earlier queue: running jobs continue, jobs that ended meanwhile are
// checked, starts without a claim are repeated, and jobs that a reboot ended are recorded as
// such.
func (ad *adoption) adopt(lastBoot string) {
	rebooted := map[*place]int{}
	alone := !ad.anySurvived()
	keep := map[string]bool{}
	for _, j := range ad.jobs {
		if j.Launch == nil || j.over() {
			continue
		}
		keep[filepath.Base(ad.folder(j))] = true
		j.oomKill, j.before = j.Launch.OOMKills-1, nil
		if ad.bases.get(baseKey(j)) == nil && claimed(ad.folder(j)) {
			ad.bases.set(baseKey(j), verify.Baseline{})
		}
		ad.attempts.book(j, 1)
		j.Status = offer.Running
		if j.Launch.Boot != monotonic.ID() {
			rebooted[j.place]++
			j.oomKill = -1
			ad.afterReboot(j)
			continue
		}
		ad.pickUp(j, ad.fallen(j, alone))
	}
	for p, n := range rebooted {
		ad.note(p, providers.Note{Kind: "reboot", Text: rebootText(ad.host, n)})
	}
	ad.clearFolders(keep)
	if len(ad.jobs)+len(ad.tombstones) > 0 {
		ad.attempts.sweeper.inherit()
	}
}

func rebootText(host string, n int) string {
	if n == 1 {
		return "machine rebooted: 1 job was running on " + host
	}
	return "machine rebooted: " + strconv.Itoa(n) + " jobs were running on " + host
}

// claimed reports whether the start of a folder was claimed.
func claimed(folder string) bool {
	rec, err := wrapper.ReadRecord(wrapper.Folder(folder).Record())
	return err == nil && rec.PID != 0
}

// initStart is one more than the start time of the machine's first process, 0 if
// that is not known. proc(5), /proc/pid/stat.
func initStart() uint64 {
	at, err := process.StartTime(1)
	if err != nil {
		return 0
	}
	return at + 1
}

// anySurvived reports whether a job that an earlier queue started still runs.
func (ad *adoption) anySurvived() bool {
	for _, j := range ad.jobs {
		if j.Launch == nil || j.over() || j.Launch.Boot != monotonic.ID() {
			continue
		}
		rec, err := wrapper.ReadRecord(wrapper.Folder(ad.folder(j)).Record())
		if err == nil && rec.PID != 0 && process.Holds(rec.PID, j.spec.Token, j.attempt()) {
			return true
		}
	}
	return false
}

// fallen says what happened to the machine when a job and its queue are both gone; alone means
// that no other job survived.
func (ad *adoption) fallen(j *job, alone bool) string {
	switch now := initStart(); {
	case now != 0 && j.Launch.Init != 0 && now != j.Launch.Init:
		return "the container or virtual machine " + ad.host + " was restarted while the job ran"
	case alone:
		return "all jobs on " + ad.host + " were killed, and muster's queue with them: the machine or somebody ended every process there"
	}
	return ""
}

// pickUp continues with a job that started in this boot. host says what happened to the
// machine, if the job is gone.
func (ad *adoption) pickUp(j *job, host string) {
	j.proc, j.cancels = process.ID{}, j.Launch.Cancelled
	rec, err := wrapper.ReadRecord(wrapper.Folder(ad.folder(j)).Record())
	switch {
	case errors.Is(err, os.ErrNotExist):
		// Its wrapper may be about to claim. Two may: one of them wins.
		if !j.cancels {
			ad.repeat(j)
			return
		}
	case err == nil && rec.PID == 0:
		if pid := ad.findStart(j); pid != 0 {
			j.proc = process.ID{PID: pid}
		}
	default:
		j.proc = process.ID{PID: rec.PID}
	}
	if j.proc.PID != 0 && rec.Exit == nil && process.Holds(j.proc.PID, j.spec.Token, j.attempt()) {
		ad.attempts.adoptOne(j)
		return
	}
	ad.attempts.lost(j, host)
}

// repeat starts a job again that has not been claimed.
func (ad *adoption) repeat(j *job) {
	ad.live[j] = true
	s := ad.starts.newStart(j)
	s.again = true
	ad.due = append(ad.due, s)
	ad.attempts.watchOver(j)
}

// findStart looks for the process of a start by its token.
func (ad *adoption) findStart(j *job) int {
	for _, pid := range process.All() {
		if sid, _ := process.Session(pid); sid == pid && process.Holds(pid, j.spec.Token, j.attempt()) {
			return pid
		}
	}
	return 0
}

// afterReboot closes a job that was running when the machine went down. If
// its record says that it had ended, its outputs decide.
func (ad *adoption) afterReboot(j *job) {
	j.proc = process.ID{}
	ad.attempts.lost(j, "")
}

// clearFolders removes folders of jobs whose end an earlier queue recorded without removing
// them.
func (ad *adoption) clearFolders(keep map[string]bool) {
	dir := filepath.Join(ad.spool, "jobs")
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if !keep[n.Name()] {
			os.RemoveAll(filepath.Join(dir, n.Name()))
		}
	}
	secrets := filepath.Join(ad.spool, "secrets")
	names, _ = os.ReadDir(secrets)
	for _, n := range names {
		if j := ad.jobs[n.Name()]; j == nil || j.over() {
			os.Remove(filepath.Join(secrets, n.Name()))
		}
	}
}

// clearGroups removes control groups of jobs that have ended.
func (ad *adoption) clearGroups() {
	keep := map[cgroup.Group]bool{}
	for _, j := range ad.jobs {
		if j.Launch != nil {
			keep[j.Launch.Cgroup] = true
		}
	}
	ad.scheduler.cgroups.Clear(keep)
}

package queue

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/boot"
	"github.com/muster-run/muster/providers/host/cgroup"
	"github.com/muster-run/muster/providers/host/process"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/wrapper"
	"github.com/muster-run/muster/providers/wrapper/verify"
)

// adopt picks up what an earlier queue left behind: jobs that run go on,
// those that ended meanwhile are checked, starts that came to no claim are
// repeated, and what a reboot ended is told as such.
func (q *queue) adopt(lastBoot string) {
	rebooted := map[*place]int{}
	alone := !q.anySurvived()
	keep := map[string]bool{}
	for _, j := range q.jobs {
		if j.Launch == nil || j.over() {
			continue
		}
		keep[filepath.Base(q.folder(j))] = true
		j.oomKill, j.before = j.Launch.OOMKills-1, nil
		if q.bases.get(baseKey(j)) == nil && claimed(q.folder(j)) {
			q.bases.set(baseKey(j), verify.Baseline{})
		}
		q.book(j, 1)
		j.Status = offer.Running
		if j.Launch.Boot != boot.ID() {
			rebooted[j.place]++
			j.oomKill = -1
			q.afterReboot(j)
			continue
		}
		q.pickUp(j, q.fallen(j, alone))
	}
	for p, n := range rebooted {
		q.note(p, providers.Note{Kind: "reboot", Text: rebootText(q.host, n)})
	}
	q.clearFolders(keep)
	if len(q.jobs)+len(q.graves) > 0 {
		q.sweeper.Inherit()
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
func (q *queue) anySurvived() bool {
	for _, j := range q.jobs {
		if j.Launch == nil || j.over() || j.Launch.Boot != boot.ID() {
			continue
		}
		rec, err := wrapper.ReadRecord(wrapper.Folder(q.folder(j)).Record())
		if err == nil && rec.PID != 0 && process.Holds(rec.PID, j.spec.Token, j.attempt()) {
			return true
		}
	}
	return false
}

// fallen says what happened to the machine when a job and the queue before this
// one are both gone: alone says that no other job survived.
func (q *queue) fallen(j *job, alone bool) string {
	switch now := initStart(); {
	case now != 0 && j.Launch.Init != 0 && now != j.Launch.Init:
		return "the container or virtual machine " + q.host + " was restarted while the job ran"
	case alone:
		return "all jobs on " + q.host + " were killed, and muster's queue with them: the machine or somebody ended every process there"
	}
	return ""
}

// pickUp continues with a job that was started in this boot. host says what
// happened to the machine, if it is gone.
func (q *queue) pickUp(j *job, host string) {
	j.proc, j.cancels = process.ID{}, j.Launch.Cancelled
	rec, err := wrapper.ReadRecord(wrapper.Folder(q.folder(j)).Record())
	switch {
	case errors.Is(err, os.ErrNotExist):
		// Its wrapper may be about to claim. Two may: one of them wins.
		if !j.cancels {
			q.repeat(j)
			return
		}
	case err == nil && rec.PID == 0:
		if pid := q.findStart(j); pid != 0 {
			j.proc = process.ID{PID: pid}
		}
	default:
		j.proc = process.ID{PID: rec.PID}
	}
	if j.proc.PID != 0 && rec.Exit == nil && process.Holds(j.proc.PID, j.spec.Token, j.attempt()) {
		q.adoptOne(j)
		return
	}
	q.lost(j, host)
}

// repeat starts a job again that has not been claimed.
func (q *queue) repeat(j *job) {
	q.live[j] = true
	s := q.newStart(j)
	s.again = true
	q.due = append(q.due, s)
	q.watchOver(j)
}

// findStart looks for the process of a start by its token.
func (q *queue) findStart(j *job) int {
	for _, pid := range process.All() {
		if sid, _ := process.Session(pid); sid == pid && process.Holds(pid, j.spec.Token, j.attempt()) {
			return pid
		}
	}
	return 0
}

// adoptOne watches over a running process that is not a child.
func (q *queue) adoptOne(j *job) {
	j.start = nil
	j.proc.Start, _ = process.StartTime(j.proc.PID)
	q.live[j] = true
	q.watchOver(j)
	if j.Launch.Cancelled {
		j.cancels = true
		q.terminate(j, j.spec.Grace)
	}
	p, restart := j.proc, j.Restart
	go func() {
		p.Await()
		q.ops <- func() {
			if q.live[j] && j.start == nil && j.Restart == restart {
				q.lost(j, "")
			}
		}
	}()
}

// lost has a job examined whose process is gone without a word from the kernel.
// host says what happened to the machine, "" if nothing is known of that.
func (q *queue) lost(j *job, host string) {
	c := q.newCheck(j)
	c.Rebooted, c.Host = j.Launch.Boot != boot.ID(), host
	q.left(c)
}

// afterReboot closes a job that was running when the machine went down. If
// its record says that it had ended, its outputs decide.
func (q *queue) afterReboot(j *job) {
	j.proc = process.ID{}
	q.lost(j, "")
}

// clearFolders removes folders of jobs whose end an earlier queue recorded
// but did not come to clear away.
func (q *queue) clearFolders(keep map[string]bool) {
	dir := filepath.Join(q.spool, "jobs")
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if !keep[n.Name()] {
			os.RemoveAll(filepath.Join(dir, n.Name()))
		}
	}
	secrets := filepath.Join(q.spool, "secrets")
	names, _ = os.ReadDir(secrets)
	for _, n := range names {
		if j := q.jobs[n.Name()]; j == nil || j.over() {
			os.Remove(filepath.Join(secrets, n.Name()))
		}
	}
}

// clearGroups removes control groups of jobs that have ended.
func (q *queue) clearGroups() {
	keep := map[cgroup.Group]bool{}
	for _, j := range q.jobs {
		if j.Launch != nil {
			keep[j.Launch.Cgroup] = true
		}
	}
	q.cgroups.Clear(keep)
}

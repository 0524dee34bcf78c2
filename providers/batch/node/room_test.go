package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestSystemNoRoom: on a full volume nothing begins: the job goes back into the queue,
// for later, with all of its array, and it costs none of its launches.
func TestSystemNoRoom(t *testing.T) {
	w := newWorld(t)
	if err := unix.Mount("muster-test", w.dir, "tmpfs", 0, "size=1m"); err != nil {
		needs.Absent(t, "mount: ", err)
	}
	t.Cleanup(func() { unix.Unmount(w.dir, unix.MNT_DETACH) })
	bin, said := t.TempDir(), filepath.Join(t.TempDir(), "said")
	// Slurm ends the script of a job that is requeued.
	program.Write(t, filepath.Join(bin, "scontrol"), "#!/bin/sh\necho \"$*\" >> "+said+"\n[ \"$1\" = requeue ] && kill -TERM $PPID\nexit 0\n")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	full := filepath.Join(w.dir, "full")
	if err := os.WriteFile(full, make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("2 MiB fit into 1")
	}
	for name, c := range map[string]struct {
		retry providers.Retry
		want  []string
	}{
		"may be requeued": {providers.Retry{On: []string{failure.NaN}, Max: 2}, []string{"requeue 5_0", "update JobId=5_0 StartTime=now+300", "update JobId=5 StartTime=now+300"}},
		"may not": {providers.Retry{Max: 1}, []string{"update JobId=5_0 Requeue=1", "requeue 5_0", "update JobId=5_0 StartTime=now+300",
			"update JobId=5_0 Requeue=0", "update JobId=5 StartTime=now+300"}},
	} {
		t.Run(name, func(t *testing.T) {
			os.Remove(said)
			j := w.job("echo >> ran")
			j.Retry = c.retry
			p := allocation{scheduler: cluster.Node{}, job: "6", array: "5", task: "0"}
			code, e := w.run(j, p)
			text, _ := os.ReadFile(said)
			if got := strings.Split(strings.TrimSpace(string(text)), "\n"); !slices.Equal(got, c.want) {
				t.Errorf("Slurm was told %q, not %q", got, c.want)
			}
			if code == 0 || w.ran() != 0 || w.spool.Claimed(j.Token) != "" {
				t.Errorf("status %d, it ran %d times, and %q has the claim", code, w.ran(), w.spool.Claimed(j.Token))
			}
			if e.Final || e.Seen.Status != offer.Waiting || e.Seen.Class != failure.DiskFull || !strings.Contains(e.Seen.Reason, "no room") {
				t.Errorf("its end is %+v", e)
			}
			if err := os.Remove(full); err != nil {
				t.Fatal(err)
			}
			p.restart = 1
			if code, e := w.run(j, p); code != 0 || w.ran() != 1 || !e.Completed() {
				t.Errorf("with room: status %d, it ran %d times, %+v", code, w.ran(), e)
			}
			os.Remove(filepath.Join(w.dir, "ran"))
			os.WriteFile(full, make([]byte, 2<<20), 0o600)
		})
	}
}

// TestLaunchesLeft: what was put off, or could not be launched, is none of the
// launches that a job may have, and what was decided before it still holds.
func TestLaunchesLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before []int // restarts that came to run
		at     int
		on     string
		code   int
	}{
		"preempted, put off, goes on":         {[]int{0}, 2, failure.Preempted, 0},
		"put off, preempted, goes on":         {[]int{1}, 2, failure.Preempted, 0},
		"preempted twice, put off between":    {[]int{0, 2}, 3, failure.Preempted, ExitRefused},
		"preempted and not to be, put off":    {[]int{0}, 2, failure.NaN, ExitRefused},
		"never came to run":                   {nil, 4, failure.NaN, 0},
		"put off twice, preempted, put off 2": {[]int{2}, 5, failure.Preempted, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry = providers.Retry{On: []string{tt.on}, Max: 2}
			for _, n := range tt.before {
				if got, err := w.spool.take(Begin{Token: j.Token, ID: "5", Restart: n}); err != nil || got != claimed {
					t.Fatal(got, err)
				}
			}
			if code, e := w.run(j, allocation{job: "5", restart: tt.at}); code != tt.code || code == 0 && (w.ran() != 1 || e.Seen.Attempt != tt.at+1) {
				t.Errorf("status %d, ran %d times, %+v", code, w.ran(), e)
			}
		})
	}
}

package queue

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/room"
)

// A volume is what is known of the file system where a place's jobs work.
type volume struct {
	looked, looking bool
	full            string // why nothing is started on it, full or not, "" if something may be
	doubted         bool   // a job found it full: a quota on it is seen by a trial alone
}

// doubt has the volume of a place looked at before anything more is started
// there: a job found it full.
func (p *place) doubt() { p.volume.looked, p.volume.doubted = false, true }

// lostWorkdir reports whether a start failed because the workdir cannot be
// written to, and then keeps the jobs of its place waiting until it can.
func (q *queue) lostWorkdir(s *start) bool {
	if !errors.Is(s.err, os.ErrPermission) && !errors.Is(s.err, unix.EROFS) {
		return false
	}
	p := s.job.place
	why := room.Unwritable(p.Workdir)
	if why == "" {
		return false
	}
	p.volume.looked, p.volume.full = true, why
	return true
}

// hasRoom says why a job of a place must wait for its volume, if it must. It is
// looked at before anything is started there, and then while jobs wait.
func (q *queue) hasRoom(p *place) wait {
	switch {
	case !p.volume.looked:
		q.lookForRoom(p)
		return wait{why: "the volume of " + p.Workdir + " is being looked at"}
	case p.volume.full != "":
		return wait{why: "nothing starts: " + p.volume.full, foreign: true}
	}
	return wait{}
}

// lookForRoom looks at the volume of a place; the queue goes on meanwhile, as
// one that is far away may not answer.
func (q *queue) lookForRoom(p *place) {
	v, dir := &p.volume, p.Workdir
	if v.looking {
		return
	}
	v.looking = true
	doubted := v.doubted
	v.doubted = false
	go func() {
		full := room.Full(dir)
		if full == "" && doubted && attempt.Full(dir) != "" {
			full = "the disk, or a quota on it, is full"
		}
		if full != "" {
			full = "the volume of " + dir + ": " + full
		} else {
			full = room.Unwritable(dir)
		}
		q.ops <- func() {
			again := v.doubted // since then
			*v = volume{looked: !again, full: full, doubted: again || doubted && full != ""}
		}
	}()
}

// watchRoom looks again while jobs wait.
func (q *queue) watchRoom() {
	for _, p := range q.byN {
		for _, l := range p.lanes {
			if l.first() != nil {
				q.lookForRoom(p)
				break
			}
		}
	}
}

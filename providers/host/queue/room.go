package queue

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/room"
)

// volumes decides whether jobs can write to the workdir of a place. It keeps its findings with
// the place.
type volumes struct{ *core }

// A volume is the state of the file system of a place's workdir.
type volume struct {
	looked, looking bool
	full            string // why nothing is started on it, full or not, "" if something may be
	doubted         bool   // a job found it full: a quota on it is seen by a trial alone
}

// doubt has the volume of a place checked before another job starts there, because a job found
// it full.
func (p *place) doubt() { p.volume.looked, p.volume.doubted = false, true }

// lostWorkdir reports whether a start failed because the workdir cannot be
// written to, and then keeps the jobs of its place waiting until it can.
func (vs *volumes) lostWorkdir(s *start) bool {
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

// hasRoom says why a job of a place must wait for its volume, if it must. It checks before the
// first start, and again while jobs wait.
func (vs *volumes) hasRoom(p *place) wait {
	switch {
	case !p.volume.looked:
		vs.lookForRoom(p)
		return wait{why: "muster is checking the volume of " + p.Workdir}
	case p.volume.full != "":
		return wait{why: "nothing starts: " + p.volume.full, foreign: true}
	}
	return wait{}
}

// lookForRoom checks the volume of a place on another goroutine: a remote one may not answer.
func (vs *volumes) lookForRoom(p *place) {
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
		vs.ops <- func() {
			again := v.doubted // since then
			*v = volume{looked: !again, full: full, doubted: again || doubted && full != ""}
		}
	}()
}

// watchRoom looks again while jobs wait.
func (vs *volumes) watchRoom() {
	for _, p := range vs.byN {
		for _, l := range p.queues {
			if l.first() != nil {
				vs.lookForRoom(p)
				break
			}
		}
	}
}

package queue

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/room"
)

// volumes decides whether jobs can write to the workdir of a place. It keeps its findings with
// the place.
type volumes struct{ *core }

// A volume is the state of the file system of a place's workdir.
type volume struct {
	looked, looking bool
	full            string // why nothing is started on it, full or not, "" if something may be
	// doubted is a folder that a job could not write to: a quota is seen by a trial alone,
	// and a folder below the workdir has a mode of its own.
	doubted string
}

// doubt has the volume of a place checked before another job starts there, because a job could
// not write to a folder.
func (p *place) doubt(dir string) { p.volume.looked, p.volume.doubted = false, dir }

// lostWorkdir reports whether a start failed because the workdir, or a folder in it, cannot be
// written to, and then keeps the jobs of its place waiting until it can.
func (vs *volumes) lostWorkdir(s *start) bool {
	if !attempt.Denied(s.err) {
		return false
	}
	p := s.job.place
	dir, why := p.Workdir, room.Unwritable(p.Workdir)
	if at := (*os.PathError)(nil); why == "" && errors.As(s.err, &at) && attempt.Inside(p.Workdir, at.Path) {
		dir = filepath.Dir(at.Path)
		why = room.Unwritable(dir)
	}
	if why == "" {
		return false
	}
	p.volume.looked, p.volume.full, p.volume.doubted = true, why, dir
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
		return wait{why: "nothing starts: " + p.volume.full, cause: offer.NoRoom, foreign: true}
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
	v.doubted = ""
	go func() {
		full := noRoom(dir, doubted)
		vs.ops <- func() {
			again := v.doubted // since then
			*v = volume{looked: again == "", full: full, doubted: again}
			if again == "" && full != "" {
				v.doubted = doubted
			}
		}
	}()
}

// noRoom is why nothing may start in a workdir, "" if something may; doubted is a folder that
// a job could not write to, "" if there is none.
func noRoom(dir, doubted string) string {
	full, class := room.Full(dir), ""
	if full == "" && doubted != "" {
		if class = attempt.Full(doubted); class != "" && class != failure.Unwritable {
			full = "the disk, or a quota on it, is full"
		}
	}
	if full != "" {
		return "the volume of " + dir + ": " + full
	}
	if why := cmp.Or(room.Unwritable(dir), room.Unwritable(cmp.Or(doubted, dir))); why != "" || class == "" {
		return why
	}
	return attempt.Unwritten(doubted)
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

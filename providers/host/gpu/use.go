package gpu

import "time"

// A Use is what is seen of the memory that a launch has in use on its GPUs.
// The zero value has seen nothing.
type Use struct {
	Looked time.Duration // uptime of the last look, whatever it told
	told   time.Duration // and of the last that told something
	Looks  int           // those that did
	most   int64         // bytes on one device
}

// Looks come at growing intervals: what is measured in bytes for hours need
// not be looked at every second.
const (
	useFirst = time.Second
	useMost  = 15 * time.Second
	usePart  = 8 // of the launch's life till then
	// useLast is the part of a launch's life in which the last look has to be.
	useLast = 4
)

const (
	// Rest is how many times as long as a reading takes none follows it:
	// nvidia-smi may need a second of a core.
	Rest = 20
	// UseNone is how many looks it takes to say that nothing was put on a GPU.
	UseNone = 3
)

// Due reports whether a launch that began then is to be looked at.
func (u *Use) Due(began, now time.Duration) bool {
	return now-max(u.Looked, began) >= min(max((now-began)/usePart, useFirst), useMost)
}

// See takes a look in; -1 is one that told nothing.
func (u *Use) See(at time.Duration, bytes int64) {
	if u.Looked = at; bytes >= 0 {
		u.told, u.most = at, max(u.most, bytes)
		u.Looks++
	}
}

// Bytes is the most that was in use on one device by the end of a launch, -1
// where it was not looked at often and late enough to say.
func (u *Use) Bytes(began, ended time.Duration) int64 {
	if u.Looks == 0 || ended-u.told > (ended-began)/useLast || u.most == 0 && u.Looks < UseNone {
		return -1
	}
	return u.most
}

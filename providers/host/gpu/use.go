package gpu

import "time"

// A Use is the observed memory of a launch on its GPUs. The zero value has no observation.
type Use struct {
	Looked time.Duration // uptime of the last look, with or without a result
	told   time.Duration // and of the last one with a result
	Looks  int           // those that did
	most   int64         // bytes on one device
}

// Looks come at growing intervals: a figure over hours needs no look every second.
const (
	useFirst = time.Second
	useMost  = 15 * time.Second
	usePart  = 8 // of the launch's life so far
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

// Due reports whether it is time to look at a launch.
func (u *Use) Due(began, now time.Duration) bool {
	return now-max(u.Looked, began) >= min(max((now-began)/usePart, useFirst), useMost)
}

// See records a look; -1 is a look without a result.
func (u *Use) See(at time.Duration, bytes int64) {
	if u.Looked = at; bytes >= 0 {
		u.told, u.most = at, max(u.most, bytes)
		u.Looks++
	}
}

// Bytes is the most memory in use on one device by the end of a launch, -1 where the looks
// were too few or too early to say.
func (u *Use) Bytes(began, ended time.Duration) int64 {
	if u.Looks == 0 || ended-u.told > (ended-began)/useLast || u.most == 0 && u.Looks < UseNone {
		return -1
	}
	return u.most
}

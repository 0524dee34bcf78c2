package sim

import "time"

// Kinds of events due at an instant.
type what uint8

const (
	itsTurn what = iota // its wait is over
	itsEnd
	itsRetry
	anOutage // begins or ends
)

// A due is an event that the world expects. It holds as long as its job has taken no
// other turn.
type due struct {
	at   time.Time
	seq  int
	what what
	job  *job
	turn int
}

// dues are a heap, the earliest first.
type dues []due

func (h dues) Len() int { return len(h) }
func (h dues) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].seq < h[j].seq
}
func (h dues) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dues) Push(x any)   { *h = append(*h, x.(due)) }
func (h *dues) Pop() any {
	old := *h
	d := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return d
}

package devices

import (
	"time"

	"github.com/muster-run/muster/providers/host/gpu"
)

// askHolder is how long an answer about a lock's holder is used.
const askHolder = time.Minute

// A holder is the holder of a device's lock, when it was last asked for.
type holder struct {
	said string
	at   time.Time
}

// holderOf says who holds a device's lock, as far as the system shows it.
func (r *Allocator) holderOf(uuid string) string {
	h := r.holders[uuid]
	if time.Since(h.at) > askHolder {
		h = holder{at: time.Now()}
		if who := gpu.Holder(uuid); who != "" {
			h.said = " (" + who + ")"
		}
		if r.holders == nil {
			r.holders = map[string]holder{}
		}
		r.holders[uuid] = h
	}
	return h.said
}

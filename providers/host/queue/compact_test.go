package queue

import (
	"fmt"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/host/gpu"
)

// TestFewAreNeverForgotten: a clock that is set on by years makes all that is
// known of ended jobs old, and none of it dispensable: a token that comes again
// must not run again, and what comes after it waits for it.
func TestFewAreNeverForgotten(t *testing.T) {
	q, _ := inside(t, gpu.None{})
	q.do(t.Context(), func() {
		for i := range minDead + 10 {
			token := fmt.Sprint("dead", i)
			q.tombstones[token] = tombstoneEntry{Token: token, tombstone: tombstone{Ended: int64(i)}} // of 1970
		}
		q.compaction.forget()
		if len(q.tombstones) != minDead {
			t.Errorf("%d are remembered, want %d", len(q.tombstones), minDead)
		}
		if _, ok := q.tombstones["dead9"]; ok {
			t.Error("one of the oldest is remembered instead of a younger")
		}
		q.compaction.forget()
		if len(q.tombstones) != minDead {
			t.Errorf("%d are remembered after another look, want %d", len(q.tombstones), minDead)
		}
		clear(q.tombstones)
		for i := range maxDead + 10 {
			token := fmt.Sprint("dead", i)
			q.tombstones[token] = tombstoneEntry{Token: token, tombstone: tombstone{Ended: time.Now().Unix() - int64(i)}}
		}
		q.compaction.forget()
		if _, ok := q.tombstones["dead0"]; len(q.tombstones) != maxDead || !ok {
			t.Errorf("of too many young ones %d are remembered, the youngest: %v", len(q.tombstones), ok)
		}
		clear(q.tombstones)
	})
}

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
			q.graves[token] = graveEntry{Token: token, grave: grave{Ended: int64(i)}} // of 1970
		}
		q.forget()
		if len(q.graves) != minDead {
			t.Errorf("%d are remembered, want %d", len(q.graves), minDead)
		}
		if _, ok := q.graves["dead9"]; ok {
			t.Error("one of the oldest is remembered instead of a younger")
		}
		q.forget()
		if len(q.graves) != minDead {
			t.Errorf("%d are remembered after another look, want %d", len(q.graves), minDead)
		}
		clear(q.graves)
		for i := range maxDead + 10 {
			token := fmt.Sprint("dead", i)
			q.graves[token] = graveEntry{Token: token, grave: grave{Ended: time.Now().Unix() - int64(i)}}
		}
		q.forget()
		if _, ok := q.graves["dead0"]; len(q.graves) != maxDead || !ok {
			t.Errorf("of too many young ones %d are remembered, the youngest: %v", len(q.graves), ok)
		}
		clear(q.graves)
	})
}

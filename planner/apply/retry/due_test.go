package retry

import (
	"testing"
	"time"
)

func TestTheEarliestIsDueFirst(t *testing.T) {
	t.Parallel()
	var q Delayed
	if _, ok := q.Next(); ok {
		t.Error("an empty queue has a next")
	}
	start := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	for cell, after := range []time.Duration{3, 1, 2, 1} {
		q.Add(Due{At: start.Add(after * time.Minute), Phase: 1, Cell: int32(cell)})
	}
	if d, ok := q.Next(); !ok || !d.At.Equal(start.Add(time.Minute)) {
		t.Errorf("next is %+v, %t", d, ok)
	}
	if d, ok := q.Pop(start); ok {
		t.Errorf("%+v before its time", d)
	}
	if q.Some(func(d Due) bool { return d.Cell == 7 }) || !q.Some(func(d Due) bool { return d.Cell == 2 }) {
		t.Error("what is in it is not found")
	}
	var got []int32
	for {
		d, ok := q.Pop(start.Add(2 * time.Minute))
		if !ok {
			break
		}
		got = append(got, d.Cell)
	}
	if len(got) != 3 || got[2] != 2 {
		t.Errorf("after two minutes %v are due", got)
	}
	if d, ok := q.Next(); !ok || d.Cell != 0 {
		t.Errorf("left is %+v, %t", d, ok)
	}
}

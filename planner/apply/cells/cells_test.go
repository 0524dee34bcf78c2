package cells

import (
	"slices"
	"testing"
	"time"
)

func TestAQueueWithACellTakenOut(t *testing.T) {
	t.Parallel()
	var q Queue
	for c := range int32(4) {
		q.Push(c)
	}
	q.Pop()
	if !q.Remove(2) || q.Remove(0) {
		t.Error("a cell that waits is taken out, one that left is not")
	}
	var got []int32
	for ; q.Len() > 0; q.Pop() {
		got = append(got, q.Front())
	}
	if len(got) != 2 || got[0] != 1 || got[1] != 3 {
		t.Errorf("left in the queue: %v", got)
	}
}

func TestArriveFreesAGroupOnce(t *testing.T) {
	t.Parallel()
	gs := Groups{Group: []int32{0, 0, -1}, Need: []int32{2}, start: []int32{0, 2}, cells: []int32{5, 6}}
	if got := gs.Arrive(0); got != nil {
		t.Errorf("freed by the first of two: %v", got)
	}
	if got := gs.Arrive(2); got != nil {
		t.Errorf("freed by a producer that feeds nobody: %v", got)
	}
	if got := gs.Arrive(1); len(got) != 2 {
		t.Errorf("freed by the last: %v", got)
	}
	if got := gs.Arrive(1); got != nil {
		t.Errorf("freed twice: %v", got)
	}
}

func TestTheLongestStartFirst(t *testing.T) {
	t.Parallel()
	takes := []time.Duration{2, 5, 2, 9, 5, 1}
	q := Queue{Length: func(cell int32) time.Duration { return takes[cell] }}
	for c := range int32(len(takes)) {
		q.Push(c)
	}
	if !q.Remove(4) || q.Remove(4) || q.Len() != 5 {
		t.Error("a cell that waits is taken out once")
	}
	q.Push(4) // behind the one that is as long
	var got []int32
	for ; q.Len() > 0; q.Pop() {
		got = append(got, q.Front())
	}
	if want := []int32{3, 1, 4, 0, 2, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestTheRankedStartFirst: by rank, then the longest, then the first in.
func TestTheRankedStartFirst(t *testing.T) {
	t.Parallel()
	takes, ranks := []time.Duration{2, 5, 2, 9, 5, 1}, []float64{1, 1, 0, 1, -2, 0}
	for name, c := range map[string]struct {
		q    Queue
		want []int32
	}{
		"rank":            {Queue{Rank: func(cell int32) float64 { return ranks[cell] }}, []int32{4, 2, 5, 0, 1, 3}},
		"rank and length": {Queue{Rank: func(cell int32) float64 { return ranks[cell] }, Length: func(cell int32) time.Duration { return takes[cell] }}, []int32{4, 2, 5, 3, 1, 0}},
	} {
		for cell := range int32(len(takes)) {
			c.q.Push(cell)
		}
		var got []int32
		for ; c.q.Len() > 0; c.q.Pop() {
			got = append(got, c.q.Front())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

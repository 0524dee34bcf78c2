package connection

import "testing"

func TestLoad(t *testing.T) {
	t.Parallel()
	two, other := Throttle{"a", 2}, Throttle{"b", 1}
	var l Load
	total := 0
	for _, step := range []struct {
		under Throttle
		n     int
		want  int // may run at once
		more  int // with one more under the same
	}{
		{two, 1, 1, 1},
		{two, 1, 2, 0},
		{two, 1, 2, 0}, // it waits its turn
		{other, 1, 3, 0},
		{Throttle{}, 1, 4, 1},
		{Throttle{"a", 3}, 1, 5, 1}, // another limit is another throttle
		{two, -1, 5, 0},
		{two, -1, 4, 1},
		{two, -1, 3, 1},
		{Throttle{}, -1, 2, 1},
		{other, -1, 1, 1},
		{Throttle{"a", 3}, -1, 0, 1},
	} {
		total += l.Give(step.under, step.n)
		if more := l.More(step.under, 1); total != step.want || more != step.more {
			t.Errorf("%+v: %d may run, %d with one more", step, total, total+more)
		}
	}
}

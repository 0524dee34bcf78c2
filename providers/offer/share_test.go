package offer

import (
	"testing"
	"time"
)

// TestPackedTurns: as many jobs of an allocation follow one another as may end in it, the
// last one after its whole walltime.
func TestPackedTurns(t *testing.T) {
	t.Parallel()
	node := Pool{Kind: QueuePool, CPUs: 64, Allocation: 4 * time.Hour}
	short := node
	short.MaxTime = 2 * time.Hour
	for _, c := range []struct {
		name  string
		pool  Pool
		shape Shape
		takes time.Duration
		want  int
	}{
		{"no allocation", Pool{CPUs: 64}, Shape{Walltime: time.Hour}, 0, 1},
		{"no walltime", node, Shape{}, 0, 1},
		{"a walltime of more than half of it", node, Shape{Walltime: 150 * time.Minute}, 0, 1},
		{"a walltime longer than it", node, Shape{Walltime: 5 * time.Hour}, 0, 1},
		{"four times an hour", node, Shape{Walltime: time.Hour}, 0, 4},
		{"as long as it takes, but for the last", node, Shape{Walltime: time.Hour}, 10 * time.Minute, 19},
		{"seen to take longer than it may", node, Shape{Walltime: time.Hour}, 2 * time.Hour, 4},
		{"the partition ends earlier", short, Shape{Walltime: time.Hour}, 0, 2},
		{"several nodes", node, Shape{Walltime: time.Hour, Nodes: 2}, 0, 1},
		{"a smoke", node, Shape{Walltime: time.Hour, Smoke: true}, 0, 1},
	} {
		if got := c.pool.Turns(c.shape, c.takes); got != c.want {
			t.Errorf("%s: %d, not %d", c.name, got, c.want)
		}
	}
}

// TestPackedShape: jobs of a pack in slots and turns, also when some have ended.
func TestPackedShape(t *testing.T) {
	t.Parallel()
	full := Shape{Walltime: time.Hour, Pack: 12, Slots: 4, Allocation: 150 * time.Minute}
	for _, c := range []struct {
		name          string
		shape         Shape
		beside, turns int
		lasts         time.Duration
	}{
		{"alone", Shape{Walltime: time.Hour}, 1, 1, time.Hour},
		{"all at once", Shape{Walltime: time.Hour, Pack: 4}, 4, 1, time.Hour},
		{"three turns in four slots", full, 4, 3, 150 * time.Minute},
		{"7 that remain", full.Together(7), 4, 2, 2 * time.Hour},
		{"3 that remain", full.Together(3), 3, 1, time.Hour},
		{"1 that remains", full.Together(1), 1, 1, time.Hour},
		{"one slot", Shape{Walltime: time.Hour, Pack: 5, Slots: 1}, 1, 5, 5 * time.Hour},
	} {
		if b, n, d := c.shape.Beside(), c.shape.Turns(), c.shape.Lasts(); b != c.beside || n != c.turns || d != c.lasts {
			t.Errorf("%s: %d beside one another, %d turns in %s", c.name, b, n, d)
		}
	}
	if s := full.Together(1); s.Pack != 0 || s.Slots != 0 || s.Allocation != 0 {
		t.Errorf("one that remains is %+v", s)
	}
}

// TestPackedMemory: no more jobs share a node than the memory that they state allows.
func TestPackedMemory(t *testing.T) {
	t.Parallel()
	p := Pool{CPUs: 64, Memory: 256 << 30, WholeNode: true, Pack: true}
	for memory, want := range map[int64]int{0: 8, 32 << 30: 8, 33 << 30: 7, 129 << 30: 1} {
		if got := p.Packs(Shape{CPUs: 8, Memory: memory}); got != want {
			t.Errorf("%d GiB each: %d, not %d", memory>>30, got, want)
		}
	}
}

// TestPackedShares: the shares of all jobs of a pack add up to how long it lasts, and a job
// that is left alone has all of the node.
func TestPackedShares(t *testing.T) {
	t.Parallel()
	h := int64(time.Hour)
	type span struct{ from, to int64 } // of a job, after the beginning
	for name, c := range map[string]struct {
		jobs []span
		want []time.Duration
	}{
		"all at once":                   {[]span{{0, 4 * h}, {0, 4 * h}, {0, 4 * h}, {0, 4 * h}}, []time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}},
		"one is slow":                   {[]span{{0, 4 * h}, {0, 4 * h}, {0, 4 * h}, {0, 10 * h}}, []time.Duration{time.Hour, time.Hour, time.Hour, 7 * time.Hour}},
		"one never began, two are slow": {[]span{{0, 0}, {0, 3 * h}, {0, 5 * h}, {0, 5 * h}}, []time.Duration{0, time.Hour, 2 * time.Hour, 2 * time.Hour}},
		"turns in two slots":            {[]span{{0, 2 * h}, {2 * h, 4 * h}, {0, 4 * h}, {4 * h, 6 * h}}, []time.Duration{time.Hour, time.Hour, 2 * time.Hour, 2 * time.Hour}},
		"turns in one slot":             {[]span{{0, h}, {h, 3 * h}, {3 * h, 4 * h}, {4 * h, 4 * h}}, []time.Duration{time.Hour, 2 * time.Hour, time.Hour, 0}},
	} {
		var changes []Change
		last := int64(0)
		for _, j := range c.jobs {
			changes = append(changes, Change{100 + j.from, 1}, Change{100 + j.to, -1})
			last = max(last, j.to)
		}
		sum := time.Duration(0)
		for i, j := range c.jobs {
			got := ShareOf(changes, 100+j.from, 100+j.to)
			if sum += got; got != c.want[i] {
				t.Errorf("%s: job %d has %s, not %s", name, i, got, c.want[i])
			}
		}
		if sum != time.Duration(last) {
			t.Errorf("%s: the shares are %s of %s", name, sum, time.Duration(last))
		}
	}
}

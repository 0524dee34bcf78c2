package gpu

import "testing"

func TestOwn(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	ours, theirs := Process{PID: 1, Used: 4 * gib}, Process{PID: 9, Used: 30 * gib}
	for name, c := range map[string]struct {
		d      Device
		before int64
		want   int64
	}{
		"one process":                        {Device{Healthy: true, Used: 5 * gib, Processes: []Process{ours}}, 0, 4 * gib},
		"two":                                {Device{Healthy: true, Processes: []Process{ours, {PID: 2, Used: gib}}}, 0, 5 * gib},
		"beside a stranger":                  {Device{Healthy: true, Used: 34 * gib, Processes: []Process{theirs, ours}}, 0, 4 * gib},
		"of an unknown size":                 {Device{Healthy: true, Used: 5 * gib, Processes: []Process{{PID: 1, Used: -1}}}, 0, -1},
		"nobody, and nothing in use":         {Device{Healthy: true, Used: 0}, 0, 0},
		"nobody, and what was there before":  {Device{Healthy: true, Used: 450 << 20}, 440 << 20, 0},
		"nobody to be seen, and some in use": {Device{Healthy: true, Used: 450 << 20}, 0, -1}, // in a container, say
		"a stranger alone":                   {Device{Healthy: true, Used: 30 * gib, Processes: []Process{theirs}}, 0, -1},
		"a slice that cannot be read":        {Device{Healthy: true, MIG: true, Used: -1}, 0, -1},
		"as adopted":                         {Device{Healthy: true, Used: 0}, -1, -1},
		"lost":                               {Device{Used: 0}, 0, -1},
	} {
		if got := c.d.Own(func(pid int) bool { return pid < 9 }, c.before); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

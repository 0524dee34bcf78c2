package connection

// A Throttle is a limit that a queue keeps by itself over the jobs of a phase
// that it was given: a scheduler's array (sbatch --array=…%N) or a host's
// queue. The zero value is none.
type Throttle struct {
	Phase string
	Most  int // at once
}

// A Load is how many of the jobs that one queue has may run at once: each, but
// of those under one throttle no more than that lets run.
type Load struct{ under map[Throttle]int }

// Give counts a job that the queue gets (1) or loses (-1), and returns the change of the jobs
// that may run at once.
func (l *Load) Give(t Throttle, n int) (change int) {
	if t.Most <= 0 {
		return n
	}
	if l.under == nil {
		l.under = map[Throttle]int{}
	}
	before := l.under[t]
	if l.under[t] += n; l.under[t] == 0 {
		delete(l.under, t)
	}
	return min(before+n, t.Most) - min(before, t.Most)
}

// More is by how much n more jobs would raise the number that may run at once.
func (l *Load) More(t Throttle, n int) int {
	if t.Most <= 0 {
		return n
	}
	return min(n, max(t.Most-l.under[t], 0))
}

package apply

import (
	"errors"
	"slices"

	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
)

// watch follows a backend until the run ends.
func (e *engine) watch(c *contact) {
	c.Follow(e.ctx, e.Time, line.Watcher{
		Fold:    func(batch providers.Batch) { e.Post(func() { e.fold(c, batch) }) },
		Settled: func(cursor string) string { return e.settled(c, cursor) },
		Broke:   func(err error) { e.Post(func() { e.unreachable(c.lines[0], err) }) },
	})
}

// settled waits until what was folded is durable, for the next watch tells
// the backend that it may forget it.
func (e *engine) settled(b *contact, cursor string) string {
	got := make(chan string, 1)
	e.Post(func() {
		if b.cursor != "" {
			e.sync()
		}
		got <- b.durable
	})
	e.Time.Park(func() bool { return len(got) > 0 || over(e.ctx.Done()) })
	select {
	case c := <-got:
		if c != "" {
			return c
		}
		return cursor
	case <-e.ctx.Done():
		return cursor
	}
}

// fold takes a batch of a watch in. Of what one job went through in it, only
// the last step and the ends of its launches are kept.
func (e *engine) fold(b *contact, batch providers.Batch) {
	if len(b.lines) == 1 { // else it says nothing of single hosts
		e.reachable(b.lines[0])
	}
	if batch.Cursor != "" {
		b.cursor = batch.Cursor
	}
	b.seen += len(batch.Events)
	for _, o := range line.LastOf(batch.Events) {
		e.observe(b, o)
	}
	for _, n := range batch.Notes {
		e.noted(b, n)
	}
}

// noted takes what a backend says of itself.
func (e *engine) noted(b *contact, n providers.Note) {
	switch n.Kind {
	case "breaker":
		if p := e.byName[n.Phase]; p != nil {
			e.openBreaker(p, "backend."+b.Name, n.Text, 0)
		}
	case "unreachable":
		e.unreachable(b.lines[0], errors.New(n.Text))
	case "reachable":
		e.reachable(b.lines[0])
	default:
		e.report.note(e, "backend."+b.Name, "backend."+b.Name+": "+n.Text, n.Kind == "reboot")
	}
}

// acknowledge tells every backend, at the end of a run, what is durable here.
func (e *engine) acknowledge() {
	if e.err != nil {
		return
	}
	for _, b := range e.contacts {
		if b.Provider == nil || b.durable == "" || slices.ContainsFunc(b.lines, func(l *backend) bool { return l.down != "" }) {
			continue
		}
		b.Acknowledge(e.ctx, b.durable)
	}
}

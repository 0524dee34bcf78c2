package backends

import (
	"errors"
	"slices"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/providers"
)

// watches follow backends while the run stays.
type watches struct {
	*core
	lookups *lookups
}

// A watch follows one place and posts its reports to the loop.
type watch struct {
	*watches
	c *Contact
}

// Fold posts a batch to the loop.
func (w watch) Fold(batch providers.Batch) { w.Post(func() { w.fold(w.c, batch) }) }

// Broke notes that the place cannot be asked.
func (w watch) Broke(err error) {
	w.Post(func() {
		if !w.c.Splits() {
			w.c.Lines[0].mute = false // it says that again
			w.Unreachable(w.c.Lines[0], err)
		}
		w.lookups.lose(w.c)
	})
}

// Settled waits until folded events are durable, for the next watch tells the backend that it
// may forget them.
func (w watch) Settled(cursor string) string {
	got := make(chan string, 1)
	w.Post(func() {
		if w.c.cursor != "" {
			w.Sync()
		}
		got <- w.c.durable
	})
	w.Park(func() bool { return len(got) > 0 || w.Ctx.Err() != nil })
	select {
	case d := <-got:
		if d != "" {
			return d
		}
	case <-w.Ctx.Done():
	}
	return cursor
}

// fold takes a batch of a watch in. Of each job's steps in it, only the last and the ends of
// its launches are kept.
func (ws *watches) fold(c *Contact, batch providers.Batch) {
	if len(c.Lines) == 1 { // else it says nothing of single hosts
		ws.Reachable(c.Lines[0])
	}
	if batch.Cursor != "" {
		c.cursor = batch.Cursor
	}
	for _, o := range connection.LastOf(batch.Events) {
		ws.lookups.observe(c, o)
	}
	for _, m := range batch.Rentals {
		ws.Hear(Rented{Backend: c.Name, Machine: m})
	}
	for _, n := range batch.Notes {
		ws.noted(c, n)
	}
}

// noted takes in a note of a place about itself.
func (ws *watches) noted(c *Contact, n providers.Note) {
	switch n.Kind {
	case "breaker":
		ws.Hear(Tripped{Phase: n.Phase, By: "backend." + c.Name, Why: n.Text})
	case "unreachable":
		if !c.Splits() {
			ws.Unreachable(c.Lines[0], errors.New(n.Text))
			c.Lines[0].mute = true
			return
		}
		if !slices.Contains(c.told, n.Text) {
			c.told = append(c.told, n.Text)
			ws.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, true)
		}
		ws.lookups.lose(c)
	case "reachable":
		if !c.Splits() {
			ws.speaks(c.Lines[0])
			return
		}
		c.told = nil
		ws.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, false)
		for _, b := range c.Lines {
			if b.Down != "" {
				ws.lookups.lookFor(b, ws.on(b))
			}
		}
	default:
		ws.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, n.Kind == "reboot")
	}
}

// Durable notes that all that was heard is durable.
func (ws *watches) Durable() {
	for _, c := range ws.Contacts {
		c.durable = c.cursor
	}
}

// Acknowledge sends every place, at the end of a run, the durable cursor.
func (ws *watches) Acknowledge() {
	for _, c := range ws.Contacts {
		if c.Provider == nil || c.durable == "" || slices.ContainsFunc(c.Lines, func(b *Backend) bool { return b.Down != "" }) {
			continue
		}
		c.Acknowledge(ws.Ctx, c.durable)
	}
}

// follow begins to watch a backend.
func (ws *watches) follow(c *Contact) {
	if c.watched || c.Provider == nil || !ws.Stays {
		return
	}
	c.watched = true
	ws.Spawn(func() { c.Follow(ws.Ctx, ws.Time, watch{ws, c}) })
}

package fleet

import (
	"errors"
	"slices"

	"github.com/muster-run/muster/planner/apply/line"
	"github.com/muster-run/muster/providers"
)

// watch follows a place until the run ends.
func (fl *Fleet) watch(c *Contact) {
	c.Follow(fl.Ctx, fl.Time, line.Watcher{
		Fold:    func(batch providers.Batch) { fl.Post(func() { fl.fold(c, batch) }) },
		Settled: func(cursor string) string { return fl.settled(c, cursor) },
		Broke: func(err error) {
			fl.Post(func() {
				if !c.Splits() {
					c.Lines[0].mute = false // it says that anew
					fl.Unreachable(c.Lines[0], err)
				}
				fl.lose(c)
			})
		},
	})
}

// settled waits until what was folded is durable, for the next watch tells
// the backend that it may forget it.
func (fl *Fleet) settled(c *Contact, cursor string) string {
	got := make(chan string, 1)
	fl.Post(func() {
		if c.cursor != "" {
			fl.Sync()
		}
		got <- c.durable
	})
	fl.Park(func() bool { return len(got) > 0 || fl.Ctx.Err() != nil })
	select {
	case d := <-got:
		if d != "" {
			return d
		}
	case <-fl.Ctx.Done():
	}
	return cursor
}

// fold takes a batch of a watch in. Of what one job went through in it, only
// the last step and the ends of its launches are kept.
func (fl *Fleet) fold(c *Contact, batch providers.Batch) {
	if len(c.Lines) == 1 { // else it says nothing of single hosts
		fl.Reachable(c.Lines[0])
	}
	if batch.Cursor != "" {
		c.cursor = batch.Cursor
	}
	for _, o := range line.LastOf(batch.Events) {
		fl.observe(c, o)
	}
	for _, n := range batch.Notes {
		fl.noted(c, n)
	}
}

// noted takes what a place says of itself.
func (fl *Fleet) noted(c *Contact, n providers.Note) {
	switch n.Kind {
	case "breaker":
		fl.Hear(Tripped{Phase: n.Phase, By: "backend." + c.Name, Why: n.Text})
	case "unreachable":
		if !c.Splits() {
			fl.Unreachable(c.Lines[0], errors.New(n.Text))
			c.Lines[0].mute = true
			return
		}
		fl.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, true)
		fl.lose(c)
	case "reachable":
		if !c.Splits() {
			fl.speaks(c.Lines[0])
			return
		}
		fl.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, false)
		for _, b := range c.Lines {
			if b.Down != "" {
				fl.lookFor(b, fl.on(b))
			}
		}
	default:
		fl.Note("backend."+c.Name, "backend."+c.Name+": "+n.Text, n.Kind == "reboot")
	}
}

// Durable notes that all that was heard is durable.
func (fl *Fleet) Durable() {
	for _, c := range fl.Contacts {
		c.durable = c.cursor
	}
}

// Acknowledge tells every place, at the end of a run, what is durable here.
func (fl *Fleet) Acknowledge() {
	for _, c := range fl.Contacts {
		if c.Provider == nil || c.durable == "" || slices.ContainsFunc(c.Lines, func(b *Backend) bool { return b.Down != "" }) {
			continue
		}
		c.Acknowledge(fl.Ctx, c.durable)
	}
}

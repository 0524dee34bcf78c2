package staging

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// sayEvery is how often is said how far moves are.
const sayEvery = time.Minute

// A move is the news about one.
type move struct {
	address string
	what    string // "moving o of phase.a"
	way     string // "from A to B"
}

func (m move) text() string { return strings.TrimSuffix(m.what+" "+m.way, " ") }

// watch is the progress of a move that begins. It is said that the move resumes
// after a break, and how far it is, for as long as its route or shipment has it.
func (co *core) watch(size int64, m move, ends ...*Endpoint) *Progress {
	p := Begin(size, co.Time.Now())
	p.Resumed = func(file string, at, size int64) {
		co.Post(func() {
			co.answered(ends...)
			co.Note(m.address, m.text()+": "+ResumedText(file, at, size), false)
		})
	}
	if !co.watched && !co.Play {
		co.watched = true
		co.Later(sayEvery, co.sayMoves)
	}
	return p
}

// answered notes the backends between which files moved; nil is this machine.
func (co *core) answered(ends ...*Endpoint) {
	for _, b := range ends {
		if b != nil {
			co.Backends.Answered(b)
		}
	}
}

// sayMoves says how far each route and each source is, for as long as any moves.
func (co *core) sayMoves() {
	any := false
	say := func(m move, list ...*Progress) {
		any = true
		if text := Text(co.Time.Now(), list...); text != "" {
			co.Note(m.address, m.text()+": "+text, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(co.routes)) {
		l := co.routes[name]
		all := slices.Collect(maps.Keys(l.moving))
		if len(all) == 0 {
			continue
		}
		m := l.moving[all[0]]
		if len(all) > 1 {
			m = move{"", fmt.Sprintf("%d transfers", len(all)), m.way}
		}
		say(m, all...)
	}
	for _, name := range slices.Sorted(maps.Keys(co.readers)) {
		if rd := co.readers[name]; rd.busy != nil {
			say(move{"", "digesting inputs", strings.TrimPrefix(rd.on(), " ")}, rd.busy)
		}
	}
	for _, s := range co.shipments {
		if s.far != nil {
			say(s.move(), s.far)
		}
	}
	if co.watched = any; any {
		co.Later(sayEvery, co.sayMoves)
	}
}

func (s *shipment) move() move { return move{s.b.Title, "copying the source", "to " + s.b.Title} }

package apply

import "testing"

func TestStall(t *testing.T) {
	t.Parallel()
	var none, s stall
	if s.News(none) {
		t.Error("nothing is news")
	}
	s.Note(stallBudget, "the budget is spent")
	s.Note(stallRate, "too fast")
	if s != (stall{stallBudget, "the budget is spent"}) {
		t.Errorf("the first reason does not stand: %+v", s)
	}
	if !s.News(none) || !s.News(stall{Cause: stallRate}) {
		t.Error("what begins is no news")
	}
	if s.News(stall{stallBudget, "another budget"}) {
		t.Error("what goes on is news")
	}
	if room := (stall{Cause: stallRoom}); room.News(none) {
		t.Error("a full volume is told of a phase")
	}
}

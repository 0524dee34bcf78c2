package brake

import "testing"

func TestStall(t *testing.T) {
	t.Parallel()
	var none, s Stall
	if s.News(none) {
		t.Error("nothing is news")
	}
	s.Note(ByBudget, "the budget is spent")
	s.Note(ByRate, "too fast")
	if s != (Stall{ByBudget, "the budget is spent"}) {
		t.Errorf("the first reason does not stand: %+v", s)
	}
	if !s.News(none) || !s.News(Stall{Cause: ByRate}) {
		t.Error("what begins is no news")
	}
	if s.News(Stall{ByBudget, "another budget"}) {
		t.Error("what goes on is news")
	}
	if room := (Stall{Cause: ByRoom}); room.News(none) {
		t.Error("a full volume is told of a phase")
	}
}

package brake

// A Stall is why a phase that could start something starts nothing now: a
// ceiling, not a slot that is taken. It is told once, when it begins. The zero
// value is none.
type Stall struct {
	Cause Cause
	Why   string // in words
}

// A Cause is what kind of ceiling it is.
type Cause uint8

// The causes; zero is none.
const (
	ByRate Cause = iota + 1
	ByBudget
	ByRoom // on a volume
)

// Note takes a reason for it; the first one stands.
func (s *Stall) Note(by Cause, why string) {
	if s.Cause == 0 {
		*s = Stall{by, why}
	}
}

// News reports whether it is to be told of a phase, after what it was a turn
// before. A full volume is told once for all phases.
func (s *Stall) News(before Stall) bool {
	return s.Cause != 0 && s.Cause != before.Cause && s.Cause != ByRoom
}

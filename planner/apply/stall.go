package apply

// A stall is why a phase that could start something starts nothing now: a ceiling, not a taken
// slot. muster shows it once, when it begins. The zero value is none.
type stall struct {
	Cause stallCause
	Why   string // in words
}

// A stallCause is what kind of ceiling it is.
type stallCause uint8

// The causes; zero is none.
const (
	stallRate stallCause = iota + 1
	stallBudget
	stallRoom // on a volume
	stallPack // jobs wait for others that share their node
)

// Note takes a reason for it and keeps the first one.
func (s *stall) Note(by stallCause, why string) {
	if s.Cause == 0 {
		*s = stall{by, why}
	}
}

// News reports whether a stall is new to the user for a phase, after the one of the turn
// before. A full volume is shown once for all phases.
func (s *stall) News(before stall) bool {
	return s.Cause != 0 && s.Cause != before.Cause && s.Cause != stallRoom
}

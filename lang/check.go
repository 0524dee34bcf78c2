package lang

// crossChecks looks at jobs beside one another.
func (l *loader) crossChecks() {
}

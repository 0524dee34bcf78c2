package kernel

// Cores are unknown: macOS does not bind processes to processors.
func Cores() [][]int { return nil }

// OnCores calls start.
func OnCores(_ [][]int, start func() error) error { return start() }

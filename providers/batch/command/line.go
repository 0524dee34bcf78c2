package command

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A Line runs commands one at a time: nobody polls a scheduler to death.
type Line struct {
	runner Runner
	mu     sync.Mutex
	runs   atomic.Pointer[running]
}

// running is a command that has not ended.
type running struct {
	name  string
	since time.Time
}

// NewLine runs its commands by a runner.
func NewLine(r Runner) *Line { return &Line{runner: r} }

// Run runs a command, within a limit that begins with the command.
func (l *Line) Run(ctx context.Context, limit time.Duration, argv []string) (Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	l.runs.Store(&running{argv[0], time.Now()})
	defer l.runs.Store(nil)
	return l.runner.Run(ctx, argv, nil)
}

// Runs is the command that runs now, "" if none does, and since when.
func (l *Line) Runs() (name string, since time.Time) {
	if r := l.runs.Load(); r != nil {
		return r.name, r.since
	}
	return "", time.Now()
}

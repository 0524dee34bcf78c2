package live

import (
	"bytes"
	"io"
	"sync"
)

// screen is the terminal that a run is drawn on. While somebody types an answer
// nothing is drawn.
var screen struct {
	mu     sync.Mutex
	paused int
	after  bytes.Buffer // output during the pause
	to     io.Writer
	say    func(string) // puts a line above the bars; nil = no run is shown
}

// mostAfter bounds the output that is kept during a pause, bytes.
const mostAfter = 256 << 10

// Pause keeps the terminal as it is until the function that it returns is called.
func Pause() (resume func()) {
	screen.mu.Lock()
	defer screen.mu.Unlock()
	screen.paused++
	return func() {
		screen.mu.Lock()
		defer screen.mu.Unlock()
		if screen.paused--; screen.paused == 0 && screen.to != nil {
			_, _ = screen.to.Write(screen.after.Bytes())
			screen.after.Reset()
		}
	}
}

// Say puts a line on the screen of the run that is shown.
func Say(text string) {
	screen.mu.Lock()
	say := screen.say
	screen.mu.Unlock()
	if say != nil {
		say(text)
	}
}

// Paint writes to the screen, or keeps the last of it for later.
func Paint(w io.Writer, p []byte) (int, error) {
	screen.mu.Lock()
	defer screen.mu.Unlock()
	if screen.paused == 0 {
		return w.Write(p)
	}
	if screen.to = w; screen.after.Len()+len(p) > mostAfter {
		screen.after.Reset()
	}
	return screen.after.Write(p)
}

// says sets the function that puts a line on the screen.
func says(say func(string)) {
	screen.mu.Lock()
	defer screen.mu.Unlock()
	screen.say = say
}

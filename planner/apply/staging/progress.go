package staging

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-run/muster/internal/units"
)

// Progress is how far files are that move. Whoever moves them counts, and others
// look while they do. A nil one counts nothing.
type Progress struct {
	// Resumed gets a file that is partly there already, from a transfer
	// that broke. It is called by whoever moves the file.
	Resumed func(file string, at, size int64)

	total  int64 // bytes of all its files
	mu     sync.Mutex
	done   int64 // bytes that are there
	file   string
	before int64 // done when the file began
	next   int64 // where its next bytes go
	moved  int64 // bytes that came over the wire
	told   int64 // of these, when was looked last
	looked time.Time
}

// Begin is the progress of so many bytes that are yet to move.
func Begin(total int64, now time.Time) *Progress { return &Progress{total: total, looked: now} }

// count notes n bytes of a file that move from an offset on.
func (p *Progress) count(file string, offset int64, n int, size int64) {
	if p == nil || n == 0 {
		return
	}
	p.mu.Lock()
	if file != p.file {
		p.file, p.before, p.next = file, p.done, 0
	}
	resumed := offset > p.next
	p.next = offset + int64(n)
	p.done = p.before + p.next
	p.moved += int64(n)
	p.mu.Unlock()
	if resumed && p.Resumed != nil {
		p.Resumed(file, offset, size)
	}
}

// sought notes that the next bytes of a file are those that one end asks for: a part
// of it is there already, unless they are its first.
func (p *Progress) sought(file string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if file == p.file {
		p.next = 0
	}
}

// Came notes n more bytes of a file that is read from its beginning.
func (p *Progress) Came(file string, n int64) {
	p.mu.Lock()
	at := p.next
	if file != p.file {
		at = 0
	}
	p.mu.Unlock()
	p.count(file, at, int(n), 0)
}

// arrived notes that a file is there, whoever brought it.
func (p *Progress) arrived(file string, size int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if file != p.file {
		p.before = p.done
	}
	p.done, p.file = p.before+size, ""
}

// Text is "34% of 2.0GiB, 11.0MiB/s, 2m left" of several transfers together, at
// their rate since it was asked for last. It is "" until bytes have moved.
func Text(now time.Time, list ...*Progress) string {
	var done, total, moved int64
	rate := 0.0
	for _, p := range list {
		p.mu.Lock()
		took := now.Sub(p.looked).Seconds()
		if took > 0 {
			rate += float64(p.moved-p.told) / took
		}
		p.told, p.looked = p.moved, now
		done, total, moved = done+p.done, total+max(p.total, p.done), moved+p.moved
		p.mu.Unlock()
	}
	switch {
	case moved == 0:
		return ""
	case done == total:
		return "all of " + units.FormatSize(total) + " is there and is verified now"
	}
	text := fmt.Sprintf("%d%% of %s", done*100/total, units.FormatSize(total))
	if rate < 1 {
		return text + ", and nothing arrives"
	}
	left := time.Duration(float64(total-done) / rate * float64(time.Second))
	return fmt.Sprintf("%s, %s/s, %s left", text, units.FormatSize(int64(rate)), units.FormatDuration(left.Round(time.Second)))
}

// ResumedText says that a transfer goes on with a file that is partly there.
func ResumedText(file string, at, size int64) string {
	return fmt.Sprintf("%s resumes at %s of %s", file, units.FormatSize(at), units.FormatSize(size))
}

// Counted is one more file, which is counted as it is read.
func (p *Progress) Counted(file string, size int64, r io.ReadSeeker) io.ReadSeeker {
	p.mu.Lock()
	p.total += size
	p.mu.Unlock()
	return &countedReader{r, p, file, size, 0}
}

type countedReader struct {
	io.ReadSeeker
	p        *Progress
	file     string
	size, at int64
}

func (c *countedReader) Read(buf []byte) (int, error) {
	n, err := c.ReadSeeker.Read(buf)
	c.p.count(c.file, c.at, n, c.size)
	c.at += int64(n)
	return n, err
}

func (c *countedReader) Seek(offset int64, whence int) (at int64, err error) {
	at, err = c.ReadSeeker.Seek(offset, whence)
	c.at = at
	c.p.sought(c.file)
	return at, err
}

package transfers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// AssumedBandwidth is the bandwidth of a link to another machine where nobody
// measured or stated it, bytes a second: a judgement of ours, of ssh between
// sites.
const AssumedBandwidth = 10 << 20

// Assumed is how a speed is known that nobody measured.
const Assumed = "as assumed: none was measured"

// small is a file of which the time to move it tells nothing of the link: most
// of it is spent on finding, opening and checking it.
const small = 1 << 20

// A Link is the speed of moving files to and from a backend.
type Link struct {
	Bytes int64         // in a second; 0 takes no time
	Each  time.Duration // of every file besides, as small ones showed
	How   string        // that Bytes is known: "as measured"
	// Doubt is the factor by which nine in ten are at most slower.
	Doubt float64
}

// How much slower a link may be, one time in ten: one that somebody stated or
// that was measured, as a single run may be; one that nobody knows, twice.
const (
	seenDoubt    = 1.25
	assumedDoubt = 2
)

// LinkOf is the link of a backend.
func LinkOf(b *lang.Backend, st *state.State) Link {
	switch b.Type {
	case "local":
		return Link{Doubt: 1}
	case "sim": // it says what its link carries, or that it takes no time
		var says struct {
			Bandwidth int64 `json:"bandwidth"`
		}
		_ = json.Unmarshal(b.Config, &says) // checked against its schema
		return Link{Bytes: max(says.Bandwidth, 0), How: "as it says", Doubt: 1}
	}
	l := Link{Bytes: AssumedBandwidth, How: Assumed, Doubt: assumedDoubt}
	var large, little []moved
	for _, m := range movedBy(st, b.Address()) {
		if m.bytes < small {
			little = append(little, m)
		} else {
			large = append(large, m)
		}
	}
	if busy, bytes := together(large); busy > 0 {
		l.Bytes, l.How, l.Doubt = max(int64(float64(bytes)/busy.Seconds()), 1), "as measured", seenDoubt
	}
	if busy, _ := together(little); len(little) > 0 {
		l.Each = busy / time.Duration(len(little))
	}
	return l
}

// moved is one file that was moved.
type moved struct {
	from, to time.Time
	bytes    int64
}

// movedBy are the files that were moved to and from a backend, first begun
// first.
func movedBy(st *state.State, backend string) (out []moved) {
	for _, j := range st.Jobs {
		for _, o := range j.Outputs {
			for _, c := range o.Copies {
				name, _, _ := strings.Cut(c.Backend, "/")
				if c.Seconds > 0 && (name == backend || o.Backend == backend) {
					out = append(out, moved{c.At.Add(-time.Duration(c.Seconds * float64(time.Second))), c.At, o.Size})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b moved) int {
		return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to), cmp.Compare(a.bytes, b.bytes))
	})
	return out
}

// together is the time in which something was moved, and how much.
func together(files []moved) (busy time.Duration, bytes int64) {
	var end time.Time
	for _, m := range files {
		bytes += m.bytes
		if m.from.Before(end) {
			m.from = end
		}
		if m.to.After(m.from) {
			busy += m.to.Sub(m.from)
			end = m.to
		}
	}
	return busy, bytes
}

// slower is that of two links which decides how long files take.
func slower(a, b Link) (l Link, second bool) {
	if a.Bytes == 0 || b.Bytes > 0 && b.Bytes < a.Bytes {
		a, second = b, true
	}
	return a, second
}

// takes is how long one file of a size is on a link.
func (l Link) takes(size int64) time.Duration {
	if l.Bytes == 0 {
		return 0
	}
	return l.Each + time.Duration(float64(size)/float64(l.Bytes)*float64(time.Second))
}

// rate is "10MiB a second (ssh.lab, as assumed: none was measured)".
func (l Link) rate(backend string) string {
	text := fmt.Sprintf("%s a second (%s, %s)", units.FormatSize(l.Bytes), backend, l.How)
	if l.Each > 0 {
		text += fmt.Sprintf(" and %s each besides", l.Each.Round(10*time.Millisecond))
	}
	return text
}

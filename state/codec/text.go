package codec

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/state"
)

// A text is JSON being written, as encoding/json writes it with SetEscapeHTML
// off, but several times faster. Every struct begins with a field that is
// always written, so that each field after it brings its own comma.
type text struct {
	b   []byte
	err error
}

func (w *text) lit(s string) { w.b = append(w.b, s...) }

// other writes rare values.
func (w *text) other(v any) {
	if w.err == nil {
		w.b, w.err = appendJSON(w.b, v)
	}
}

func (w *text) str(s string) {
	start := len(w.b)
	w.b = append(w.b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c <= 0x7e && c != '"' && c != '\\' {
			continue
		}
		e := escape[c]
		if e == 0 {
			w.b = w.b[:start]
			w.other(s)
			return
		}
		w.b = append(append(w.b, s[from:i]...), '\\', e)
		from = i + 1
	}
	w.b = append(append(w.b, s[from:]...), '"')
}

// escape is the letter for a byte after a backslash; 0: written in another
// way.
var escape = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// field writes a string unless it is empty.
func (w *text) field(key, s string) {
	if s != "" {
		w.lit(key)
		w.str(s)
	}
}

func (w *text) integer(key string, n int64) {
	if n != 0 {
		w.b = strconv.AppendInt(append(w.b, key...), n, 10)
	}
}

func (w *text) flag(key string, on bool) {
	if on {
		w.lit(key)
		w.lit("true")
	}
}

func (w *text) float(f float64) {
	switch abs := math.Abs(f); {
	case f == math.Trunc(f) && abs < 1e15 && f != 0:
		w.b = strconv.AppendInt(w.b, int64(f), 10)
	case abs >= 1e-6 && abs < 1e21:
		w.b = strconv.AppendFloat(w.b, f, 'f', -1, 64)
	default:
		w.other(f)
	}
}

func (w *text) moment(t time.Time) {
	if y := t.Year(); t.Location() != time.UTC || y < 0 || y > 9999 {
		w.other(t)
		return
	}
	w.b = append(t.AppendFormat(append(w.b, '"'), time.RFC3339Nano), '"')
}

// at writes a time unless it is zero.
func (w *text) at(key string, t time.Time) {
	if !t.IsZero() {
		w.lit(key)
		w.moment(t)
	}
}

func (w *text) dict(key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	var room [8]string
	keys := room[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	w.lit(key)
	for i, k := range keys {
		w.b = append(w.b, "{,"[min(i, 1)])
		w.str(k)
		w.b = append(w.b, ':')
		w.str(m[k])
	}
	w.b = append(w.b, '}')
}

func (w *text) named(key string, t state.Texts) {
	if len(t) == 0 {
		return
	}
	w.lit(key)
	for i := range t {
		w.b = append(w.b, "{,"[min(i, 1)])
		w.str(t[i].Name)
		w.b = append(w.b, ':')
		w.str(t[i].Value)
	}
	w.b = append(w.b, '}')
}

func (w *text) list(key string, l []string) {
	each(w, key, l, func(w *text, s *string) { w.str(*s) })
}

func each[T any](w *text, key string, l []T, write func(*text, *T)) {
	if len(l) == 0 {
		return
	}
	w.lit(key)
	for i := range l {
		w.b = append(w.b, "[,"[min(i, 1)])
		write(w, &l[i])
	}
	w.b = append(w.b, ']')
}

package codec

import (
	"math"
	"reflect"
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

// known is whether the structs have the fields that are written here. With a
// field more, encoding/json does it: slower, and nothing is left out.
var known = fields[state.Job]() == 23 && fields[state.Attempt]() == 24 && fields[state.Usage]() == 5 && fields[state.Output]() == 11 &&
	fields[state.Copy]() == 4 && fields[state.Entry]() == 8 && fields[state.Intended]() == 4 && fields[state.Submitted]() == 4 && fields[state.Observed]() == 10

func fields[T any]() int { return reflect.TypeFor[T]().NumField() }

// written appends v with write, or with encoding/json where write cannot.
func written[T any](b []byte, v *T, write func(*text, *T)) ([]byte, error) {
	if known {
		w := text{b: b}
		if write(&w, v); w.err == nil {
			return w.b, nil
		}
	}
	return appendJSON(b, v)
}

func (w *text) lit(s string) { w.b = append(w.b, s...) }

// other writes what is rare.
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

// escape is what a byte is written as after a backslash; 0: in another way.
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

func (w *text) job(j *state.Job) {
	w.lit(`{"address":`)
	w.str(j.Address)
	w.lit(`,"phase":`)
	w.str(j.Phase)
	w.dict(`,"axes":`, j.Axes)
	w.flag(`,"smoke":`, j.Smoke)
	w.field(`,"name":`, j.Name)
	w.field(`,"definition":`, j.Definition)
	w.integer(`,"scheme":`, int64(j.Scheme))
	w.field(`,"result":`, j.Result)
	w.field(`,"request":`, j.Request)
	w.field(`,"source":`, j.Source)
	w.dict(`,"inputs":`, j.Inputs)
	w.dict(`,"input_bytes":`, j.InputBytes)
	w.lit(`,"status":`)
	w.str(string(j.Status))
	w.field(`,"class":`, j.Class)
	w.field(`,"reason":`, j.Reason)
	w.field(`,"by":`, j.By)
	w.at(`,"retry":`, j.Retry)
	each(w, `,"attempts":`, j.Attempts, (*text).attempt)
	each(w, `,"outputs":`, j.Outputs, (*text).output)
	w.dict(`,"metrics":`, j.Metrics)
	w.field(`,"accepted":`, j.Accepted)
	w.field(`,"moved":`, j.Moved)
	w.at(`,"updated":`, j.Updated)
	w.lit("}")
}

func (w *text) attempt(a *state.Attempt) {
	w.b = strconv.AppendInt(append(w.b, `{"n":`...), int64(a.N), 10)
	w.lit(`,"token":`)
	w.str(a.Token)
	w.lit(`,"backend":`)
	w.str(a.Backend)
	w.field(`,"pool":`, a.Pool)
	w.field(`,"handle":`, a.Handle)
	w.field(`,"plan":`, a.Plan)
	if a.Fence != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"fence":`...), a.Fence, 10)
	}
	w.dict(`,"ceiling":`, a.Ceiling)
	w.at(`,"intent":`, a.Intent)
	w.at(`,"queued":`, a.Queued)
	w.at(`,"started":`, a.Started)
	w.at(`,"ended":`, a.Ended)
	w.field(`,"node":`, a.Node)
	w.list(`,"gpus":`, a.GPUs)
	if a.Exit != nil {
		w.b = strconv.AppendInt(append(w.b, `,"exit":`...), int64(*a.Exit), 10)
	}
	w.field(`,"signal":`, a.Signal)
	w.field(`,"class":`, a.Class)
	w.list(`,"tail":`, a.Tail)
	if a.Usage != nil {
		w.usage(a.Usage)
	}
	w.at(`,"expected":`, a.Expected)
	w.field(`,"why":`, a.Why)
	w.dict(`,"scaled":`, a.Scaled)
	w.field(`,"replaces":`, a.Replaces)
	w.list(`,"duplicates":`, a.Duplicates)
	w.lit("}")
}

func (w *text) usage(u *state.Usage) {
	w.lit(`,"usage":{"elapsed":`)
	w.float(u.Elapsed)
	w.lit(`,"cpu":`)
	w.float(u.CPU)
	w.b = strconv.AppendInt(append(w.b, `,"max_rss":`...), u.MaxRSS, 10)
	w.lit(`,"gpu_seconds":`)
	w.float(u.GPUSeconds)
	w.b = strconv.AppendInt(append(w.b, `,"gpu_max_mem":`...), u.GPUMaxMem, 10)
	w.lit("}")
}

func (w *text) output(o *state.Output) {
	w.lit(`{"name":`)
	w.str(o.Name)
	w.lit(`,"backend":`)
	w.str(o.Backend)
	w.lit(`,"path":`)
	w.str(o.Path)
	w.field(`,"workdir":`, o.Workdir)
	w.b = strconv.AppendInt(append(w.b, `,"size":`...), o.Size, 10)
	w.field(`,"digest":`, o.Digest)
	w.integer(`,"mtime":`, o.MTime)
	if o.Inode != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"inode":`...), o.Inode, 10)
	}
	w.integer(`,"files":`, int64(o.Files))
	each(w, `,"copies":`, o.Copies, (*text).copy)
	w.flag(`,"missing":`, o.Missing)
	w.lit("}")
}

func (w *text) copy(c *state.Copy) {
	w.lit(`{"backend":`)
	w.str(c.Backend)
	w.lit(`,"path":`)
	w.str(c.Path)
	w.lit(`,"digest":`)
	w.str(c.Digest)
	w.lit(`,"at":`)
	w.moment(c.At)
	w.lit("}")
}

func (w *text) entry(e *state.Entry) {
	w.lit(`{"address":`)
	w.str(e.Address)
	w.integer(`,"attempt":`, int64(e.Attempt))
	w.lit(`,"backend":`)
	w.str(e.Backend)
	w.field(`,"pool":`, e.Pool)
	w.field(`,"phase":`, e.Phase)
	w.lit(`,"at":`)
	w.moment(e.At)
	w.dict(`,"spent":`, e.Spent)
	w.flag(`,"unknown":`, e.Unknown)
	w.lit("}")
}

func (w *text) intended(e *state.Intended) {
	w.lit(`{"job":`)
	w.job(&e.Job)
	w.lit(`,"attempt":`)
	w.attempt(&e.Attempt)
	w.flag(`,"fresh":`, e.Fresh)
	w.lit(`,"at":`)
	w.moment(e.At)
	w.lit("}")
}

func (w *text) submitted(e *state.Submitted) {
	w.lit(`{"address":`)
	w.str(e.Address)
	w.lit(`,"token":`)
	w.str(e.Token)
	w.lit(`,"handle":`)
	w.str(e.Handle)
	w.lit(`,"at":`)
	w.moment(e.At)
	w.lit("}")
}

func (w *text) observed(e *state.Observed) {
	w.lit(`{"address":`)
	w.str(e.Address)
	w.lit(`,"token":`)
	w.str(e.Token)
	w.lit(`,"status":`)
	w.str(string(e.Status))
	w.lit(`,"attempt":`)
	w.attempt(&e.Attempt)
	each(w, `,"outputs":`, e.Outputs, (*text).output)
	w.dict(`,"metrics":`, e.Metrics)
	w.field(`,"reason":`, e.Reason)
	w.at(`,"retry":`, e.Retry)
	if e.Spent != nil {
		w.lit(`,"spent":`)
		w.entry(e.Spent)
	}
	w.lit(`,"at":`)
	w.moment(e.At)
	w.lit("}")
}

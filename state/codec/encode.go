package codec

import (
	"reflect"
	"strconv"

	"github.com/muster-run/muster/state"
)

// known is whether the structs have the fields that are written here. With a
// field more, encoding/json does it: slower, and nothing is left out.
var known = fields[state.Job]() == 28 && fields[state.Attempt]() == 35 && fields[state.Usage]() == 6 && fields[state.Output]() == 12 &&
	fields[state.Copy]() == 6 && fields[state.Entry]() == 12 && fields[state.Intended]() == 4 && fields[state.Submitted]() == 6 && fields[state.Observed]() == 14

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

func (w *text) job(j *state.Job) {
	w.lit(`{"address":`)
	w.str(j.Address)
	w.lit(`,"phase":`)
	w.str(j.Phase)
	w.named(`,"axes":`, j.Axes)
	w.flag(`,"smoke":`, j.Smoke)
	w.field(`,"name":`, j.Name)
	w.field(`,"definition":`, j.Definition)
	w.integer(`,"scheme":`, int64(j.Scheme))
	w.field(`,"result":`, j.Result)
	w.field(`,"request":`, j.Request)
	w.field(`,"source":`, j.Source)
	w.named(`,"inputs":`, j.Inputs)
	w.named(`,"input_bytes":`, j.InputBytes)
	w.lit(`,"status":`)
	w.str(string(j.Status))
	w.field(`,"class":`, j.Class)
	w.field(`,"reason":`, j.Reason)
	w.field(`,"cause":`, j.Cause)
	w.field(`,"by":`, j.By)
	w.at(`,"retry":`, j.Retry)
	w.field(`,"short":`, j.Short)
	each(w, `,"attempts":`, j.Attempts, (*text).attempt)
	each(w, `,"outputs":`, j.Outputs, (*text).output)
	each(w, `,"kept":`, j.Kept, (*text).output)
	w.dict(`,"metrics":`, j.Metrics)
	w.dict(`,"unread":`, j.Unread)
	w.named(`,"read":`, j.Read)
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
	w.field(`,"stage":`, a.Stage)
	w.field(`,"host":`, a.Host)
	w.field(`,"workdir":`, a.Workdir)
	w.field(`,"queue":`, a.Queue)
	w.field(`,"plan":`, a.Plan)
	if a.Fence != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"fence":`...), a.Fence, 10)
	}
	w.dict(`,"ceiling":`, a.Ceiling)
	w.dict(`,"rates":`, a.Rates)
	w.at(`,"intent":`, a.Intent)
	w.at(`,"queued":`, a.Queued)
	w.at(`,"started":`, a.Started)
	if a.NotRun {
		w.lit(`,"not_run":true`)
	}
	w.at(`,"ended":`, a.Ended)
	w.field(`,"node":`, a.Node)
	w.list(`,"gpus":`, a.GPUs)
	w.field(`,"driver":`, a.Driver)
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
	if a.Planned != 0 {
		w.lit(`,"planned_seconds":`)
		w.float(a.Planned)
	}
	w.field(`,"adopter":`, a.Adopter)
	w.dict(`,"scaled":`, a.Scaled)
	w.field(`,"replaces":`, a.Replaces)
	w.list(`,"duplicates":`, a.Duplicates)
	w.field(`,"result":`, a.Result)
	each(w, `,"left":`, a.Left, (*text).output)
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
	w.field(`,"billed":`, u.Billed)
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
	w.integer(`,"ctime":`, o.CTime)
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
	if c.Seconds != 0 {
		w.lit(`,"seconds":`)
		w.float(c.Seconds)
	}
	if c.Stamp != 0 {
		w.b = strconv.AppendUint(append(w.b, `,"stamp":`...), c.Stamp, 10)
	}
	w.lit("}")
}

func (w *text) entry(e *state.Entry) {
	w.lit(`{"address":`)
	w.str(e.Address)
	w.integer(`,"attempt":`, int64(e.Attempt))
	w.field(`,"token":`, e.Token)
	w.field(`,"plan":`, e.Plan)
	w.lit(`,"backend":`)
	w.str(e.Backend)
	w.field(`,"pool":`, e.Pool)
	w.field(`,"phase":`, e.Phase)
	w.lit(`,"at":`)
	w.moment(e.At)
	w.named(`,"spent":`, e.Spent)
	w.flag(`,"unknown":`, e.Unknown)
	w.list(`,"unpriced":`, e.Unpriced)
	w.flag(`,"estimated":`, e.Estimated)
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
	w.field(`,"stage":`, e.Stage)
	w.field(`,"queue":`, e.Queue)
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
	w.dict(`,"unread":`, e.Unread)
	w.dict(`,"inputs":`, e.Inputs)
	w.field(`,"reason":`, e.Reason)
	w.field(`,"cause":`, e.Cause)
	w.at(`,"retry":`, e.Retry)
	w.field(`,"short":`, e.Short)
	if e.Spent != nil {
		w.lit(`,"spent":`)
		w.entry(e.Spent)
	}
	w.lit(`,"at":`)
	w.moment(e.At)
	w.lit("}")
}

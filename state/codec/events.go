package codec

import (
	"encoding/json"

	"github.com/muster-run/muster/state"
)

// The events of which a journal has many are scanned.

func (p *scan) intended(e *state.Intended) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "job":
			p.job(&e.Job)
		case "attempt":
			p.attempt(&e.Attempt)
		case "fresh":
			e.Fresh = p.boolean()
		case "at":
			e.At = p.time()
		default:
			p.bad = true
		}
	}
}

func (p *scan) submitted(e *state.Submitted) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "address":
			e.Address = p.str()
		case "token":
			e.Token = p.str()
		case "handle":
			e.Handle = p.str()
		case "stage":
			e.Stage = p.str()
		case "queue":
			e.Queue = p.str()
		case "at":
			e.At = p.time()
		default:
			p.bad = true
		}
	}
}

func (p *scan) observed(e *state.Observed) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "address":
			e.Address = p.str()
		case "token":
			e.Token = p.str()
		case "status":
			e.Status = state.Status(p.str())
		case "attempt":
			p.attempt(&e.Attempt)
		case "outputs":
			e.Outputs = p.outs()
		case "metrics":
			e.Metrics = p.dict()
		case "unread":
			e.Unread = p.dict()
		case "inputs":
			e.Inputs = p.dict()
		case "reason":
			e.Reason = p.str()
		case "cause":
			e.Cause = p.str()
		case "retry":
			e.Retry = p.time()
		case "short":
			e.Short = p.str()
		case "spent":
			e.Spent = &state.Entry{}
			p.entry(e.Spent)
		case "at":
			e.At = p.time()
		default:
			p.bad = true
		}
	}
}

// scanned reads with a scan, and where that cannot, with encoding/json.
func scanned[T any](p *scan, text string, v *T, read func(*scan, *T)) error {
	p.s, p.i, p.bad = text, 0, false
	if read(p, v); p.done() {
		return nil
	}
	var zero T
	*v = zero
	return json.Unmarshal([]byte(text), v)
}

func quick[E state.Event](read func(*scan, *E)) reader {
	return func(p *scan, raw string) (state.Event, error) {
		var e E
		err := scanned(p, raw, &e, read)
		return e, err
	}
}

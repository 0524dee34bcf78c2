package codec

import "github.com/muster-run/muster/state"

func (p *scan) job(j *state.Job) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "address":
			j.Address = p.str()
		case "phase":
			j.Phase = p.str()
		case "axes":
			j.Axes = p.namedTexts()
		case "smoke":
			j.Smoke = p.boolean()
		case "name":
			j.Name = p.str()
		case "definition":
			j.Definition = p.str()
		case "scheme":
			j.Scheme = int(p.integer())
		case "result":
			j.Result = p.str()
		case "request":
			j.Request = p.str()
		case "source":
			j.Source = p.str()
		case "inputs":
			j.Inputs = p.namedTexts()
		case "input_bytes":
			j.InputBytes = p.namedTexts()
		default:
			p.progress(j, k)
		}
	}
}

// progress reads everything but a job's identity.
func (p *scan) progress(j *state.Job, k string) {
	switch k {
	case "status":
		j.Status = state.Status(p.str())
	case "class":
		j.Class = p.str()
	case "reason":
		j.Reason = p.str()
	case "cause":
		j.Cause = p.str()
	case "by":
		j.By = p.str()
	case "retry":
		j.Retry = p.time()
	case "short":
		j.Short = p.str()
	case "attempts":
		p.attempts.begin()
		for ok := p.open(); ok; ok = p.more() {
			p.attempt(p.attempts.add())
		}
		j.Attempts = p.attempts.end()
	case "outputs":
		j.Outputs = p.outs()
	case "kept":
		j.Kept = p.outs()
	case "metrics":
		j.Metrics = p.dict()
	case "unread":
		j.Unread = p.dict()
	case "read":
		j.Read = p.namedTexts()
	case "accepted":
		j.Accepted = p.str()
	case "moved":
		j.Moved = p.str()
	case "updated":
		j.Updated = p.time()
	default:
		p.bad = true
	}
}

func (p *scan) attempt(a *state.Attempt) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "n":
			a.N = int(p.integer())
		case "token":
			a.Token = p.str()
		case "backend":
			a.Backend = p.str()
		case "pool":
			a.Pool = p.str()
		case "handle":
			a.Handle = p.str()
		case "stage":
			a.Stage = p.str()
		case "host":
			a.Host = p.str()
		case "workdir":
			a.Workdir = p.str()
		case "queue":
			a.Queue = p.str()
		case "plan":
			a.Plan = p.str()
		case "fence":
			a.Fence = p.natural()
		case "ceiling":
			a.Ceiling = p.share()
		case "rates":
			a.Rates = p.share()
		case "intent":
			a.Intent = p.time()
		case "queued":
			a.Queued = p.time()
		case "started":
			a.Started = p.time()
		case "not_run":
			a.NotRun = p.boolean()
		case "ended":
			a.Ended = p.time()
		default:
			p.outcome(a, k)
		}
	}
}

// outcome reads the outcome of an attempt.
func (p *scan) outcome(a *state.Attempt, k string) {
	switch k {
	case "node":
		a.Node = p.str()
	case "gpus":
		a.GPUs = p.list()
	case "driver":
		a.Driver = p.str()
	case "exit":
		a.Exit = p.exits.add()
		*a.Exit = int(p.integer())
	case "signal":
		a.Signal = p.str()
	case "class":
		a.Class = p.str()
	case "tail":
		a.Tail = p.list()
	case "usage":
		a.Usage = p.usages.add()
		p.usage(a.Usage)
	case "expected":
		a.Expected = p.time()
	case "why":
		a.Why = p.str()
	case "planned_seconds":
		a.Planned = p.float()
	case "adopter":
		a.Adopter = p.str()
	case "scaled":
		a.Scaled = p.dict()
	case "replaces":
		a.Replaces = p.str()
	case "duplicates":
		a.Duplicates = p.list()
	case "result":
		a.Result = p.str()
	case "left":
		a.Left = p.outs()
	default:
		p.bad = true
	}
}

func (p *scan) usage(u *state.Usage) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "elapsed":
			u.Elapsed = p.float()
		case "cpu":
			u.CPU = p.float()
		case "max_rss":
			u.MaxRSS = p.integer()
		case "gpu_seconds":
			u.GPUSeconds = p.float()
		case "gpu_max_mem":
			u.GPUMaxMem = p.integer()
		case "billed":
			u.Billed = p.str()
		default:
			p.bad = true
		}
	}
}

func (p *scan) outs() []state.Output {
	p.outputs.begin()
	for ok := p.open(); ok; ok = p.more() {
		p.output(p.outputs.add())
	}
	return p.outputs.end()
}

func (p *scan) output(o *state.Output) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "name":
			o.Name = p.str()
		case "backend":
			o.Backend = p.str()
		case "path":
			o.Path = p.str()
		case "workdir":
			o.Workdir = p.str()
		case "size":
			o.Size = p.integer()
		case "digest":
			o.Digest = p.str()
		case "mtime":
			o.MTime = p.integer()
		case "inode":
			o.Inode = p.natural()
		case "ctime":
			o.CTime = p.integer()
		case "files":
			o.Files = int(p.integer())
		case "missing":
			o.Missing = p.boolean()
		case "copies":
			p.copies.begin()
			for ok := p.open(); ok; ok = p.more() {
				p.copy(p.copies.add())
			}
			o.Copies = p.copies.end()
		default:
			p.bad = true
		}
	}
}

func (p *scan) copy(c *state.Copy) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "backend":
			c.Backend = p.str()
		case "path":
			c.Path = p.str()
		case "digest":
			c.Digest = p.str()
		case "at":
			c.At = p.time()
		case "seconds":
			c.Seconds = p.float()
		case "stamp":
			c.Stamp = p.natural()
		default:
			p.bad = true
		}
	}
}

func (p *scan) entry(e *state.Entry) {
	for k := p.first(); k != ""; k = p.next() {
		switch k {
		case "address":
			e.Address = p.str()
		case "attempt":
			e.Attempt = int(p.integer())
		case "token":
			e.Token = p.str()
		case "plan":
			e.Plan = p.str()
		case "backend":
			e.Backend = p.str()
		case "pool":
			e.Pool = p.str()
		case "phase":
			e.Phase = p.str()
		case "at":
			e.At = p.time()
		case "spent":
			e.Spent = p.namedTexts()
		case "unknown":
			e.Unknown = p.boolean()
		case "unpriced":
			e.Unpriced = p.list()
		case "estimated":
			e.Estimated = p.boolean()
		default:
			p.bad = true
		}
	}
}

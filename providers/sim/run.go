package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/retry"
)

// A job is one submission, through all its launches. One that ended takes about
// 150 bytes.
type job struct {
	*providers.Job        // without the fields that a site which runs nothing does not read; nil once it ended for good
	print          uint64 // of the submission
	status         offer.Status
	launch         int
	waits          int   // tokens it comes after that have not completed
	held           bool  // by its token
	slot           bool  // it runs in a pack, or starts with it
	fate           *Fate // of this launch; nil once it ended for good
	began          time.Time
	factor         float64 // of its price
	machine        *machine
	line           *line
	turn           int                // counts its forecast events: older ones are void
	seen           *offer.Observation // the last report; nil once its end is acknowledged
	decided        bool               // it ended for good
	grown          bool               // its shape differs from the submitted one
}

// newJob takes a submission in, under its fingerprint.
func newJob(j providers.Job) *job {
	print := fingerprint(&j)
	j.Shell, j.Argv, j.Setup, j.Env, j.Secrets, j.Inputs, j.Require, j.Guard = "", nil, nil, nil, nil, nil, nil, nil
	return &job{Job: &j, print: print, status: offer.Queued, launch: max(j.Attempt, 1)}
}

// start begins a launch's work, after its machine came up.
func (w *world) start(j *job) {
	p := j.line.at
	p.take(j.line.key, 1)
	p.started++
	w.running++
	w.byPhase[j.Phase]++
	j.status = offer.Running
	j.began = w.now.Add(p.Boot)
	if j.machine = p.rent(j.Shape, w.now); j.machine != nil {
		j.began = j.machine.ready
		if w.now.After(j.began) {
			j.began = w.now
		}
	}
	w.runs(j, 1)
	j.factor = w.factor(p, p.started, w.now)
	w.tell(j, offer.Observation{Status: offer.Running, Started: j.began})
	w.foresee(j.began.Add(j.lasts()), itsEnd, j)
}

// factor is the bill of the n-th launch on a pool, which starts at a time, divided by its
// quote.
func (w *world) factor(p *place, n int, at time.Time) float64 {
	f := 1.0
	for _, c := range w.site.Prices {
		if c.Pool != "" && c.Pool != p.Name || at.Sub(w.epoch) < c.After || c.Launches != nil && !slices.Contains(c.Launches, n) {
			continue
		}
		f = c.Factor
	}
	return f
}

// lasts is how long a launch runs.
func (j *job) lasts() time.Duration {
	d := j.fate.Takes
	if j.fate.Class != "" {
		d = min(d, j.fate.After)
	}
	if limit := j.Shape.Walltime; limit > 0 {
		d = min(d, limit)
	}
	return max(d, 0)
}

// class is why a launch failed, "" if it did not.
func (j *job) class() string {
	limit := j.Shape.Walltime
	switch {
	case j.fate.Class != "" && (limit == 0 || j.fate.After <= limit):
		return j.fate.Class
	case limit > 0 && j.fate.Takes > limit:
		return failure.Walltime
	}
	return ""
}

// end ends a launch, well or not.
func (w *world) end(j *job) {
	w.free(j)
	class := j.class()
	o := w.over(j)
	if class == "" {
		zero := 0
		o.Token, o.Status, o.Exit, o.Outputs, o.Metrics = j.Token, offer.Completed, &zero, w.outputs(j), j.metrics()
		delete(w.left, j.Address)
		w.lay(j, o.Outputs)
		w.decide(j, o)
		for _, n := range w.after[o.Token] {
			if n.waits--; n.waits == 0 && !n.decided {
				w.queue(n)
			}
		}
		delete(w.after, o.Token)
		return
	}
	o.Status, o.Class = offer.Failed, class
	switch class {
	case failure.NodeFailure, failure.Preempted, failure.Walltime, failure.GPULost:
		o.Reason = "simulated"
	default:
		one := 1
		o.Exit, o.Tail = &one, []string{"simulated: " + class}
	}
	w.keep(j)
	next := w.follows(j, class)
	if !next.Again {
		w.decide(j, o)
		return
	}
	o.Status, o.Expected = offer.Waiting, w.now.Add(j.Retry.Delay)
	w.tell(j, o)
	j.Shape, j.grown = next.Shape, j.grown || next.Grown
	j.launch++
	j.status = offer.Waiting
	w.foresee(o.Expected, itsRetry, j)
}

// keep notes the remaining work after a launch with a checkpoint.
func (w *world) keep(j *job) {
	if j.Checkpoint.Path == "" || j.Smoke {
		return
	}
	w.left[j.Address] = max(j.fate.Takes-w.now.Sub(j.began)+min(j.Checkpoint.Interval, w.now.Sub(j.began)), 0)
	w.touched[absolute(j.Workdir, j.Checkpoint.Path)] = w.now
}

// follows is the step that the site takes by itself after a failed launch. One
// with a checkpoint has moved it.
func (w *world) follows(j *job, class string) retry.Next {
	if !w.site.Can.Retries || j.Smoke {
		return retry.Next{}
	}
	most := retry.BoundOf(j.line.at.Pool.Pool, j.Shape.Nodes)
	return j.Retry.After(retry.Failure{Class: class, Launch: j.launch, Moved: j.Checkpoint.Path != ""}, j.Shape, most)
}

// free gives back the room of a running job.
func (w *world) free(j *job) {
	j.line.at.take(j.line.key, -1)
	w.running--
	w.byPhase[j.Phase]--
	w.runs(j, -1)
}

// cancel ends a job that has not ended.
func (w *world) cancel(j *job) {
	o := offer.Observation{Status: offer.Cancelled}
	if j.status == offer.Running {
		w.free(j)
		o = w.over(j)
		o.Status = offer.Cancelled
	}
	w.decide(j, o)
}

// decide ends a job for good. Only its end is kept.
func (w *world) decide(j *job, o offer.Observation) {
	w.tell(j, o)
	pack, shape := j.Pack, j.Shape
	j.status, j.decided = o.Status, true
	j.Job, j.fate, j.line = nil, nil, nil
	j.turn++
	w.leavesPack(j, pack, shape)
}

// tell notes an event of a job, for watchers.
func (w *world) tell(j *job, o offer.Observation) {
	o.Token, o.Presence, o.Handle, o.Attempt = j.Token, offer.Found, handle(j.Token), j.launch
	if j.grown {
		got := j.Shape
		o.Got = &got
	}
	if o.Status == offer.Running || !o.Started.IsZero() {
		o.Pool, o.Node = j.Pool, j.Pool+"-1"
	}
	j.seen = &o
	w.feed.add(o)
}

func handle(token string) string { return "sim-" + token[:min(8, len(token))] }

// over is the use of a launch.
func (w *world) over(j *job) offer.Observation {
	d := max(w.now.Sub(j.began), 0)
	memory := j.fate.Memory
	if memory == 0 {
		memory = j.Shape.Memory / 2
	}
	if memory == 0 {
		memory = -1
	}
	u := offer.Usage{Elapsed: d, CPU: d * time.Duration(max(j.Shape.CPUs, 1)), MaxRSS: memory, GPUSeconds: d.Seconds() * float64(j.Shape.GPUs)}
	if p := j.line.at; j.machine != nil {
		u.Billed = charged(p.Price, j.Shape, p.leave(j.machine, j.Shape, w.now), j.factor)
		j.machine = nil
	} else if j.factor != 1 {
		u.Billed = billed(j.line.at.Price, j.Shape, d, j.factor)
	}
	if p := w.packOf(j); p != nil {
		u.NodeTime = offer.ShareOf(p.running, j.began.UnixNano(), w.now.UnixNano())
	}
	return offer.Observation{Started: j.began, Ended: w.now, Usage: &u}
}

func (j *job) metrics() map[string]offer.Metric {
	if len(j.Metrics) == 0 {
		return nil
	}
	out := make(map[string]offer.Metric, len(j.Metrics))
	for _, m := range j.Metrics {
		text, ok := j.fate.Metrics[m.Name]
		if !ok {
			text = "1"
		}
		out[m.Name] = offer.Metric{Text: text}
	}
	return out
}

func fingerprint(j *providers.Job) uint64 {
	return uint64(Uniform(0, append([]string{j.Address, j.Phase, j.Pool, j.Workdir, j.Shell, j.ResultHash, strconv.Itoa(j.Attempt)}, j.Argv...)...) * (1 << 53))
}

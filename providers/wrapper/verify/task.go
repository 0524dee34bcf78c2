package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Task is the verification of what one job left behind.
type Task struct {
	Workdir  string
	Outputs  []providers.Output
	Metrics  []providers.Metric
	Walltime time.Duration // of the job; outputs that name no bound take theirs from it
	// Judged says that Marks are what was there before the job began: what has
	// not changed since, the job did not write.
	Judged bool
	Marks  Baseline
}

// A Result is what a verification found: one Output for each of the task.
type Result struct {
	Outputs []offer.Output
	Metrics map[string]offer.Metric // nil unless all outputs passed
	Wrong   string                  // why the job did not do as declared, "" if it did
	// Unverified says which outputs have no verdict, "" if all have one. What is
	// Wrong is so whatever they are.
	Unverified string
}

// Run verifies one output after another in this process. It ends with ctx.
func (t Task) Run(ctx context.Context) Result { return t.RunTelling(ctx, func(offer.Output) {}) }

// RunTelling is Run, and tells of each output when it has its verdict.
func (t Task) RunTelling(ctx context.Context, tell func(offer.Output)) Result {
	var r Result
	for _, o := range t.Outputs {
		r.Outputs = append(r.Outputs, t.output(ctx, o))
		tell(r.Outputs[len(r.Outputs)-1])
	}
	t.judge(ctx, &r)
	return r
}

func (t Task) output(ctx context.Context, o providers.Output) offer.Output {
	ctx, stop := within(ctx, BoundOf(o, t.Walltime))
	defer stop()
	if t.Judged {
		if fresh, why := t.Marks.Fresh(t.Workdir, o); !fresh {
			out := Stat(t.Workdir, o)
			out.OK, out.Verdict = false, why
			return out
		}
	}
	return Check(ctx, t.Workdir, o)
}

// judge reads the metrics, if all outputs passed, and says what is wrong.
func (t Task) judge(ctx context.Context, r *Result) {
	var wrong, open []string
	for i, o := range r.Outputs {
		switch text := fmt.Sprintf("output %s: %s", t.Outputs[i].Name, o.Verdict); {
		case o.Unverified:
			open = append(open, fmt.Sprintf("output %s (%s): %s", t.Outputs[i].Name, o.Path, o.Verdict))
		case !o.OK:
			wrong = append(wrong, text)
		}
	}
	if len(wrong)+len(open) == 0 && len(t.Metrics) > 0 && ctx.Err() == nil {
		wrong = t.metrics(r)
	}
	r.Wrong, r.Unverified = strings.Join(wrong, "; "), strings.Join(open, "; ")
}

// metrics reads values from the outputs, and says which required ones are not
// there. One that is no number was written, and is told.
func (t Task) metrics(r *Result) (lacking []string) {
	r.Metrics = make(map[string]offer.Metric, len(t.Metrics))
	for _, m := range t.Metrics {
		i := slices.IndexFunc(t.Outputs, func(o providers.Output) bool { return o.Name == m.Output })
		if i < 0 {
			continue
		}
		text, err := readMetric(m, r.Outputs[i], join(t.Workdir, t.Outputs[i].Path))
		r.Metrics[m.Name] = metricOf(text, err)
		var diverged notNumberError
		if m.Required && err != nil && !errors.As(err, &diverged) {
			lacking = append(lacking, fmt.Sprintf("metric %s: output %s: %s", m.Name, m.Output, r.Metrics[m.Name].Error))
		}
	}
	return lacking
}

// Ended is the result of a verification that did not come to its end: done
// are the outputs that have a verdict, why is said of the others.
func (t Task) Ended(done []offer.Output, why error) Result {
	r := Result{Outputs: done}
	for _, o := range t.Outputs[min(len(done), len(t.Outputs)):] {
		out := refuse(offer.Output{Name: o.Name, Path: o.Path}, why)
		out.Unverified = true
		r.Outputs = append(r.Outputs, out)
	}
	if len(done) == len(t.Outputs) { // it was at the metrics
		r.Unverified = "metrics: " + why.Error()
		return r
	}
	t.judge(context.Background(), &r)
	return r
}

// Limit is how long the whole task may take.
func (t Task) Limit() (d time.Duration) {
	for _, o := range t.Outputs {
		d += BoundOf(o, t.Walltime).Time
	}
	return d
}

// What counts as a light task.
const (
	maxLightFiles = 4
	maxLightSize  = 256 << 10 // bytes of one file
)

// lightBound is what a task may take in the process of whoever asks: archives
// hold far more than their size.
var lightBound = Bound{Time: 2 * time.Second, Bytes: 16 << 20}

// Light reports whether the task looks as if it were quickly done: a few
// small files.
func (t Task) Light() bool {
	if len(t.Outputs) > maxLightFiles {
		return false
	}
	return !slices.ContainsFunc(t.Outputs, func(o providers.Output) bool {
		if isSet(o) || slices.ContainsFunc(o.Verify, func(c providers.VerifyCheck) bool { return c.Kind == "command" || c.Kind == "sha256" }) {
			return true
		}
		fi, err := os.Lstat(join(t.Workdir, o.Path))
		return err == nil && (fi.Size() > maxLightSize || !fi.Mode().IsRegular())
	})
}

// RunLight runs a light task here. It is not ok if that took more than it may,
// and the result then says nothing.
func (t Task) RunLight(ctx context.Context) (r Result, ok bool) {
	t.Outputs = slices.Clone(t.Outputs)
	for i, o := range t.Outputs {
		b := BoundOf(o, t.Walltime)
		t.Outputs[i].VerifyTimeout, t.Outputs[i].VerifyMaxSize = min(b.Time, lightBound.Time), min(b.Bytes, lightBound.Bytes)
	}
	r = t.Run(ctx)
	return r, !slices.ContainsFunc(r.Outputs, func(o offer.Output) bool { return o.Unverified })
}

package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Task is the verification of one job's outputs.
type Task struct {
	Workdir  string
	Outputs  []providers.Output
	Metrics  []providers.Metric
	Walltime time.Duration // of the job; outputs that name no bound take theirs from it
	// Judged says that Marks were taken before the job began: the job did not write a file
	// that has not changed since.
	Judged bool
	Marks  Baseline
}

// A Result is the result of a verification: one Output for each of the task.
type Result struct {
	Outputs []offer.Output
	Metrics map[string]offer.Metric // nil unless all outputs passed
	Wrong   string                  // why the job did not do as declared, "" if it did
	// Unverified says which outputs have no verdict, "" if all have one. Wrong ones are wrong
	// in any case.
	Unverified string
}

// Hide passes problems through a function, which masks secrets.
func (r *Result) Hide(text func(string) string) {
	hide := func(metrics map[string]offer.Metric) {
		for name, m := range metrics {
			metrics[name] = offer.Metric{Text: m.Text, Error: text(m.Error)}
		}
	}
	for i := range r.Outputs {
		o := &r.Outputs[i]
		o.Verdict = text(o.Verdict)
		hide(o.Metrics)
	}
	hide(r.Metrics)
	r.Wrong, r.Unverified = text(r.Wrong), text(r.Unverified)
}

// Run verifies one output after another in this process. It ends with ctx.
func (t Task) Run(ctx context.Context) Result { return t.RunTelling(ctx, func(offer.Output) {}) }

// RunTelling is Run, and reports each output when it has its verdict.
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
	ctx, stop := within(ctx, boundOf(o, t.Walltime))
	defer stop()
	if t.Judged {
		if fresh, why := t.Marks.Fresh(t.Workdir, o); !fresh {
			out := Stat(t.Workdir, o)
			out.OK, out.Verdict = false, why
			return out
		}
	}
	out := Check(ctx, t.Workdir, o)
	if out.OK && len(o.Metrics) > 0 {
		var lacking []string
		if out.Metrics, lacking = metricsOf(o.Metrics, out, join(t.Workdir, o.Path)); len(lacking) > 0 {
			out.OK, out.Verdict = false, strings.Join(lacking, "; ")
		}
	}
	return out
}

// metricsOf reads values from an output, and reports required ones that are missing or no
// numbers.
func metricsOf(metrics []providers.Metric, out offer.Output, path string) (read map[string]offer.Metric, lacking []string) {
	read = make(map[string]offer.Metric, len(metrics))
	for _, m := range metrics {
		text, err := readMetric(m, out, path)
		read[m.Name] = metricOf(text, err)
		var diverged notNumberError
		if m.Required && err != nil && !errors.As(err, &diverged) {
			lacking = append(lacking, fmt.Sprintf("metric %s: %s", m.Name, read[m.Name].Error))
		}
	}
	return read, lacking
}

// judge reads the metrics, if all outputs passed, and reports problems.
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

// metrics reads the task's values from its outputs, and says which required ones
// are not there.
func (t Task) metrics(r *Result) (lacking []string) {
	r.Metrics = make(map[string]offer.Metric, len(t.Metrics))
	for _, m := range t.Metrics {
		i := slices.IndexFunc(t.Outputs, func(o providers.Output) bool { return o.Name == m.Output })
		if i < 0 {
			continue
		}
		read, lacks := metricsOf([]providers.Metric{m}, r.Outputs[i], join(t.Workdir, t.Outputs[i].Path))
		maps.Copy(r.Metrics, read)
		for _, l := range lacks {
			name, why, _ := strings.Cut(l, ": ")
			lacking = append(lacking, fmt.Sprintf("%s: output %s: %s", name, m.Output, why))
		}
	}
	return lacking
}

// Ended is the result of an unfinished verification: done are the outputs with a verdict, why
// is the reason for the others.
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
		d += boundOf(o, t.Walltime).Time
	}
	return d
}

// The bounds of a light task.
const (
	maxLightFiles = 4
	maxLightSize  = 256 << 10 // bytes of one file
)

// lightBound bounds a task that runs in the caller's process: archives hold far more than
// their size.
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
		b := boundOf(o, t.Walltime)
		t.Outputs[i].VerifyTimeout, t.Outputs[i].VerifyMaxSize = min(b.Time, lightBound.Time), min(b.Bytes, lightBound.Bytes)
	}
	r = t.Run(ctx)
	return r, !slices.ContainsFunc(r.Outputs, func(o offer.Output) bool { return o.Unverified })
}

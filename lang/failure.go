package lang

import (
	"regexp"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// knownClasses are the failure classes that muster tells apart by itself; oom
// stands for oom_gpu, oom_host and oom_sched.
var knownClasses = []string{
	"oom", "oom_gpu", "oom_host", "oom_sched", "walltime", "preempted", "node_failure", "gpu_lost", "transport", "disk_full", "no_inodes",
	"missing_module", "missing_file", "nan", "nccl_hang", "killed", "cancelled_outside", "unknown",
}

// maxPattern bounds a regular expression, in bytes.
const maxPattern = 4 << 10

// failures reads the campaign's own catalogue.
func (l *loader) failures() {
	l.classes = slices.Clone(knownClasses)
	for _, b := range l.top.all("failure") {
		f := Failure{Name: b.name(), Match: l.text(b, "match"), Class: l.text(b, "class"), Action: l.oneOf(b, "action", "retry", "hold", "fail"),
			Hint: l.text(b, "hint"), Range: b.rng}
		if f.Class == "" {
			f.Class = f.Name
		}
		l.pattern(b, "match", f.Match, false)
		f.ExitCodes = l.exitCodes(b)
		if b.expr("match") == nil && b.expr("exit_codes") == nil && !l.broken {
			l.sure.Errorat(b.rng, "A failure needs a sign", "Write match = \"…\", a regular expression on the log's last lines, or exit_codes = […].")
		}
		l.c.Failures = append(l.c.Failures, f)
		if !contains(l.classes, f.Class) {
			l.classes = append(l.classes, f.Class)
		}
	}
}

// pattern checks a regular expression.
func (l *loader) pattern(b *block, name, text string, group bool) {
	if text == "" {
		return
	}
	if len(text) > maxPattern {
		l.wrong(b.expr(name), name, "The pattern has %d bytes, at most %d are read.", len(text), maxPattern)
		return
	}
	re, err := regexp.Compile(text)
	switch {
	case err != nil:
		l.wrong(b.expr(name), name, "%q is not a regular expression (RE2): %v.", clip(text), err)
	case group && re.NumSubexp() == 0:
		l.wrong(b.expr(name), name, "%q has no group; put what is to be read in parentheses.", clip(text))
	}
}

func (l *loader) exitCodes(b *block) []int {
	e := b.expr("exit_codes")
	v, ok := l.eval(e)
	if !ok {
		return nil
	}
	if v, _ = v.UnmarkDeep(); !isList(v) {
		v = cty.TupleVal([]cty.Value{v})
	}
	var out []int
	for _, x := range v.AsValueSlice() {
		n, err := asInteger(x, 0)
		if err != nil || n > 255 {
			l.wrong(e, "exit_codes", "Exit codes are whole numbers from 0 to 255.")
			return nil
		}
		out = append(out, n)
	}
	return out
}

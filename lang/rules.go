package lang

import (
	"math"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/units"
)

// Defaults of the breaker, where no block says otherwise.
const (
	breakerInRow = 3    // failures of one cause, one after another
	breakerShare = 0.15 // of the finished jobs of a batch
)

// retryAttempts is how often a job is launched under a retry block that says
// nothing else, the first launch included.
const retryAttempts = 3

// signalGrace is how long before the end a checkpoint's signal is sent.
const signalGrace = 60 * time.Second

func (l *loader) retry(b *block) Retry {
	if b == nil {
		return Retry{MaxAttempts: 1}
	}
	r := Retry{On: l.texts(b, "on"), MaxAttempts: l.integer(b, "max_attempts", 1, retryAttempts), Delay: l.duration(b, "delay", 0)}
	for _, class := range r.On {
		l.class(b.expr("on"), "on", class)
	}
	for _, s := range b.all("scale") {
		if r.Scale == nil {
			r.Scale = map[string]Scale{}
		}
		class := s.name()
		l.classAt(s.syntax.LabelRanges[0], "scale", class)
		if !covered(r.On, class) && contains(l.classes, class) && b.expr("on") != nil && len(r.On) > 0 {
			l.sure.Warnat(s.rng, "This scale is never used", "The class %q is not in retry.on, so no launch follows such a failure.", class)
		}
		factor := func(name string) float64 { return l.number(s, name, 0.01, 1000, 0) }
		r.Scale[class] = Scale{Memory: factor("memory"), CPUs: factor("cpus"), GPUs: factor("gpus"), Walltime: factor("walltime"), Disk: factor("disk")}
	}
	return r
}

func (l *loader) class(e hcl.Expression, name, class string) { l.classAt(e.Range(), name, class) }

func (l *loader) classAt(at hcl.Range, name, class string) {
	if contains(l.classes, class) {
		return
	}
	l.ds.Errorat(at, "Unknown failure class", "There is no failure class %q%s Classes are %s; a failure block adds one.", clip(class), didYouMean(class, l.classes), strings.Join(l.classes, ", "))
}

// covered reports whether a class is in a list, by itself or by its family.
func covered(on []string, class string) bool {
	for _, c := range on {
		if c == class || strings.HasPrefix(class, c+"_") || strings.HasPrefix(c, class+"_") {
			return true
		}
	}
	return false
}

func (l *loader) breaker(b *block) Breaker {
	if b == nil {
		return Breaker{SameError: breakerInRow, Share: breakerShare}
	}
	return Breaker{SameError: l.integer(b, "same_error", 0, breakerInRow), Share: l.number(b, "share", 0, 1, breakerShare)}
}

// signals are those a checkpoint may ask for: the ones that schedulers send
// and that a program can catch.
var signals = []string{"USR1", "USR2", "TERM", "INT", "HUP", "CONT", "QUIT"}

func (l *loader) checkpoint(b *block) *Checkpoint {
	if b == nil {
		return nil
	}
	c := &Checkpoint{MTBF: l.duration(b, "mtbf", 0), WriteTime: l.duration(b, "write_time", 0), MaxLoss: l.duration(b, "max_loss", 0), Range: b.rng}
	if s := strings.TrimPrefix(strings.ToUpper(l.text(b, "signal")), "SIG"); s != "" {
		if c.Signal, c.Grace = s, signalGrace; !contains(signals, s) {
			l.wrong(b.expr("signal"), "signal", "%q is not one of %s%s", clip(s), strings.Join(signals, ", "), didYouMean(s, signals))
		}
	}
	c.Grace = l.duration(b, "grace", c.Grace)
	if text, ok := l.maybeText(b, "interval"); ok {
		if c.Auto = text == "auto"; !c.Auto {
			c.Interval = l.duration(b, "interval", 0)
		}
	}
	every := c.Every()
	switch {
	case c.Auto && every == 0 && !l.broken:
		l.sure.Errorat(b.expr("interval").Range(), "An automatic interval needs two times", "\"auto\" is sqrt(2 × mtbf × write_time): write mtbf = \"24h\" and write_time = \"30s\", as they are here.")
	case c.MaxLoss > 0 && every > c.MaxLoss:
		l.sure.Errorat(b.expr("interval").Range(), "The interval is longer than max_loss", "A checkpoint every %s may lose %s of work; max_loss allows %s. Shorten interval to %s.",
			units.FormatDuration(every), units.FormatDuration(every), units.FormatDuration(c.MaxLoss), units.ShortDuration(c.MaxLoss))
	}
	return c
}

// Every is the time between checkpoints, worked out when it is automatic:
// sqrt(2 × mtbf × write_time), Young's rule. 0 is not stated.
func (c *Checkpoint) Every() time.Duration {
	if !c.Auto {
		return c.Interval
	}
	s := math.Sqrt(2 * c.MTBF.Seconds() * c.WriteTime.Seconds())
	return time.Duration(s) * time.Second
}

// ignorable are the fields that ignore_changes may name.
var ignorable = []string{"command", "env", "setup", "image", "param", "source", "input"}

func (l *loader) lifecycle(b *block) Lifecycle {
	if b == nil {
		return Lifecycle{}
	}
	lc := Lifecycle{PreventRerun: l.boolean(b, "prevent_rerun"), PreventRerunSet: b.expr("prevent_rerun") != nil, RerunOnInputBytes: l.boolean(b, "rerun_on_input_bytes")}
	for _, ref := range l.references(b, "ignore_changes") {
		if len(ref.parts) > 0 && ref.parts[0] == "params" {
			ref.parts[0] = "param"
		}
		if len(ref.parts) == 0 || !contains(ignorable, ref.parts[0]) {
			given := strings.Join(ref.parts, ".")
			l.sure.Errorat(ref.at, "Unknown field", "ignore_changes cannot name %q%s Fields are %s, env.NAME and param.NAME.", clip(given), didYouMean(given, ignorable), strings.Join(ignorable, ", "))
			continue
		}
		lc.IgnoreChanges = append(lc.IgnoreChanges, strings.Join(ref.parts, "."))
	}
	return lc
}

// ignores reports whether a field is left out of the result hash.
func (lc *Lifecycle) ignores(field string) bool {
	if field == "command" || strings.HasPrefix(field, "command[") {
		field = "command"
	}
	for _, f := range lc.IgnoreChanges {
		if f == field || strings.HasPrefix(field, f+".") {
			return true
		}
	}
	return false
}

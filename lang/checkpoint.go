package lang

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// A Checkpoint lets work be resumed.
type Checkpoint struct {
	Interval  time.Duration // 0 with Auto
	Auto      bool          // sqrt(2 * mtbf * write_time)
	MTBF      time.Duration
	Signal    string
	Grace     time.Duration
	WriteTime time.Duration
	StepTime  time.Duration // of one step of the work; 0 = not stated
	MaxLoss   time.Duration
	Kind      OutputKind // File, which may be a folder as well, or Glob
	Verify    []Verify   // checks that one must pass before a launch resumes from it
	MinSize   int64
	Timeout   time.Duration // of Verify; 0 = not stated
	Keep      int           // how many of the pattern stay; 0 = all
	// KeepLowest and KeepHighest are metrics in the names of checkpoints whose best stays, too; "" = none.
	KeepLowest, KeepHighest string
	// Shared says that its path is outside the workdir, or that another job has files there: muster
	// moves no such checkpoint.
	Shared bool
	CopyTo string // where rented machines copy them to, as offer.ParseCopyTo reads it; "" = muster copies them
	Range  hcl.Range
}

// signalGrace is how long before the end a checkpoint's signal is sent.
const signalGrace = 60 * time.Second

// signals are those a checkpoint may ask for: the ones that schedulers send
// and that a program can catch.
var signals = []string{"USR1", "USR2", "TERM", "INT", "HUP", "CONT", "QUIT"}

// Checkpoint reads a checkpoint block.
func (l *rerunReader) Checkpoint(b *syntax.Block) *Checkpoint {
	if b == nil {
		return nil
	}
	c := &Checkpoint{MTBF: l.Duration(b, "mtbf", 0), WriteTime: l.Duration(b, "write_time", 0), StepTime: l.Duration(b, "step_time", 0), MaxLoss: l.Duration(b, "max_loss", 0),
		Kind: File, Verify: verify(l.Reader, b), MinSize: l.Size(b, "min_size"), Timeout: l.Duration(b, "verify_timeout", 0), Keep: l.Integer(b, "keep", 1, 0), Range: b.Range}
	if b.Expr("glob") != nil {
		c.Kind = Glob
	}
	if (c.Kind == Glob) == (b.Expr("path") != nil) && !l.Broken {
		l.Sure.Errorat(b.Range, "A checkpoint is a path or a glob", "Write exactly one of path (one file or folder, which each checkpoint replaces) and glob (the pattern of all checkpoints of a job).")
	}
	if c.Keep > 0 && c.Kind != Glob && !l.Broken {
		l.Sure.Errorat(b.Expr("keep").Range(), "Only checkpoints of a pattern are removed", "keep counts the checkpoints of a job: write glob, the pattern of all of them, in place of path.")
	}
	c.KeepLowest, c.KeepHighest = l.bestBy(b, "keep_lowest", c.Keep), l.bestBy(b, "keep_highest", c.Keep)
	if s := strings.TrimPrefix(strings.ToUpper(l.Text(b, "signal")), "SIG"); s != "" {
		if c.Signal, c.Grace = s, signalGrace; !slices.Contains(signals, s) {
			l.Wrong(b.Expr("signal"), "signal", "%q is not one of %s%s", wording.Clip(s), strings.Join(signals, ", "), wording.DidYouMean(s, signals))
		}
	}
	if c.CopyTo = l.Text(b, "copy_to"); c.CopyTo != "" {
		if _, err := offer.ParseCopyTo(c.CopyTo); err != nil {
			l.Wrong(b.Expr("copy_to"), "copy_to", "This is not where copies can go: %v.", err)
		}
	}
	c.Grace = l.Duration(b, "grace", c.Grace)
	if text, ok := l.MaybeText(b, "interval"); ok {
		if c.Auto = text == "auto"; !c.Auto {
			c.Interval = l.Duration(b, "interval", 0)
		}
	}
	every := c.Every(1)
	if e := b.Expr(string(c.Kind)); e != nil {
		if v, ok := l.Peek(e, nil); ok && v.Type() == cty.String && strings.TrimSpace(v.AsString()) == "" {
			l.Wrong(e, string(c.Kind), "The path is empty: write a file or folder, relative to the workdir.")
		}
	}
	switch {
	case !c.Auto && b.Expr("interval") != nil && c.Interval == 0 && len(l.Text(b, "interval")) > 0 && isZero(l.Text(b, "interval")):
		l.Wrong(b.Expr("interval"), "interval", "An interval is more than nothing.")
	case c.Auto && c.MTBF > 0 && c.WriteTime > 0 && every < time.Second:
		l.Sure.Errorat(b.Expr("interval").Range(), "The automatic interval is under a second",
			"sqrt(2 × %s × %s) is %s. mtbf is how long a job runs between failures (\"24h\"), write_time how long one checkpoint takes to write (\"30s\"): correct them, or write interval = \"10m\".",
			units.FormatDuration(c.MTBF), units.FormatDuration(c.WriteTime), every.Round(time.Microsecond))
	case c.Auto && every == 0 && !l.Broken:
		l.Sure.Errorat(b.Expr("interval").Range(), "An automatic interval needs two times", "\"auto\" is sqrt(2 × mtbf × write_time): write mtbf = \"24h\" and write_time = \"30s\", as they are here.")
	case c.StepTime > 0 && every == 0 && !l.Broken:
		l.Sure.Errorat(b.Expr("step_time").Range(), "Steps need an interval", "step_time makes steps out of the interval: write interval = \"10m\", or \"auto\" with mtbf and write_time.")
	case c.MaxLoss > 0 && every > c.MaxLoss:
		l.Sure.Errorat(b.Expr("interval").Range(), "The interval is longer than max_loss", "A checkpoint every %s may lose %s of work; max_loss allows %s. Shorten interval to %s.",
			units.FormatDuration(every), units.FormatDuration(every), units.FormatDuration(c.MaxLoss), units.ShortDuration(c.MaxLoss))
	}
	return c
}

// metricName matches a metric in the name of a checkpoint.
var metricName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// bestBy reads the metric by which the best checkpoint stays.
func (l *rerunReader) bestBy(b *syntax.Block, attr string, keep int) string {
	metric := l.Text(b, attr)
	switch {
	case b.Expr(attr) == nil || l.Broken:
	case !metricName.MatchString(metric):
		l.Wrong(b.Expr(attr), attr, "%q is not the name of a metric: write letters, digits, _ and dots, as in names such as val_loss=0.12.", wording.Clip(metric))
	case keep == 0:
		l.Sure.Errorat(b.Expr(attr).Range(), attr+" needs keep", "The best stays beside the newest: write keep = 2 for the newest two. Without keep all checkpoints stay.")
	}
	return metric
}

// copies reports credentials that the job lacks for the copies of its checkpoints.
func (cp *compiler) copies(p *phaseBuild, f *form) {
	c := p.Checkpoint
	if c == nil || c.CopyTo == "" {
		return
	}
	to, err := offer.ParseCopyTo(c.CopyTo)
	if err != nil {
		return // reported
	}
	has := func(name string) bool {
		return slices.ContainsFunc(p.Secrets, func(s Secret) bool { return s.Name == name })
	}
	key, other := to.Needs()
	at := p.b.One("checkpoint").Expr("copy_to").Range()
	switch {
	case !has(key) && to.SSH:
		cp.Sure.Errorat(at, "Copies need a key", "The machine copies checkpoints to %s with a key of its own: make one that may do nothing else there, and write in the job: secret %q { file = \"~/.ssh/KEY\" }.", to.Host, key)
	case !has(key):
		cp.Sure.Errorat(at, "Copies need a key", "The machine copies checkpoints to bucket %s with a key of its own: make one that may do nothing else, and write in the job: secret %q { env = %q }, and the same for %s.", to.Host, key, key, other)
	case !has(other) && !slices.ContainsFunc(f.env, func(v named) bool { return v.name == other }) && to.SSH:
		cp.Sure.Errorat(at, "Copies need the host's key", "The machine copies to no host that it cannot recognize. Write the line that `ssh-keyscan -t ed25519 %s` prints, once you have compared it, in the job: env = { %s = \"…\" }.", to.Host, other)
	case !has(other) && !slices.ContainsFunc(f.env, func(v named) bool { return v.name == other }):
		cp.Sure.Errorat(at, "Copies need a key", "The job has no %s, the name of the key for bucket %s. Write it as a secret block or in env.", other, to.Host)
	}
}

// managed reports whether muster checks or removes checkpoints: then no two jobs may share one.
// Others may, and muster then leaves them where they are.
func (c *Checkpoint) managed() bool {
	return c != nil && (c.Kind == Glob || len(c.Verify) > 0 || c.MinSize > 0)
}

func isZero(text string) bool {
	d, err := units.ParseDuration(text)
	return err == nil && d == 0
}

// Every is the time between checkpoints of a job on so many nodes, of which any may
// fail. The automatic one is sqrt(2 × mtbf / nodes × write_time), Young's rule, in whole
// seconds from one second on. 0 is not stated.
func (c *Checkpoint) Every(nodes int) time.Duration {
	if !c.Auto {
		return c.Interval
	}
	every := time.Duration(math.Sqrt(2*c.MTBF.Seconds()/float64(max(nodes, 1))*c.WriteTime.Seconds()) * float64(time.Second))
	if every < time.Second {
		return every
	}
	return every.Round(time.Second)
}

// Steps is Every in steps of the work, at least 1 and rounded down to two digits, as
// people write such numbers: 805 s of 2 s steps are 402, and that is 400. 0 is not stated.
func (c *Checkpoint) Steps(nodes int) int64 {
	if c.StepTime == 0 || c.Every(nodes) == 0 {
		return 0
	}
	n, unit := max(1, int64(c.Every(nodes)/c.StepTime)), int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

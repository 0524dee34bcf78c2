package lang

import (
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/failure"
)

// A rerunReader reads the blocks about repeated launches of one campaign, whose failure classes it knows.
type rerunReader struct {
	*decode.Reader
	classes []string // muster's and the campaign's own
	retried []string // of failure blocks with action = "retry"
}

// A Failure is an entry of the project's own failure catalogue.
type Failure struct {
	Name      string
	Match     string // regular expression on the log's tail
	ExitCodes []int
	Class     string // Name if not given
	Action    string // "retry", "hold", "fail", "" = by class
	Cause     string
	Hint      string
}

// knownClasses are the failure classes that muster tells apart by itself; oom
// means oom_gpu, oom_host and oom_sched.
var knownClasses = append([]string{failure.OOM}, failure.Known()...)

// newRerunReader reads the failure blocks: the campaign's own catalogue, whose classes
// all other blocks may name.
func newRerunReader(r *decode.Reader, blocks []*syntax.Block) (*rerunReader, []Failure) {
	l := &rerunReader{Reader: r, classes: slices.Clone(knownClasses)}
	var out []Failure
	for _, b := range blocks {
		f := Failure{Name: b.Name(), Match: l.Text(b, "match"), Class: l.Text(b, "class"), Action: l.OneOf(b, "action", "retry", "hold", "fail"),
			Cause: l.Text(b, "cause"), Hint: l.Text(b, "hint")}
		if seen := l.Text(b, "seen"); seen != "" {
			if _, err := time.Parse(time.DateOnly, seen); err != nil {
				l.Wrong(b.Expr("seen"), "seen", "%q is not a day: write \"2026-11-23\".", wording.Clip(seen))
			}
		}
		l.failureClass(b, &f)
		l.Pattern(b, "match", f.Match, false)
		f.ExitCodes = l.ExitCodes(b)
		if b.Expr("match") == nil && b.Expr("exit_codes") == nil && !l.Broken {
			l.Sure.Errorat(b.Range, "A failure needs a sign", "Write match = \"…\", a regular expression on the log's last lines, or exit_codes = […].")
		}
		out = append(out, f)
		if f.Action == "retry" {
			l.retried = append(l.retried, f.Class)
		}
		if !slices.Contains(l.classes, f.Class) {
			l.classes = append(l.classes, f.Class)
		}
	}
	return l, out
}

// failureClass is the class of a failure: its own name, or the class it names,
// which may be one that muster knows.
func (l *rerunReader) failureClass(b *syntax.Block, f *Failure) {
	at := b.Syntax.LabelRanges[0]
	switch {
	case b.Expr("class") == nil && slices.Contains(knownClasses, f.Name):
		l.Sure.Errorat(at, "A failure class of muster's own", "%q is a built-in class. Give the block another name; to assign its pattern to the built-in class, write class = %q.", f.Name, oneClass(f.Name))
	case f.Class == "":
	case f.Class == "oom":
		l.Wrong(b.Expr("class"), "class", "\"oom\" means three classes; write oom_gpu, oom_host or oom_sched.")
	case !addr.ValidName(f.Class):
		l.Wrong(b.Expr("class"), "class", "%q cannot name a failure class: use letters, digits, _ and -, and begin with a letter.", wording.Clip(f.Class))
	}
	if f.Class == "" {
		f.Class = f.Name
	}
}

func oneClass(name string) string {
	if name == "oom" {
		return "oom_host"
	}
	return name
}

// known reports a failure class that there is not.
func (l *rerunReader) known(at hcl.Range, class string) {
	if slices.Contains(l.classes, class) {
		return
	}
	l.Perhaps.Errorat(at, "Unknown failure class", "There is no failure class %q%s Classes are %s; a failure block adds one.", wording.Clip(class), wording.DidYouMean(class, l.classes), strings.Join(l.classes, ", "))
}

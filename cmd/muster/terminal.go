package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/live"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/state/store"
)

// A terminal is the input and output of one command: pages, remarks and questions for people,
// documents and events for machines.
type terminal struct {
	stdin          io.Reader
	answers        *bufio.Reader // stdin, once something was asked
	stdout, stderr io.Writer
	out, err       term.Style // of stdout and stderr
	global         global
	sources        diag.Sources
	events         *live.Events // of -json; nil when people read
	now            func() time.Time
	waits          sync.Map // waits that a notice has announced
	unread         bool     // the campaign was not read to its end: somebody interrupted
}

func (t *terminal) printf(format string, args ...any) {
	fmt.Fprint(t.stdout, t.out.Text(fmt.Sprintf(format, args...)))
}

// notef writes to stderr: progress and remarks, never data.
func (t *terminal) notef(format string, args ...any) {
	_, _ = live.Paint(t.stderr, []byte(t.err.Text(fmt.Sprintf(format, args...))))
}

// fail prints diagnostics.
func (t *terminal) fail(l diag.List) {
	if t.events != nil {
		t.events.Diagnostics(l, t.sources)
	}
	diag.Printer{Sources: t.sources, Width: t.err.Width, Clean: func(s string) string { return t.err.Text(term.Clean(s)) }, Paint: t.severity}.Print(t.stderr, l.Alike())
}

func (t *terminal) severity(s diag.Severity, text string) string {
	if s == diag.Warning {
		return t.err.Paint(term.Yellow, text)
	}
	return t.err.Paint(term.Red, text)
}

// report prints the findings and reports whether to go on.
func (t *terminal) report(l diag.List) error {
	if t.unread {
		return errInterrupted
	}
	if len(l) > 0 {
		t.fail(l)
	}
	if l.HasErrors() {
		return command.Failed
	}
	return nil
}

// failErr turns plumbing's errors into messages that a person can act on.
func (t *terminal) failErr(err error) command.Exit {
	var locked *store.LockedError
	var corrupt *store.CorruptError
	var write *store.WriteError
	var read *store.ReadError
	var provider *providers.Error
	switch {
	case errors.As(err, &locked):
		t.fail(diag.List{{Summary: "The state is locked", Detail: locked.Detail()}})
		return command.Locked
	case errors.Is(err, store.ErrLost):
		t.fail(diag.List{{Summary: "The state lock was taken over", Detail: "Another muster process holds it now and continues the campaign. This one has written and started nothing since. Run muster status to see it."}})
		return command.Locked
	case errors.As(err, &corrupt):
		t.fail(diag.List{{Summary: "The state is damaged", Detail: corrupt.Error() + ".\n\n" + corrupt.Way}})
	case errors.As(err, &write):
		t.fail(diag.List{{Summary: "The state cannot be written", Detail: write.Error() + ".\n\n" + write.Way}})
	case errors.As(err, &read):
		t.fail(diag.List{{Summary: "The state cannot be read", Detail: read.Error() + ".\n\n" + read.Way}})
	case errors.As(err, &provider):
		t.fail(diag.List{{Summary: diag.Sentence(provider.Summary), Detail: strings.TrimSpace(provider.Detail + "\n\n" + provider.Hint)}})
		if provider.Class == providers.StaleFence { // as if the lease had been lost here
			return command.Locked
		}
	case errors.Is(err, errInterrupted):
		t.notef("\nInterrupted.\n") // below the terminal's ^C
		return command.Interrupted
	default:
		t.fail(diag.List{diag.FromError(err)})
	}
	return command.Failed
}

// ask puts a question on the terminal; only the word yes is a yes.
func (t *terminal) ask(question string) (bool, error) {
	if !t.global.input {
		return false, command.Usagef("input is off (-input=false or CI=true), so muster cannot ask")
	}
	t.notef("%s ", term.Fold(strings.TrimSuffix(question, " "), t.err.Width))
	if t.answers == nil {
		t.answers = bufio.NewReader(t.stdin) // one for all questions: it reads ahead
	}
	line, err := t.answers.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if errors.Is(err, io.EOF) && line == "" {
		t.notef("\n")
	}
	return strings.TrimSpace(line) == "yes", nil
}

// encode prints a JSON document on one line.
func (t *terminal) encode(v any) error { return t.encoder().Encode(v) }

// encoder writes JSON to standard output.
func (t *terminal) encoder() *json.Encoder { return page.Encoder(t.stdout) }

// slowNotice is how long a wait lasts before muster names it.
const slowNotice = 400 * time.Millisecond

// slow announces a wait that takes long; call the returned function at its end.
func (t *terminal) slow(text string) func() {
	timer := time.AfterFunc(slowNotice, func() { t.notef("%s\n", text) })
	return func() { timer.Stop() }
}

// waiting names a wait, once in this process: a plan asks its backends more than once.
func (t *terminal) waiting(what string) {
	if t.firstWait(what) {
		t.notef("%s…\n", diag.Sentence(what))
	}
}

// firstWait reports whether a wait is news.
func (t *terminal) firstWait(what string) bool {
	_, told := t.waits.LoadOrStore(what, true)
	return !told
}

// progress is where the run of a plan is shown.
func (t *terminal) progress(p *planner.Plan, asJSON bool) live.Sink {
	if asJSON {
		return t.stream()
	}
	return live.ForPeople(t.stderr, t.err, p, t.firstWait)
}

// stream is the machine stream on stdout, begun at its first use. From then
// on diagnostics are in it, too.
func (t *terminal) stream() *live.Events {
	if t.events == nil {
		t.events = live.NewEvents(t.stdout, version, t.now)
	}
	return t.events
}

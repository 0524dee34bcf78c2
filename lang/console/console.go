// Package console evaluates expressions one after another, with the values that
// the blocks of a loaded campaign see. It reports a mistake and reads the next
// line. It changes no state and takes no lock.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/syntax"
)

// Filename names the typed text in diagnostics.
const Filename = "<console>"

// A Session is one run of the console.
type Session struct {
	Campaign *lang.Campaign
	View     lang.View
	Out      io.Writer
	// Fail prints diagnostics; src is the expression they are about.
	Fail func(l diag.List, src []byte)
	// Show prints the value of an expression; nil writes it to Out as HCL does.
	Show func(src string, v cty.Value, sensitive bool) error
	// Prompt is written before each line; "" in a pipe.
	Prompt func(more bool)
}

// maxInput bounds one expression, in bytes.
const maxInput = 1 << 20

// Run reads until the end of the input, "exit", or the end of ctx. It returns
// how many expressions could not be evaluated.
func (s *Session) Run(ctx context.Context, in io.Reader) (failed int, err error) {
	lines := make(chan string)
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// A terminal's read cannot be interrupted: the goroutine ends with the
	// session's next line, or with the program.
	go func() { ended <- feed(ctx, in, lines) }()
	var buf strings.Builder
	for {
		s.prompt(buf.Len() > 0)
		select {
		case <-ctx.Done():
			return failed, context.Cause(ctx)
		case err := <-ended:
			if buf.Len() > 0 && !s.eval(buf.String()) {
				failed++
			}
			return failed, err
		case line := <-lines:
			if word := strings.TrimSpace(line); buf.Len() == 0 && (word == "exit" || word == "quit") {
				return failed, nil
			}
			blank := strings.TrimSpace(line) == ""
			buf.WriteString(line + "\n")
			if open(buf.String(), blank) && buf.Len() < maxInput {
				continue
			}
			if !s.eval(buf.String()) {
				failed++
			}
			buf.Reset()
		}
	}
}

func (s *Session) prompt(more bool) {
	if s.Prompt != nil {
		s.Prompt(more)
	}
}

// feed sends lines until the input ends.
func feed(ctx context.Context, in io.Reader, lines chan<- string) error {
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 4096), maxInput)
	for sc.Scan() {
		select {
		case lines <- sc.Text():
		case <-ctx.Done():
			return nil
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line has more than %d bytes", maxInput)
	}
	return sc.Err()
}

// open reports whether brackets or a heredoc are open, so that more lines
// belong to the expression. A blank line gives up on brackets.
func open(src string, blank bool) bool {
	if syntax.CheckText([]byte(src)) != nil {
		return false
	}
	tokens, _ := hclsyntax.LexExpression([]byte(src), Filename, hcl.InitialPos)
	brackets, heredocs := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			brackets++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenTemplateSeqEnd:
			brackets--
		case hclsyntax.TokenOHeredoc:
			heredocs++
		case hclsyntax.TokenCHeredoc:
			heredocs--
		}
	}
	return heredocs > 0 || brackets > 0 && !blank
}

// eval evaluates one expression and prints its value.
func (s *Session) eval(src string) bool {
	text := []byte(src)
	trimmed := strings.TrimSpace(src)
	if trimmed == "" || strings.HasPrefix(trimmed, "#") && !strings.Contains(trimmed, "\n") {
		return true
	}
	text, ds := s.check(text)
	if ds.HasErrors() {
		s.Fail(ds, text)
		return false
	}
	e, hds := hclsyntax.ParseExpression(text, Filename, hcl.InitialPos)
	if hds.HasErrors() {
		s.Fail(diag.FromHCL(hds), text)
		return false
	}
	v, hidden, ds := s.Campaign.Eval(e, s.View)
	s.hint(e, ds)
	if len(ds) > 0 {
		s.Fail(ds, text)
	}
	if ds.HasErrors() {
		return false
	}
	switch {
	case s.Show != nil:
		return s.Show(trimmed, v, hidden) == nil
	case hidden:
		fmt.Fprintln(s.Out, "(sensitive value)")
	default:
		fmt.Fprintln(s.Out, Format(v))
	}
	return true
}

// check refuses text that no parser should see, and leaves a heredoc its
// newline.
func (s *Session) check(src []byte) ([]byte, diag.List) {
	var ds diag.List
	if err := syntax.CheckText(src); err != nil {
		ds.Errorf("The expression cannot be read", "%v.", err)
		return src, ds
	}
	if !strings.Contains(string(src), "<<") {
		src = []byte(strings.TrimRight(string(src), "\n"))
	}
	return src, ds
}

// jobRoots are the names that only a job's expressions see.
var jobRoots = map[string]bool{"cell": true, "param": true, "input": true, "input_file": true, "output": true, "metric": true, "path": true, "backend": true}

// hint tells how to see what belongs to a job.
func (s *Session) hint(e hcl.Expression, ds diag.List) {
	if s.View.Phase != nil {
		return
	}
	for _, t := range e.Variables() {
		if !jobRoots[t.RootName()] {
			continue
		}
		for i := range ds {
			if strings.Contains(ds[i].Summary, `"`+t.RootName()+`"`) {
				ds[i].Detail += fmt.Sprintf(" %s belongs to a job: start the console with its address, muster console ADDR.", t.RootName())
			}
		}
		return
	}
}

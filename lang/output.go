package lang

import (
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang/decode"
	"github.com/muster-run/muster/lang/syntax"
)

// An Output is a declared result of a job.
type Output struct {
	Name     string
	Kind     OutputKind
	MinCount int // glob: least number of files; 0 = none is fine
	Verify   []Verify
	MinSize  int64
	Shared   bool // several jobs may write it; checked for change only
	// The most that its verification may take; 0 = by the walltime.
	VerifyTimeout time.Duration
	VerifyMaxSize int64 // bytes
	Range         hcl.Range
}

// An OutputKind tells a file from a set of files.
type OutputKind string

// The kinds of output.
const (
	File OutputKind = "path"
	Glob OutputKind = "glob"
	Dir  OutputKind = "dir"
)

// readOutput reads an output block, but for its path.
func readOutput(r *decode.Reader, b *syntax.Block) *Output {
	o := &Output{Name: b.Name(), MinSize: r.Size(b, "min_size"), Shared: r.Bool(b, "shared"), Range: b.Range}
	var kinds []string
	for _, k := range []OutputKind{File, Glob, Dir} {
		if b.Expr(string(k)) != nil {
			o.Kind = k
			kinds = append(kinds, string(k))
		}
	}
	if len(kinds) != 1 && !r.Broken {
		found := "none was found"
		if len(kinds) > 1 {
			found = strings.Join(kinds, " and ") + " were found"
		}
		r.Sure.Errorat(b.Range, "An output is a path, a glob or a dir", "Write exactly one of path, glob and dir in output %q; %s.", o.Name, found)
	}
	if o.Kind == Glob {
		o.MinCount = r.Integer(b, "min_count", 0, 1)
	} else if e := b.Expr("min_count"); e != nil {
		r.Wrong(e, "min_count", "min_count goes with glob; this output is one %s.", map[bool]string{true: "folder", false: "file"}[o.Kind == Dir])
	}
	o.Verify = verify(r, b)
	o.VerifyTimeout, o.VerifyMaxSize = r.Duration(b, "verify_timeout", 0), r.Size(b, "verify_max_size")
	return o
}

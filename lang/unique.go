package lang

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/lang/expr"
	"github.com/muster-run/muster/lang/wording"
	"github.com/muster-run/muster/providers/offer"
)

// uniqueLabels reports labels that two jobs share.
func (ck *checker) uniqueLabels() {
	var columns []textColumn
	written := false
	for _, p := range ck.order {
		if !p.ok || p.failed {
			continue
		}
		at := p.b.Range
		if e := p.job.Expr("name"); e != nil {
			written, at = true, e.Range()
		}
		written = written || p.Phase.job.label != nil
		for k, c := range p.Name { // phase a's "a-b=1" may be phase a-b's
			written = written || c == '-' && ck.byName[p.Name[:k]] != nil
		}
		c, whole := newTexts(p, nil, p.Phase.job.label, at)
		if !whole {
			i, j := c.twins()
			ck.sameLabel(c, i, c, j)
			continue
		}
		columns = append(columns, c)
	}
	if !written {
		return // without names, labels are made of phases and keys
	}
	set := newDistinct(columns)
	for n := range columns {
		c := columns[n].(*texts)
		set.Add(n, func(text []byte, k int) bool { return ck.goodLabel(c, text, k) }, func(m, j, k int) bool {
			d := columns[m].(*texts)
			ck.sameLabel(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// maxLabel bounds a label, in bytes: schedulers cut or refuse longer names.
const maxLabel = 200

func (ck *checker) goodLabel(c *texts, text []byte, k int) bool {
	bad := ""
	switch {
	case len(text) == 0:
		bad = "is empty"
	case len(text) > maxLabel && c.p.Phase.job.label != nil:
		bad = fmt.Sprintf("has %d bytes, at most %d are taken", len(text), maxLabel)
	case bytes.ContainsFunc(text, unicode.IsControl):
		bad = "holds a control character"
	case bytes.HasPrefix(text, []byte("phase.")):
		if bad = ck.anotherAddress(c, expr.Unescape(string(text)), k); bad == "" {
			return true
		}
	default:
		return true
	}
	ck.Perhaps.Append(diag.Diagnostic{Summary: "Invalid label", Detail: fmt.Sprintf("The label of %s %s.", c.p.Address(c.proj.First(k)), bad), Subject: c.at.Ptr(), Address: c.p.Address(c.proj.First(k))})
	return false
}

// anotherAddress reports a label that is the address of another job: each could be taken for
// the other.
func (ck *checker) anotherAddress(c *texts, label string, k int) string {
	j, err := addr.Parse(label)
	if err != nil || ck.byName[j.Phase] == nil || !ck.byName[j.Phase].ok {
		return ""
	}
	p := ck.byName[j.Phase]
	if i, there := p.Index(j.Key); !there || p == c.p && i == c.proj.First(k) {
		return ""
	}
	return fmt.Sprintf("is %q, the address of another job; muster accepts labels in place of addresses, so a label must not be an address", wording.Clip(label))
}

func (ck *checker) sameLabel(c *texts, i int, d *texts, j int) {
	ck.Perhaps.Append(diag.Diagnostic{Summary: "Two jobs with one label", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s are both called %q. muster accepts labels in place of addresses, so each must be unique: put the axes in which the jobs differ into name.", c.p.Address(i), d.p.Address(j), wording.Clip(d.p.Label(j)))})
}

// uniquePaths reports output paths that two jobs on one filesystem would write,
// and paths that lead out of the workdir.
func (ck *checker) uniquePaths() {
	var columns []textColumn
	for _, p := range ck.order {
		if !p.ok || p.failed {
			continue
		}
		for k, o := range p.Outputs {
			e := p.job.All("output")[k].Expr(string(o.Kind))
			t := p.Phase.job.form[Run].outputs[k]
			if e == nil || t == nil {
				continue
			}
			c, whole := newTexts(p, o, t, e.Range())
			if !whole && !o.Shared {
				i, j := c.twins()
				ck.samePath(c, i, c, j)
				continue
			}
			columns = append(columns, c)
		}
	}
	columns = append(columns, ck.checkpoints()...)
	columns = append(columns, ck.discards()...)
	places := ck.filesystems()
	ck.covered(columns, places)
	set := newDistinct(columns)
	for n := range columns {
		c := columns[n].(*texts)
		set.Add(n, func(text []byte, k int) bool { return ck.goodPath(c, text, k) }, func(m, j, k int) bool {
			d := columns[m].(*texts)
			if c.output.Shared && d.output.Shared || !meet(places[c.p], places[d.p]) {
				return true
			}
			ck.samePath(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// checkpoints are the paths of the jobs' checkpoints. Those that jobs may share are the last, so
// that they hide no two outputs with one path.
func (ck *checker) checkpoints() (managed []textColumn) {
	var others []textColumn
	for _, p := range ck.order {
		if !p.ok || p.failed || p.Phase.job.form[Run].checkpoint == nil {
			continue
		}
		o := &Output{Name: offer.CheckpointName, Kind: Dir}
		if p.Checkpoint.Kind == Glob {
			o.Kind = Glob
		}
		c, whole := newTexts(p, o, p.Phase.job.form[Run].checkpoint, p.b.One("checkpoint").Expr(string(p.Checkpoint.Kind)).Range())
		switch {
		case !whole:
			i, j := c.twins()
			ck.samePath(c, i, c, j)
		case p.Checkpoint.managed():
			managed = append(managed, c)
		default:
			others = append(others, c)
		}
	}
	return append(managed, others...)
}

// unmanaged reports whether a path is that of a checkpoint which jobs may share.
func (c *texts) unmanaged() bool {
	return c.output.Name == offer.CheckpointName && !c.p.Checkpoint.managed()
}

// shares notes that a checkpoint is at a path which is not its job's alone, where a campaign may
// have that.
func shares(all ...*texts) (any bool) {
	for _, c := range all {
		if c.unmanaged() {
			c.p.Checkpoint.Shared, any = true, true
		}
	}
	return any
}

// discards are the paths that jobs remove.
func (ck *checker) discards() (columns []textColumn) {
	for _, p := range ck.order {
		if !p.ok || p.failed {
			continue
		}
		for k, t := range p.Phase.job.form[Run].discard {
			c, whole := newTexts(p, &Output{Name: discarded, Kind: Glob}, t, p.job.Expr("discard").(*hclsyntax.TupleConsExpr).Exprs[k].Range())
			if !whole {
				i, j := c.twins()
				ck.samePath(c, i, c, j)
				continue
			}
			columns = append(columns, c)
		}
	}
	return columns
}

// goodPath holds paths to the workdir.
func (ck *checker) goodPath(c *texts, text []byte, k int) bool {
	bad, clean := "", path.Clean(string(text))
	switch {
	case bytes.HasPrefix(text, []byte("${")): // how a value that is no text is written in canonical text
		bad = "is no text"
	case c.output.Kind == Glob && !doublestar.ValidatePattern(string(text)):
		bad = "is not a glob: a bracket or a brace is not closed"
	case clean == ".":
		bad = "is the workdir itself"
	case c.output.Name == discarded && bytes.IndexByte([]byte("*?[{"), text[0]) >= 0:
		bad = "begins with a wildcard, so that it matches files of other jobs"
	case c.output.Name == offer.CheckpointName && c.output.Kind == Glob && bytes.IndexByte([]byte("*?[{"), text[0]) >= 0:
		bad = "begins with a wildcard, so that it matches more than checkpoints"
	case onNodeDisk(string(text)) && c.output.Name != offer.CheckpointName && c.output.Name != discarded:
		bad = fmt.Sprintf("is on the disk of a node, where it is gone when the job ends; declare it in the workdir, and write scratch { stage_out = [output.%s] } in the job", c.output.Name)
	case text[0] == '/' || text[0] == '~':
		bad = "is absolute"
	case strings.HasPrefix(clean+"/", "../"):
		bad = "leads out of the workdir"
	case strings.HasPrefix(clean+"/", ".muster/"):
		bad = "is in muster's own folder"
	case offer.Own(clean):
		bad = "is a file of muster's own"
	case bytes.ContainsFunc(text, unicode.IsControl):
		bad = "holds a control character"
	default:
		return true
	}
	if shares(c) {
		return false
	}
	address := c.p.Address(c.proj.First(k))
	if c.output.Name == discarded {
		ck.Perhaps.Append(diag.Diagnostic{Summary: "Invalid path in discard", Subject: c.at.Ptr(), Address: address,
			Detail: fmt.Sprintf("%q of %s %s. muster removes files only below the workdir: write a path relative to it, in a folder of the job.", wording.Clip(string(text)), address, bad)})
		return false
	}
	if c.output.Name == offer.CheckpointName {
		ck.Perhaps.Append(diag.Diagnostic{Summary: "Invalid path of a checkpoint", Subject: c.at.Ptr(), Address: address,
			Detail: fmt.Sprintf("The checkpoint %q of %s %s. muster moves checkpoints only below the workdir: write a path relative to it, in a folder for them, or take out verify, min_size and glob.", wording.Clip(string(text)), address, bad)})
		return false
	}
	ck.Perhaps.Append(diag.Diagnostic{Summary: "Invalid output path", Subject: c.at.Ptr(), Address: address,
		Detail: fmt.Sprintf("The path %q of the output %q of %s %s. Output paths are relative to the workdir and below it.", wording.Clip(string(text)), c.output.Name, address, bad)})
	return false
}

func (ck *checker) samePath(c *texts, i int, d *texts, j int) {
	if own := c.p == d.p && i == j; !own && shares(c, d) || own && (c.unmanaged() || d.unmanaged()) {
		return
	}
	if c.output.Name == discarded || d.output.Name == discarded {
		ck.lost(c, i, d, j)
		return
	}
	text := path.Clean(plain(d.t, j))
	if c.p == d.p && i == j {
		ck.Perhaps.Append(diag.Diagnostic{Summary: "Two outputs with one path", Subject: d.at.Ptr(), Address: d.p.Address(j),
			Detail: fmt.Sprintf("The outputs %q and %q of %s are both %q.", c.output.Name, d.output.Name, d.p.Address(j), wording.Clip(text))})
		return
	}
	if d.output.Name == offer.CheckpointName {
		ck.Perhaps.Append(diag.Diagnostic{Summary: "Two jobs with one checkpoint", Subject: d.at.Ptr(), Address: d.p.Address(j),
			Detail: fmt.Sprintf("The checkpoint of %s and of %s is %q, so muster would move files of one job for the other. Put the axes in which they differ into the path.", c.p.Address(i), d.p.Address(j), wording.Clip(text))})
		return
	}
	ck.Perhaps.Append(diag.Diagnostic{Summary: "Two jobs would write the same path", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s would both write %q. Put the axes in which they differ into the path; or, if the jobs are meant to share the file, write shared = true in the output.", c.p.Address(i), d.p.Address(j), wording.Clip(text))})
}

// discarded is the name under which a job's discarded files are checked as outputs. No
// output can have it.
const discarded = "discard "

// lost reports a path that a job removes and that is another's, or its own output.
func (ck *checker) lost(c *texts, i int, d *texts, j int) {
	if d.output.Name != discarded {
		c, i, d, j = d, j, c, i
	}
	text := path.Clean(plain(d.t, j))
	switch {
	case c.p == d.p && i == j && c.output.Name == offer.CheckpointName, c.p == d.p && i == j && c.output.Name == discarded:
		return // its own, twice; or its checkpoints, which are of no use once it is done
	case c.p == d.p && i == j:
		ck.Perhaps.Append(diag.Diagnostic{Summary: "An output in discard", Subject: d.at.Ptr(), Address: d.p.Address(j),
			Detail: fmt.Sprintf("%q is the output %q of %s, which muster keeps. Take it out of discard.", wording.Clip(text), c.output.Name, d.p.Address(j))})
		return
	}
	ck.Perhaps.Append(diag.Diagnostic{Summary: "A job would remove another's files", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s discards %q, where %s has files. Name a folder of its own: put the axes in which the jobs differ into the path.", d.p.Address(j), wording.Clip(text), c.p.Address(i))})
}

// filesystems are the workdirs that each phase's jobs may write to.
func (ck *checker) filesystems() map[*phaseBuild]map[string]bool {
	out := map[*phaseBuild]map[string]bool{}
	for _, p := range ck.order {
		set := map[string]bool{}
		for _, b := range ck.backends {
			if len(p.Candidates) == 0 || slices.Contains(p.Candidates, b.Address()) {
				set[ck.filesystem(b)] = true
			}
		}
		out[p] = set
	}
	return out
}

// filesystem names the workdir of a backend, so that two backends with the
// same name for it see each other's files.
func (ck *checker) filesystem(b *Backend) string {
	var c struct {
		SharedFS string `json:"shared_fs"`
	}
	_ = json.Unmarshal(b.Config, &c)
	switch {
	case b.Type == "local":
		return "local\x00" + ck.workdir(b)
	case c.SharedFS != "":
		return "shared\x00" + c.SharedFS + "\x00" + ck.workdir(b)
	}
	return b.Address()
}

func meet(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}

package lang

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/muster-run/muster/internal/diag"
)

// uniqueLabels tells labels that two jobs share.
func (l *loader) uniqueLabels() {
	var columns []*texts
	written := false
	for _, p := range l.order {
		if !p.ok || p.failed {
			continue
		}
		at := p.b.rng
		if e := p.job.expr("name"); e != nil {
			written, at = true, e.Range()
		}
		for k, c := range p.Name { // phase a's "a-b=1" may be phase a-b's
			written = written || c == '-' && l.phases[p.Name[:k]] != nil
		}
		c, whole := newTexts(p, nil, p.Phase.job.label, at)
		if !whole {
			i, j := c.twins()
			l.sameLabel(c, i, c, j)
			continue
		}
		columns = append(columns, c)
	}
	if !written {
		return // without names, labels are made of phases and keys
	}
	set := newTextSet(columns)
	for _, c := range columns {
		set.add(c, func(text []byte, k int) bool { return l.goodLabel(c, text, k) }, func(d *texts, j, k int) bool {
			l.sameLabel(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// maxLabel bounds a label, in bytes: schedulers cut or refuse longer names.
const maxLabel = 200

func (l *loader) goodLabel(c *texts, text []byte, k int) bool {
	bad := ""
	switch {
	case len(text) == 0:
		bad = "is empty"
	case len(text) > maxLabel && c.p.Phase.job.label != nil:
		bad = fmt.Sprintf("has %d bytes, at most %d are taken", len(text), maxLabel)
	case bytes.ContainsAny(text, "\n\r\t\x00\x1b"):
		bad = "holds a control character"
	default:
		return true
	}
	l.ds.Append(diag.Diagnostic{Summary: "Invalid label", Detail: fmt.Sprintf("The label of %s %s.", c.p.Address(c.proj.First(k)), bad), Subject: c.at.Ptr(), Address: c.p.Address(c.proj.First(k))})
	return false
}

func (l *loader) sameLabel(c *texts, i int, d *texts, j int) {
	l.ds.Append(diag.Diagnostic{Summary: "Two jobs with one label", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s are both called %q. A label is accepted wherever an address is, so it must tell jobs apart: put the axes in which they differ into name.", c.p.Address(i), d.p.Address(j), clip(d.p.Label(j)))})
}

// uniquePaths tells output paths that two jobs on one filesystem would write,
// and paths that lead out of the workdir.
func (l *loader) uniquePaths() {
	var columns []*texts
	for _, p := range l.order {
		if !p.ok || p.failed {
			continue
		}
		for k, o := range p.Outputs {
			e := p.job.all("output")[k].expr(string(o.Kind))
			t := p.Phase.job.form[Run].outputs[k]
			if e == nil || t == nil {
				continue
			}
			c, whole := newTexts(p, o, t, e.Range())
			if !whole && !o.Shared {
				i, j := c.twins()
				l.samePath(c, i, c, j)
				continue
			}
			columns = append(columns, c)
		}
	}
	places := l.filesystems()
	set := newTextSet(columns)
	for _, c := range columns {
		set.add(c, func(text []byte, k int) bool { return l.goodPath(c, text, k) }, func(d *texts, j, k int) bool {
			if c.output.Shared && d.output.Shared || !meet(places[c.p], places[d.p]) {
				return true
			}
			l.samePath(d, d.proj.First(j), c, c.proj.First(k))
			return false
		})
	}
}

// goodPath holds paths to the workdir.
func (l *loader) goodPath(c *texts, text []byte, k int) bool {
	bad := ""
	switch {
	case len(text) == 0 || string(text) == ".":
		bad = "is the workdir itself"
	case text[0] == '/' || text[0] == '~':
		bad = "is absolute"
	case bytes.HasPrefix(text, []byte("..")) && (len(text) == 2 || text[2] == '/'):
		bad = "leads out of the workdir"
	case bytes.HasPrefix(text, []byte(".muster/")):
		bad = "lies in muster's own folder"
	case bytes.ContainsAny(text, "\n\r\x00"):
		bad = "holds a control character"
	default:
		return true
	}
	address := c.p.Address(c.proj.First(k))
	l.ds.Append(diag.Diagnostic{Summary: "Invalid output path", Subject: c.at.Ptr(), Address: address,
		Detail: fmt.Sprintf("The path %q of the output %q of %s %s. Output paths are relative to the workdir and lie below it.", clip(string(text)), c.output.Name, address, bad)})
	return false
}

func (l *loader) samePath(c *texts, i int, d *texts, j int) {
	text := plain(d.t, j)
	if c.p == d.p && i == j {
		l.ds.Append(diag.Diagnostic{Summary: "Two outputs with one path", Subject: d.at.Ptr(), Address: d.p.Address(j),
			Detail: fmt.Sprintf("The outputs %q and %q of %s are both %q.", c.output.Name, d.output.Name, d.p.Address(j), clip(text))})
		return
	}
	l.ds.Append(diag.Diagnostic{Summary: "Two jobs would write the same path", Subject: d.at.Ptr(), Address: d.p.Address(j),
		Detail: fmt.Sprintf("%s and %s would both write %q. Put the axes in which they differ into the path; or, if the jobs are meant to share the file, write shared = true in the output.", c.p.Address(i), d.p.Address(j), clip(text))})
}

// filesystems are the workdirs that each phase's jobs may write to.
func (l *loader) filesystems() map[*phaseBuild]map[string]bool {
	out := map[*phaseBuild]map[string]bool{}
	for _, p := range l.order {
		set := map[string]bool{}
		for _, b := range l.c.Backends {
			if len(p.Candidates) == 0 || contains(p.Candidates, b.Address()) {
				set[l.filesystem(b)] = true
			}
		}
		out[p] = set
	}
	return out
}

// filesystem names the workdir of a backend, so that two backends with the
// same name for it see each other's files.
func (l *loader) filesystem(b *Backend) string {
	var c struct {
		SharedFS string `json:"shared_fs"`
	}
	_ = json.Unmarshal(b.Config, &c)
	switch {
	case b.Type == "local":
		return "local\x00" + below(l.c.Dir, l.workdir(b))
	case c.SharedFS != "":
		return "shared\x00" + c.SharedFS + "\x00" + l.workdir(b)
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

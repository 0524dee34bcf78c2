// Package aris converts manifests and grid specs of ARIS's experiment-queue to
// a campaign. It converts the meaning of a manifest, not the behaviour of its
// scheduler. It reports everything that it cannot convert: in a diagnostic with
// the line of the manifest, and in the campaign's first comment.
package aris

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/muster-run/muster/internal/diag"
)

// Options say how to convert.
type Options struct {
	// Backend is "ssh" or "local". Without it the jobs go to the manifest's
	// host over ssh, or to this machine when it names none.
	Backend string
	// Manifest is that of a queue state, which says what the state does not: the folder,
	// the environment and the host; nil = unknown.
	Manifest []byte
}

// MaxBytes bounds a manifest. The largest seen in use has some 100 KB.
const MaxBytes = 16 << 20

// Convert reads a manifest in YAML or JSON and returns a campaign in the
// canonical format. The name is in diagnostics and in the campaign's
// comment. With errors in the list there is no campaign.
func Convert(name string, src []byte, o Options) ([]byte, diag.List) {
	var ds diag.List
	if len(src) > MaxBytes {
		ds.Errorf("The manifest is too large", "%s has %d bytes; at most %d are read.", name, len(src), MaxBytes)
		return nil, ds
	}
	root, ds := read(name, src)
	if ds.HasErrors() {
		return nil, ds
	}
	r := &reader{name: name, ds: &ds, whole: o.Manifest != nil}
	_, r.lines = readLines(name, src)
	m := r.manifest(root)
	if r.whole && m.state != nil {
		r.completeFrom(m, o.Manifest)
	}
	c := &converter{m: m, r: r, o: o}
	c.convert()
	slices.SortStableFunc(ds, func(a, b diag.Diagnostic) int { return cmp.Compare(line(a), line(b)) })
	if ds.HasErrors() {
		return nil, ds
	}
	var b bytes.Buffer
	c.write(&b)
	return hclwrite.Format(b.Bytes()), ds
}

// line orders diagnostics as the manifest is read.
func line(d diag.Diagnostic) int {
	if d.Subject == nil {
		return 0
	}
	return d.Subject.Start.Line
}

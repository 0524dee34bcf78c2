package page

import (
	"fmt"
	"slices"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
)

// A Pull is the JSON of `muster pull -json`.
type Pull struct {
	FormatVersion string       `json:"format_version"`
	To            string       `json:"to"`
	Files         []PulledFile `json:"files"`
	Failed        []Unpulled   `json:"failed"`
}

// A PulledFile is a file that is here.
type PulledFile struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Path    string `json:"path"` // as the job wrote it
	File    string `json:"file"` // here
	Size    int64  `json:"size"`
	Digest  string `json:"digest,omitempty"` // that was compared; "" where only the output as a whole has one
	Kept    bool   `json:"kept"`             // was here already
	USD     string `json:"usd,omitempty"`    // billed by its backend since it left; not in the ledger
}

// An Unpulled is an output that is not, or not whole.
type Unpulled struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Error   string `json:"error"`
}

// PullTo is a pull into a folder, before its first file.
func PullTo(dir string) Pull {
	return Pull{FormatVersion: FormatVersion, To: dir, Files: []PulledFile{}, Failed: []Unpulled{}}
}

// Text is the line that sums up present and missing files.
func (p Pull) Text() string {
	var bytes int64
	var billed amount.Tally
	for _, f := range p.Files {
		bytes += f.Size
		billed.Add(f.USD)
	}
	text := fmt.Sprintf("%s, %s, in %s: every digest is as recorded", units.Count(len(p.Files), "file"), units.FormatSize(bytes), p.To)
	switch n := len(p.Failed); {
	case n == 1:
		text += "; 1 output was not copied"
	case n > 1:
		text += fmt.Sprintf("; %d outputs were not copied", n)
	}
	if usd := billed.Total(); usd.IsPositive() {
		text += fmt.Sprintf("; the backend bills %s for this transfer, which the ledger does not include", amount.Words("usd", usd.String()))
	}
	return text + ".\n"
}

// Diagnostics tell why outputs were not copied: each reason once, as that of a
// host that is gone.
func (p Pull) Diagnostics() (l diag.List) {
	for i, f := range p.Failed {
		same := func(g Unpulled) bool { return g.Error == f.Error }
		if slices.ContainsFunc(p.Failed[:i], same) {
			continue
		}
		d := diag.Diagnostic{Summary: "An output was not copied", Detail: fmt.Sprintf("%s, output %q: %s.", f.Address, f.Output, f.Error)}
		more := 0
		for _, g := range p.Failed[i+1:] {
			if same(g) {
				more++
			}
		}
		if more > 0 {
			d.Summary = fmt.Sprintf("%d outputs were not copied", more+1)
			d.Detail = fmt.Sprintf("%s, output %q, and %d more: %s.", f.Address, f.Output, more, f.Error)
		}
		l.Append(d)
	}
	return l
}

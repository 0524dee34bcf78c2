package planner

import (
	"slices"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/grid"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/result"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A PhasePlan is the plan of one phase: columns by cell, and details only
// where there is something to say. About 60 bytes a job.
type PhasePlan struct {
	Phase   *lang.Phase
	Kind    []Kind        // by cell
	Result  []result.Hash // result hash by cell
	Place   []uint16      // index into Placements by cell; jobs that do not run have 0
	Details map[int]Detail

	// Placements are the distinct decisions of the phase; index 0 is unused.
	Placements []place.Decision
	// After is, by request, where jobs go after failures, as in place.Decision: of the
	// requests of which a job starts or is in flight. Nil where no failure moves any.
	After  [][]place.Fallback
	Smoke  *Gate
	Pilot  []int // cells still to be run alone first
	Hold   string
	Reread *Rereading // nil: no metric is read again
	Source result.Source
	// Images are the digests of the jobs' images, by combination of lang.Phase.Images
	// of runs; nil where none is known.
	Images []string
	// SmokeImages are those of smokes, by combination of lang.Phase.Images of them.
	SmokeImages []string
	// ImageStamps are the stamps of image files, taken with their digests: by
	// result.ImageAt.
	ImageStamps map[string]uint64
	// Raw are the files of inputs that no phase makes, by name and then by class of
	// lang.RawInput.
	Raw map[string][][]result.File
	// Records are the jobs' records by cell, nil where there is none; nil as a
	// whole when the phase has none.
	Records []*state.Job

	images *grid.Projection
	rawOf  map[string]grid.Projection
	why    func(cell int) Detail // works a detail out that is not kept; nil after a plan file
}

// Explain has details that are not kept worked out when they are asked for.
func (pp *PhasePlan) Explain(why func(cell int) Detail) { pp.why = why }

// Detail is why a cell gets its action: a kept reason, or one worked out now. Large plans keep
// the details of the first cells of each phase only.
func (pp *PhasePlan) Detail(cell int) Detail {
	if d, ok := pp.Details[cell]; ok {
		return d
	}
	if pp.why != nil {
		return pp.why(cell)
	}
	return Detail{}
}

// Away is why a plan leaves a cell out whose place cannot be asked now, "" for other cells.
func (pp *PhasePlan) Away(cell int) string {
	if pp.Kind[cell] != HeldKind {
		return ""
	}
	return pp.Decision(cell).Away
}

// Image is the digest of a cell's image, "" where it is not known.
func (pp *PhasePlan) Image(cell int) string {
	if len(pp.Images) == 0 {
		return ""
	}
	if pp.images == nil {
		of, _ := pp.Phase.Images(lang.Run)
		pp.images = &of
	}
	return pp.Images[pp.images.Of(cell)]
}

// SmokeImage is the digest of the image of a cell's smoke, "" where it is not known.
func (pp *PhasePlan) SmokeImage(cell int) string {
	if len(pp.SmokeImages) == 0 {
		return ""
	}
	of, _ := pp.Phase.Images(lang.SmokeRun)
	return pp.SmokeImages[of.Of(cell)]
}

// RawFiles are the files of a cell's input that no phase makes; nil where they are
// not known.
func (pp *PhasePlan) RawFiles(in *lang.RawInput, cell int) []result.File {
	all := pp.Raw[in.Name]
	if len(all) == 0 {
		return nil
	}
	if pp.rawOf == nil {
		pp.rawOf = map[string]grid.Projection{}
	}
	of, ok := pp.rawOf[in.Name]
	if !ok {
		of = in.Classes()
		pp.rawOf[in.Name] = of
	}
	return all[of.Of(cell)]
}

// RawBytes is the digest of a content of a cell that no phase makes, "" where it
// is not known: the image, or an input.
func (pp *PhasePlan) RawBytes(name string, cell int) string {
	for _, in := range pp.Phase.Raw {
		if in.Name == name {
			return result.Bytes(in, pp.RawFiles(in, cell))
		}
	}
	if name == result.Image {
		return pp.Image(cell)
	}
	return ""
}

// Record is a cell's record in the state, or nil.
func (pp *PhasePlan) Record(cell int) *state.Job {
	if pp.Records == nil {
		return nil
	}
	return pp.Records[cell]
}

// Decision is where a cell goes; zero when it does not start.
func (pp *PhasePlan) Decision(cell int) place.Decision {
	if cell < len(pp.Place) {
		if at := int(pp.Place[cell]); at > 0 && at < len(pp.Placements) {
			return pp.Placements[at]
		}
	}
	return place.Decision{}
}

// A Detail is why a job gets the action it gets.
type Detail struct {
	Reasons []change.Reason
	State   *state.Job // the record, if there is one
	From    string     // former address, of a move
	Waits   []string   // addresses it is blocked by
	Text    string     // class and last lines for a held job, the reason for an unknown one
	Destroy bool       // needs approval
	Lacks   []string   `json:",omitempty"` // names of outputs that are missing or broken
	// Seen are outputs as they are found, of a job whose changed bytes are accepted
	// or that adopts files.
	Seen []state.Output `json:",omitempty"`
	// At is where the files are that the job adopts, as providers.At names it; they
	// are Seen.
	At string `json:",omitempty"`
	// Ran says that the job's last launch made them, and exited 0.
	Ran bool `json:",omitempty"`
	// Foreign are files at the job's output paths that are not its own. They are
	// replaced when it starts, which needs approval. Whose says who made them, in words.
	Foreign []offer.Output `json:",omitempty"`
	Whose   string         `json:",omitempty"`
	// Same says to submit under the token of the record's intent, which its
	// backend surely does not have.
	Same bool
	// Computed is the hash of the job as written where the plan keeps an older
	// one, because the change is accepted or ignored.
	Computed result.Hash
}

// A Gate is the state of a phase's smoke.
type Gate struct {
	Run      []int // cells whose smoke is still to run
	Passed   []int // cells with a passed fingerprint
	When     time.Time
	Failed   []int
	Waiting  []int // running now
	Place    place.Decision
	Prints   []result.Hash // fingerprints, in the order of lang.Smoke.Cells
	Repeat   int           // how often each of Run is launched; 0 is 1
	Canary   []int         // of Run: launched once more, as a canary
	Text     string        // "smoke skipped: same config passed on 2026-09-30 (1f0c22ab93de)"
	Override string
}

// Word says what the launches of a gate are.
func (g *Gate) Word() string {
	if len(g.Canary) > 0 {
		return "smoke, canary"
	}
	return "smoke"
}

// Launches are the cells of the smokes that are launched, as often as each is.
func (g *Gate) Launches() []int { return append(slices.Repeat(g.Run, max(g.Repeat, 1)), g.Canary...) }

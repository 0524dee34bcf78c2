// Package transfers lists the files that a plan moves because their readers run
// on another backend or host: one row for each input and pair of hosts, with
// each producer once for all its readers. It knows which hosts share files.
package transfers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/state"
)

// A Transfer moves the files of one input between backends.
type Transfer struct {
	Phase string // consumer
	Input string
	From  string // backend
	To    string
	// FromHost and ToHost are the hosts of backends whose hosts have files of
	// their own; "" elsewhere.
	FromHost string `json:",omitempty"`
	ToHost   string `json:",omitempty"`
	Files    int
	Bytes    int64   // -1: known after the producer
	After    string  // producer phase
	Cells    []int32 // producer cells
	Push     bool
	Output   string
	// Raw says that no phase makes the files; Cells are classes of lang.RawInput then.
	Raw  bool  `json:",omitempty"`
	Cost *Cost `json:",omitempty"` // nil: nothing is billed
}

// Ends are the two places of a transfer as they are shown.
func (t Transfer) Ends() (from, to string) {
	return Filesystem{Backend: t.From, Pool: t.FromHost}.Name(), Filesystem{Backend: t.To, Pool: t.ToHost}.Name()
}

// A Phase is the question about one phase of a plan: which cells start, and where; the columns
// are by cell, Records nil where there is none.
type Phase struct {
	*lang.Phase
	Starts     func(cell int) bool
	Place      []uint16 // into Placements
	Placements []place.Decision
	Records    []*state.Job
}

func (p *Phase) decision(cell int) place.Decision {
	if at := int(p.Place[cell]); at > 0 && at < len(p.Placements) {
		return p.Placements[at]
	}
	return place.Decision{}
}

// ended reports whether a cell ended without a result and does not start again.
func (p *Phase) ended(cell int) bool {
	if p.Starts(cell) || p.Records == nil || p.Records[cell] == nil {
		return false
	}
	status := p.Records[cell].Status
	return status != state.Completed && !status.Active()
}

// A draft is a row in the making: one input's files on one way.
type draft struct {
	t       Transfer
	unknown bool
}

// Of lists the transfers of one input of a phase with jobs that start,
// in order of their ways.
func Of(filesystems *Filesystems, p, from *Phase, in *lang.Input) []Transfer {
	if onePlace(filesystems, p, from) {
		return nil
	}
	to := make([]Filesystem, len(p.Placements))
	for i, d := range p.Placements {
		to[i] = filesystems.Of(d.Backend, d.Pool)
	}
	type need struct {
		group int
		to    Filesystem
	}
	done := map[need]bool{}
	drafts := map[[2]Filesystem]*draft{}
	for i, at := range p.Place {
		if int(at) >= len(to) || !p.Starts(i) {
			continue
		}
		n := need{in.GroupOf(i), to[at]}
		if n.to.Files == "" || done[n] {
			continue
		}
		done[n] = true
		for _, producer := range in.Members(n.group) {
			if in.Partial() && from.ended(producer) {
				continue
			}
			add(drafts, filesystems, p, from, in, producer, n.to)
		}
	}
	return rows(drafts, from.Name)
}

// onePlace is the common case: everything on one machine.
func onePlace(filesystems *Filesystems, p, from *Phase) bool {
	var only Filesystem
	for _, d := range slices.Concat(p.Placements, from.Placements) {
		switch s := filesystems.Of(d.Backend, d.Pool); {
		case s.Files == "":
		case only.Files == "":
			only = s
		case !only.Sees(s):
			return false
		}
	}
	var last location
	for _, job := range from.Records {
		if job == nil || only.Files == "" {
			continue
		}
		for k := range job.Outputs {
			if at := locationOf(job, &job.Outputs[k]); at != last {
				if last = at; !only.Sees(filesystems.Of(at.backend, at.pool)) {
					return false
				}
			}
		}
		if at := job.Last(); at != nil && job.Status.Active() && !only.Sees(filesystems.Of(at.Backend, at.Pool)) {
			return false
		}
	}
	return true
}

// add counts a producer's output on the route from where it is.
func add(drafts map[[2]Filesystem]*draft, filesystems *Filesystems, p, from *Phase, in *lang.Input, producer int, to Filesystem) {
	lies, output, known := Location(filesystems, from, producer, in.Output)
	if lies.Files == "" || lies.Sees(to) || output != nil && slices.ContainsFunc(Copies(filesystems, output), to.Sees) {
		return
	}
	key := [2]Filesystem{lies, to}
	h := drafts[key]
	if h == nil {
		h = &draft{t: Transfer{Phase: p.Name, Input: in.Name, From: lies.Backend, FromHost: lies.Pool, To: to.Backend, ToHost: to.Pool,
			Output: in.Output, Push: !strings.HasPrefix(to.Backend, "local.")}}
		drafts[key] = h
	}
	h.t.Cells = append(h.t.Cells, int32(producer))
	if !known {
		h.t.Files++
		h.unknown = true
		return
	}
	h.t.Files += max(output.Files, 1)
	h.t.Bytes += output.Size
}

func rows(drafts map[[2]Filesystem]*draft, producer string) []Transfer {
	var out []Transfer
	for _, h := range drafts {
		if h.unknown {
			h.t.Bytes, h.t.After = -1, producer
		}
		slices.Sort(h.t.Cells)
		out = append(out, h.t)
	}
	slices.SortFunc(out, func(a, b Transfer) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.FromHost, b.FromHost), strings.Compare(a.To, b.To), strings.Compare(a.ToHost, b.ToHost))
	})
	return out
}

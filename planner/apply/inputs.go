package apply

import (
	"cmp"
	"fmt"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/planner/apply/backends"
	"github.com/muster-run/muster/planner/apply/cells"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers"
)

// inputs bring each job its inputs, and the source of its phase.
type inputs struct {
	*jobs
	accounts *accounts
	staging  *staging.Transfers
	doubtful bool // jobs started whose hashes were not known
}

// newStaging returns the transfers of this run.
func (is *inputs) newStaging() *staging.Transfers {
	return staging.New(staging.Config{
		Loop: is.Loop, Engine: is, Ctx: is.Context(), Time: is.Time, Campaign: is.Campaign, State: is.st, Fence: is.Session.Fence(), Holder: is.Session.Holder(),
		Backends: is.backends, Ledger: is.accounts,
		Digests: is.digests(), Reads: is.Reads,
		SubmitsAhead: is.leavesJobs(), Detached: is.Mode == Detach, Play: is.Play,
	})
}

// filesystem is where an attempt's files are.
func (f *attempt) filesystem() site.Filesystem { return f.B.Filesystem(f.Pool) }

// workdir is where the job runs, and has its outputs: the campaign's folder may have moved since
// its launch.
func (f *attempt) workdir() string { return cmp.Or(f.launchedIn, f.filesystem().Workdir) }

// inputPaths are the absolute paths of an input's files where the job runs,
// in key order.
func (is *inputs) inputPaths(f *attempt, name string) []string {
	for _, ed := range f.p.inputs {
		if ed.In.Name == name {
			return is.staging.Paths(&ed.Edge, f.cell, f.B.Endpoint, f.filesystem())
		}
	}
	paths, _ := is.stored(f, name)
	return paths
}

// inputRecords are the records of an input's files where the job runs.
func (is *inputs) inputRecords(f *attempt, name string) []providers.Recorded {
	for _, ed := range f.p.inputs {
		if ed.In.Name == name {
			return is.staging.Recorded(&ed.Edge, f.cell, f.B.Endpoint, f.filesystem())
		}
	}
	_, records := is.stored(f, name)
	return records
}

// inputBytes are, by input, the digests of the bytes that a job reads.
func (is *inputs) inputBytes(p *phase, cell int32) map[string]string {
	out := make(map[string]string, len(p.inputs))
	for _, ed := range p.inputs {
		if text := is.staging.Bytes(&ed.Edge, cell); text != "" {
			out[ed.In.Name] = text
		}
	}
	return out
}

// inputsReady reports whether a cell's producers are all there.
func (is *inputs) inputsReady(f *attempt) bool { return f.p.Waits[f.cell] == 0 || is.leavesJobs() }

// inputsFound reports whether all that an attempt reads is known to be where it
// runs.
func (is *inputs) inputsFound(f *attempt) bool {
	for _, ed := range f.p.inputs {
		if !is.staging.Found(&ed.Edge, f.cell, f.filesystem()) {
			return false
		}
	}
	for _, st := range f.p.stores {
		if !is.staging.Stocked(st, f.cell, f.B.Endpoint, f.Pool) {
			return false
		}
	}
	return true
}

// inputsHere says whether a cell's inputs are where it is to run: started when
// they are, parked while they come, and refused, and why, when they do not.
func (is *inputs) inputsHere(p *phase, cell int32, b *backends.Backend, pool string, smoke bool) (verdict, string) {
	for _, ed := range p.inputs {
		if v, why := is.staging.Bring(&ed.Edge, cell, b.Endpoint, pool, smoke); v != staging.There {
			return brought(v), why
		}
	}
	for _, st := range p.stores {
		if v, why := is.staging.Stock(st, cell, b.Endpoint, pool, smoke); v != staging.There {
			return brought(v), why
		}
	}
	return started, ""
}

// brought is the verdict that follows from the place of an input's files.
func brought(v staging.Arrival) verdict {
	if v == staging.Never {
		return refused
	}
	return parked
}

// carryAhead moves a producer's outputs to where its consumers are planned,
// before all their inputs are there.
func (is *inputs) carryAhead(ed *edge, producer int32) {
	g := ed.Group[producer]
	if g < 0 || is.Mode == Detach {
		return
	}
	for _, c := range ed.Consumers(int(g)) {
		if s := ed.to.At[c]; s != cells.Pending && s != cells.Ready {
			continue
		}
		if d := ed.to.places.Of(c); d != nil && is.backends.Contacts[d.Backend] != nil {
			is.staging.Ahead(&ed.Edge, producer, is.backends.At(d.Backend, d.Pool).Endpoint, d.Pool)
		}
	}
}

// loadTransfers begins with files of earlier runs, and with those that no phase makes.
func (is *inputs) loadTransfers() {
	is.loadStores()
	if is.staging.Together() {
		return
	}
	for _, p := range is.phases {
		for _, ed := range p.inputs {
			for m := range int32(len(ed.from.At)) {
				if ed.from.At[m].Satisfied() {
					is.carryAhead(ed, m)
				}
			}
		}
	}
}

// loadCode notes the source of each phase, and begins to ship those that the
// plan needs.
func (is *inputs) loadCode() {
	for _, p := range is.phases {
		if p.Source == nil || p.plan.Source.Digest == "" {
			continue
		}
		p.source = p.plan.Source.Digest
		if p.Counts[cells.Done]+p.Counts[cells.Checking]+p.Counts[cells.Skipped]+p.Counts[cells.SkippedDone] == len(p.At) && len(p.Gate.Order) == 0 {
			continue
		}
		for d := range p.places.All() {
			if is.backends.Contacts[d.Backend] != nil {
				is.staging.Ship(p.Phase, p.source, is.backends.At(d.Backend, d.Pool).Endpoint, d.Pool)
			}
		}
		if d := p.Gate.Place; d != nil && is.backends.Contacts[d.Backend] != nil {
			is.staging.Ship(p.Phase, p.source, is.backends.At(d.Backend, d.Pool).Endpoint, d.Pool)
		}
	}
}

// codeHere says whether a phase's source is where a job is to run: full while
// it is on its way.
func (is *inputs) codeHere(p *phase, b *backends.Backend, pool string) (verdict, string) {
	if p.source == "" {
		return started, ""
	}
	switch s := is.staging.Ship(p.Phase, p.source, b.Endpoint, pool); {
	case s.Arrived:
		return started, ""
	case s.Err != nil:
		return refused, "its source could not be copied: " + s.Err.Error()
	}
	return full, ""
}

// stored are the paths of an input that no phase makes where a job runs, and the record of its
// files there.
func (is *inputs) stored(f *attempt, name string) ([]string, []providers.Recorded) {
	for _, st := range f.p.stores {
		if st.In.Name == name {
			return is.staging.Stored(st, f.cell, f.B.Endpoint, f.Pool)
		}
	}
	return nil, nil
}

// loadStores begins to copy files that no phase makes to where jobs are planned
// that read them.
func (is *inputs) loadStores() {
	for _, p := range is.phases {
		for _, st := range p.stores {
			for c := range int32(len(p.At)) {
				if s := p.At[c]; s != cells.Pending && s != cells.Ready {
					continue
				}
				if d := p.places.Of(c); d != nil && is.backends.Contacts[d.Backend] != nil {
					is.staging.Begin(st, c, is.backends.At(d.Backend, d.Pool).Endpoint, d.Pool)
				}
			}
		}
	}
}

// rawLacking says what an attempt lacks of its inputs that no phase makes, "" if it
// has them all.
func (is *inputs) rawLacking(f *attempt) string {
	for _, in := range f.p.Raw {
		files := f.p.plan.RawFiles(in, int(f.cell))
		if len(files) == 0 && in.Backend != "" {
			return fmt.Sprintf("it is not known which files of the input %s are on backend.%s: %s. Plan again when it answers", in.Name, in.Backend, in.Path(int(f.cell)))
		}
		if len(files) == 0 {
			return fmt.Sprintf("the input %s has no file: %s. Put it there and plan again", in.Name, in.Path(int(f.cell)))
		}
		for _, file := range files {
			if file.Digest == "" && !clock.IsVirtual(is.Time) { // in a rehearsal nobody reads it
				return fmt.Sprintf("the digest of %s, an input, is not known. Run muster apply, which takes it", file.Path)
			}
		}
	}
	return ""
}

package apply

import (
	"fmt"

	"github.com/muster-run/muster/internal/clock"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
)

// raw is the input of a phase of that name that no phase makes, nil if there is
// none.
func (p *phase) raw(name string) *lang.RawInput {
	for _, in := range p.Raw {
		if in.Name == name {
			return in
		}
	}
	return nil
}

// rawPaths are where the files of an input that no phase makes are.
func (e *engine) rawPaths(f *flight, name string) []string {
	in := f.p.raw(name)
	if in == nil {
		return nil
	}
	return site.RawPaths(e.Campaign.Dir, f.p.plan.RawFiles(in, int(f.cell)))
}

// rawRecords are the digests of the files of an input that no phase makes.
func (e *engine) rawRecords(f *flight, name string) (out []providers.Recorded) {
	in := f.p.raw(name)
	if in == nil {
		return nil
	}
	for _, file := range f.p.plan.RawFiles(in, int(f.cell)) {
		out = append(out, providers.Recorded{Digest: file.Digest, Stamp: file.Stamp})
	}
	return out
}

// rawLacking says what a flight lacks of its inputs that no phase makes, "" if it
// has them all.
func (e *engine) rawLacking(f *flight) string {
	for _, in := range f.p.Raw {
		files := f.p.plan.RawFiles(in, int(f.cell))
		if len(files) == 0 {
			return fmt.Sprintf("the input %s has no file: %s. Put it there and plan again", in.Name, in.Path(int(f.cell)))
		}
		for _, file := range files {
			if file.Digest == "" && !clock.IsVirtual(e.Time) { // in a rehearsal nobody reads it
				return fmt.Sprintf("the digest of %s, an input, is not known. Run muster apply, which takes it", file.Path)
			}
		}
	}
	return ""
}

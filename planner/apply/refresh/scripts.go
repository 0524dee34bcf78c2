package refresh

import (
	"path/filepath"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/planner/apply/source"
	"github.com/muster-run/muster/planner/observed"
)

// scripts reads the scripts that commands name, where this machine has them:
// beside the campaign, in its source, in a workdir that is here.
func (f *facts) scripts(asks []*ask) (found map[string][]observed.Script, warned diag.List) {
	for _, p := range f.Campaign.Phases {
		at := source.Beside(f.Campaign, p, f.reads)
		for _, a := range asks {
			if !filepath.IsAbs(a.conf.Workdir) {
				continue
			}
			at.Dirs = append(at.Dirs, a.conf.Workdir)
			if f.reads(a.conf.Workdir, "") == nil {
				at.Readable = append(at.Readable, a.conf.Workdir)
			}
		}
		var list []observed.Script
		for _, s := range at.OfPhase(p) {
			list = append(list, observed.Script{Name: s.Name, Text: s.Text()})
		}
		if len(list) > 0 {
			if found == nil {
				found = map[string][]observed.Script{}
			}
			found[p.Name] = list
		}
	}
	return found, source.Endings(f.Campaign, func(phase string) bool { return f.idle[phase] }, f.reads)
}

package refresh

import (
	"path/filepath"

	"github.com/muster-run/muster/planner/apply/scripts"
	"github.com/muster-run/muster/planner/observed"
)

// scripts reads the scripts that commands name, where this machine has them:
// beside the campaign, in its source, in a workdir that lies here.
func (o *observer) scripts(asks []*ask) {
	for _, p := range o.Campaign.Phases {
		at := scripts.Beside(o.Campaign, p, o.reads)
		for _, a := range asks {
			if !filepath.IsAbs(a.conf.Workdir) {
				continue
			}
			at.Dirs = append(at.Dirs, a.conf.Workdir)
			if o.reads(a.conf.Workdir, "") == nil {
				at.Readable = append(at.Readable, a.conf.Workdir)
			}
		}
		var list []observed.Script
		for _, s := range at.OfPhase(p) {
			list = append(list, observed.Script{Name: s.Name, Text: s.Text()})
		}
		if len(list) > 0 {
			o.mu.Lock()
			if o.out.Observed.Scripts == nil {
				o.out.Observed.Scripts = map[string][]observed.Script{}
			}
			o.out.Observed.Scripts[p.Name] = list
			o.mu.Unlock()
		}
	}
	warned := scripts.Endings(o.Campaign, func(phase string) bool { return o.idle[phase] }, o.reads)
	o.mu.Lock()
	o.out.Diags.Append(warned...)
	o.mu.Unlock()
}

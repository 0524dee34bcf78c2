package apply

import (
	"fmt"
	"os"
	"path"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/sheet"
	"github.com/muster-run/muster/state"
)

// moveFiles renames the files of a moved job where its declared paths changed
// and they lie on this machine; elsewhere the record goes on pointing to where
// they are.
func (e *engine) moveFiles(p *phase, cell int32, address string) {
	rec := e.st.Jobs[address]
	if rec == nil || rec.Status != state.Completed {
		return
	}
	var seen []state.Output
	for _, o := range rec.Outputs {
		d := sheet.OutputOf(p.Phase, o.Name, -1)
		b := e.fleet.Contacts[o.Backend]
		if d == nil || d.Kind == lang.Glob || o.Backend != "local.local" && (b == nil || b.Can.Remote || b.Conf.Type != "local") {
			continue
		}
		to := p.OutputPath(int(cell), o.Name, lang.Run)
		if to == o.Path || o.Workdir == "" {
			continue
		}
		if rename(haul.Absolute(o.Workdir, o.Path), haul.Absolute(o.Workdir, to)) == nil {
			o.Path = to
			seen = append(seen, o)
		}
	}
	if len(seen) > 0 {
		e.emit(state.OutputsSeen{Address: address, Outputs: seen, At: e.Clock()})
	}
}

// rename moves a file or folder, never over another.
func rename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s exists", to)
	}
	if err := os.MkdirAll(path.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Rename(from, to)
}

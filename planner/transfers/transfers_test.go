package transfers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// fed loads a campaign in which each job of b reads the file of its job of a,
// and c the files of all.
func fed(t *testing.T) map[string]*Phase {
	t.Helper()
	src := `
campaign "c" {}
phase "a" {
  grid { axes = { n = [1, 2, 3] } }
  job {
    command = "make ${output.o}"
    output "o" { path = "a/${cell.n}" }
  }
}
phase "b" {
  grid { axes = { n = [1, 2, 3], rep = [1, 2] } }
  job {
    command = "read ${input.i} ${cell.rep}"
    input "i" { from = phase.a.output.o }
  }
}
phase "c" {
  job {
    command = "read ${input.i}"
    input "i" { from_all = phase.a.output.o }
  }
}
`
	c, ds := lang.LoadFiles(map[string][]byte{"c.muster.hcl": []byte(src)}, lang.LoadOptions{Dir: t.TempDir(), Schemas: map[string]offer.Schema{"local": {Type: "local"}}})
	if ds.HasErrors() {
		t.Fatal(ds.Err())
	}
	out := map[string]*Phase{}
	for _, p := range c.Phases {
		out[p.Name] = &Phase{Phase: p, Starts: func(int) bool { return true }, Place: make([]uint16, p.Len())}
	}
	return out
}

// goes sends all cells of a phase to places, in turn.
func (p *Phase) goes(backends ...string) {
	p.Placements = make([]place.Decision, 1, 1+len(backends))
	for _, b := range backends {
		name, pool, _ := strings.Cut(b, "/")
		p.Placements = append(p.Placements, place.Decision{Backend: name, Pool: pool})
	}
	for i := range p.Place {
		p.Place[i] = uint16(1 + i%len(backends))
	}
}

// done says that a phase's jobs ended on a backend, with files of 10 bytes.
func (p *Phase) done(backend string, copies ...state.Copy) {
	p.goes("local.local")
	p.Starts = func(int) bool { return false }
	name, pool, _ := strings.Cut(backend, "/")
	for range p.Place {
		p.Records = append(p.Records, &state.Job{Status: state.Completed, Attempts: []state.Attempt{{Backend: name, Pool: pool}},
			Outputs: []state.Output{{Name: "o", Backend: name, Size: 10, Copies: copies}}})
	}
}

func TestTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(a, to *Phase)
		to   string
		want string
	}{
		"all on one machine":           {func(a, to *Phase) { a.goes("local.local"); to.goes("local.other") }, "b", ""},
		"files not made yet":           {func(a, to *Phase) { a.goes("slurm.x/p"); to.goes("ssh.lab/h") }, "b", "slurm.x → ssh.lab/h 3 files -1 bytes after a push"},
		"back to this machine":         {func(a, to *Phase) { a.goes("slurm.x/p"); to.goes("local.local") }, "b", "slurm.x → local.local 3 files -1 bytes after a pull"},
		"files that lie there":         {func(a, to *Phase) { a.done("slurm.x/p"); to.goes("local.local") }, "b", "slurm.x → local.local 3 files 30 bytes pull"},
		"a list, each file once":       {func(a, to *Phase) { a.done("slurm.x/p"); to.goes("local.local") }, "c", "slurm.x → local.local 3 files 30 bytes pull"},
		"a verified copy is there":     {func(a, to *Phase) { a.done("slurm.x/p", state.Copy{Backend: "ssh.lab/h"}); to.goes("ssh.lab/h") }, "b", ""},
		"a copy elsewhere is no help":  {func(a, to *Phase) { a.done("slurm.x/p", state.Copy{Backend: "ssh.lab/k"}); to.goes("ssh.lab/h") }, "b", "slurm.x → ssh.lab/h 3 files 30 bytes push"},
		"each host that reads them":    {func(a, to *Phase) { a.done("slurm.x/p"); to.goes("ssh.lab/h", "ssh.lab/k") }, "b", "slurm.x → ssh.lab/h 3 files 30 bytes push; slurm.x → ssh.lab/k 3 files 30 bytes push"},
		"the host that made them":      {func(a, to *Phase) { a.done("ssh.lab/h"); to.goes("ssh.lab/h") }, "b", ""},
		"another host of that backend": {func(a, to *Phase) { a.done("ssh.lab/h"); to.goes("ssh.lab/k") }, "b", "ssh.lab/h → ssh.lab/k 3 files 30 bytes push"},
		"nothing starts": {func(a, to *Phase) {
			a.done("slurm.x/p")
			to.goes("local.local")
			to.Starts = func(int) bool { return false }
		}, "b", ""},
		"only what starts reads": {func(a, to *Phase) {
			a.done("slurm.x/p")
			to.goes("local.local")
			to.Starts = func(i int) bool { return to.Key(i) == "n=2,rep=1" }
		}, "b", "slurm.x → local.local 1 files 10 bytes pull"},
		"a producer that runs": {func(a, to *Phase) {
			a.done("slurm.x/p")
			a.Records[1].Status = state.Running
			to.goes("local.local")
		}, "b", "slurm.x → local.local 3 files -1 bytes after a pull"},
		"nowhere to go": {func(a, to *Phase) { a.done("slurm.x/p"); to.goes("") }, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			phases := fed(t)
			a, to := phases["a"], phases[c.to]
			c.edit(a, to)
			filesystems := NewFilesystems([]offer.Pool{
				{Backend: "ssh.lab", Name: "h", Filesystem: "h"}, {Backend: "ssh.lab", Name: "k", Filesystem: "k"},
				{Backend: "slurm.x", Name: "p"}, {Backend: "local.local"},
			}, nil)
			var got []string
			for _, row := range Of(filesystems, to, a, to.Inputs[0]) {
				from, where := row.Ends()
				text := fmt.Sprintf("%s → %s %d files %d bytes", from, where, row.Files, row.Bytes)
				if row.After != "" {
					text += " after " + row.After
				}
				if !slices.IsSorted(row.Cells) || row.Input != "i" || row.Output != "o" || row.Phase != c.to {
					t.Errorf("%+v", row)
				}
				got = append(got, text+map[bool]string{true: " push", false: " pull"}[row.Push])
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

package site

import (
	"path"
	"path/filepath"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/state"
)

// Last is where a job ran last, or else its first candidate. Nobody is asked,
// so a place of many pools has none here.
func Last(c *lang.Campaign, st *state.State, p *lang.Phase, cell int) lang.Target {
	s := lang.Target{Backend: "local.local"}
	if len(p.Candidates) > 0 {
		s.Backend = p.Candidates[0]
	}
	if j := st.Job(p.Address(cell)); j != nil && j.Last() != nil {
		s.Backend, s.Pool = j.Last().Backend, j.Last().Pool
	}
	for _, b := range c.Backends {
		if b.Address() == s.Backend {
			s.Workdir = b.Workdir
		}
	}
	if s.Workdir == "" || !path.IsAbs(s.Workdir) && s.Workdir[0] != '~' {
		s.Workdir = filepath.ToSlash(filepath.Join(c.Dir, s.Workdir))
	}
	s.Spool = path.Join(s.Workdir, ".muster", "lists")
	if r := p.RequestOf(cell, lang.Run); r < len(p.Requests(lang.Run)) {
		shape := p.Requests(lang.Run)[r].Shape
		s.GPUs, s.CPUs = shape.GPUs, shape.CPUs
	}
	s.Input = func(name string) []string { return inputFiles(p, cell, name, s.Workdir) }
	return s
}

// inputFiles are the declared paths of an input's files.
func inputFiles(p *lang.Phase, cell int, name, workdir string) (out []string) {
	for _, in := range p.Raw {
		if in.Name == name {
			return []string{in.Path(cell)}
		}
	}
	for _, in := range p.Inputs {
		if in.Name != name {
			continue
		}
		for _, m := range in.Members(in.GroupOf(cell)) {
			file := in.From.OutputPath(m, in.Output, lang.Run)
			if !path.IsAbs(file) && file != "" && file[0] != '~' {
				file = path.Join(workdir, file)
			}
			out = append(out, file)
		}
	}
	return out
}

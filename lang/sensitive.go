package lang

import "github.com/muster-run/muster/lang/expr"

// SensitiveParts are the parts of a job that read a sensitive variable.
type SensitiveParts struct {
	Command, Setup bool
	Env            []string // names of variables
}

// SensitiveIn says which parts of a phase's jobs hold sensitive values.
func (p *Phase) SensitiveIn(v Variant) (s SensitiveParts) {
	f := p.job.form[v]
	holds := func(t *expr.Template) bool { return t != nil && len(t.Sensitive()) > 0 }
	s.Command, s.Setup = holds(f.command), holds(f.of("setup"))
	for _, t := range f.argv {
		s.Command = s.Command || holds(t)
	}
	for _, e := range f.env {
		if holds(e.t) {
			s.Env = append(s.Env, e.name)
		}
	}
	return s
}

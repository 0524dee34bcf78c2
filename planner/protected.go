package planner

// Protected names the phases that are guarded now, for the state to remember.
func (p *Plan) Protected() []string {
	var out []string
	for _, pp := range p.Phases {
		if pp.Phase.Lifecycle.PreventRerun {
			out = append(out, pp.Phase.Name)
		}
	}
	return out
}

// Unprotected names the phases whose guard is disarmed: prevent_rerun = false
// is written.
func (p *Plan) Unprotected() []string {
	var out []string
	for _, pp := range p.Phases {
		if l := pp.Phase.Lifecycle; l.PreventRerunSet && !l.PreventRerun {
			out = append(out, pp.Phase.Name)
		}
	}
	return out
}

// Moved names the new phase of each record that moves, by its former address.
func (p *Plan) Moved() map[string]string {
	var out map[string]string
	for _, pp := range p.Phases {
		for _, d := range pp.Details {
			if d.From == "" {
				continue
			}
			if out == nil {
				out = map[string]string{}
			}
			out[d.From] = pp.Phase.Name
		}
	}
	return out
}

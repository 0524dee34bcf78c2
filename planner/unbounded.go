package planner

// Unbounded names the phases whose jobs start without a walltime, so that nothing bounds them.
func (p *Plan) Unbounded() []string {
	var out []string
	for _, pp := range p.Phases {
		seen := false
		for i, k := range pp.Kind {
			if seen = k.Starts() && pp.Decision(i).Backend != "" && pp.Decision(i).Shape.Walltime == 0; seen {
				break
			}
		}
		if seen {
			out = append(out, "phase."+pp.Phase.Name)
		}
	}
	return out
}

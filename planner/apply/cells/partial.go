package cells

// GoOn lets cells go on without producers that gave up: of inputs that require only
// some, once no producer of the group may still be done by itself and enough are. It
// reports whether it freed any.
func GoOn(all []*Vertex, gaveUp func(n *Vertex, cell int32) bool, freed func(*Vertex, int32)) bool {
	var ended [][]bool
	opened := false
	for _, n := range all {
		for _, j := range n.Reads {
			if !j.In.Partial() {
				continue
			}
			for g, need := range j.Need {
				if need == 0 || !j.mayGoOn(g) {
					continue
				}
				if ended == nil {
					ended = stuck(all, gaveUp)
				}
				if !j.settled(g, ended[j.From.Ord]) {
					continue
				}
				opened = true
				for _, c := range j.open(g, func(m int) bool { return j.From.At[m].Satisfied() }) {
					n.release(c, freed)
				}
			}
		}
	}
	return opened
}

// mayGoOn reports whether enough producers of a group are done and none is under way:
// a look that costs little, before one at all phases.
func (j *Join) mayGoOn(g int) bool {
	members, done := j.In.Members(g), 0
	for _, m := range members {
		switch s := j.From.At[m]; {
		case s.Satisfied():
			done++
		case s.InFlight(), s == Waiting, s == Checking, s == Skipped:
			return false
		}
	}
	return done >= j.In.Required(len(members))
}

// settled reports whether every producer of a group is done or will not be.
func (j *Join) settled(g int, ended []bool) bool {
	for _, m := range j.In.Members(g) {
		if !j.From.At[m].Satisfied() && (ended == nil || !ended[m]) {
			return false
		}
	}
	return true
}

// without counts, by group, the producers that are marked.
func (j *Join) without(marked []bool) map[int]int {
	var out map[int]int
	for m, bad := range marked {
		if g := j.Group[m]; bad && g >= 0 {
			if out == nil {
				out = map[int]int{}
			}
			out[int(g)]++
		}
	}
	return out
}

package grid

// Joined says for each cell of a consumer which cells of a producer feed it.
// Consumers with the same producers share a group, so that a list of a
// thousand files is held once.
type Joined struct {
	on     []string   // producer axes matched, by name
	by     Projection // of the consumer, when every matched axis is one of its own
	groups []int32    // per combination of by, or per cell; -1: no producer
	cells  bool       // groups is per cell
	n      int
	start  []int32 // members[start[g]:start[g+1]]
	member []int
	none   bool // some cell may have no producer: it is in the last group
}

// Join finds the producers of each consumer cell: those whose values on the
// matched axes have the consumer's texts. An axis of the producer is matched
// by match[axis], the text wanted by a consumer cell, else by the consumer's
// axis of the same name, else not at all. Time and memory are linear in cells.
func Join(consumer, producer *Grid, match map[string]func(i int) string) *Joined {
	j := &Joined{}
	var mine, theirs []int
	for a, axis := range producer.Axes {
		own := consumer.AxisIndex(axis.Name)
		if match[axis.Name] != nil {
			j.cells, own = true, -1
		} else if own < 0 {
			continue
		}
		j.on = append(j.on, axis.Name)
		mine, theirs = append(mine, own), append(theirs, a)
	}
	p := producer.Project(theirs)
	f := finder{consumer: consumer, producer: producer, proj: &p, mine: mine, theirs: theirs, match: match, coord: make([]int, len(theirs)), texts: make([]map[string]int, len(theirs))}
	f.translate()
	j.bucket(&p, producer.Len())
	if j.cells {
		j.groups = make([]int32, consumer.Len())
		for i := range j.groups {
			j.groups[i] = f.group(i)
		}
	} else {
		j.by = consumer.Project(mine)
		j.groups = make([]int32, j.by.Len())
		for c := range j.groups {
			j.groups[c] = f.group(j.by.First(c))
		}
	}
	j.settle()
	return j
}

// bucket lists the producer's cells by combination, by counting.
func (j *Joined) bucket(p *Projection, cells int) {
	j.n = p.Len()
	j.start = make([]int32, j.n+1)
	for i := range cells {
		j.start[p.Of(i)+1]++
	}
	for g := range j.n {
		j.start[g+1] += j.start[g]
	}
	next := append([]int32(nil), j.start...)
	j.member = make([]int, cells)
	for i := range cells {
		g := p.Of(i)
		j.member[next[g]] = i
		next[g]++
	}
}

// settle gives cells without a producer a group of their own, without members.
func (j *Joined) settle() {
	for k, g := range j.groups {
		if g < 0 {
			j.groups[k] = int32(j.n)
			j.none = true
		}
	}
	if j.none {
		j.n++
		j.start = append(j.start, j.start[len(j.start)-1])
	}
}

// On lists the producer's axes that were matched, by name.
func (j *Joined) On() []string { return j.on }

// Groups is the number of groups; some may have no consumer.
func (j *Joined) Groups() int { return j.n }

// GroupOf is the group of consumer cell i.
func (j *Joined) GroupOf(i int) int {
	if j.cells {
		return int(j.groups[i])
	}
	return int(j.groups[j.by.Of(i)])
}

// Members are the producer's cells of a group, ascending. The slice is shared.
func (j *Joined) Members(g int) []int { return j.member[j.start[g]:j.start[g+1]:j.start[g+1]] }

// finder maps a consumer cell to a combination of the producer.
type finder struct {
	consumer, producer *Grid
	proj               *Projection
	mine, theirs       []int // consumer axis (-1: by match) and producer axis
	match              map[string]func(i int) string
	same               [][]int          // consumer's value index to the producer's, -1 for none
	texts              []map[string]int // for mapped axes: text to the producer's value index
	coord              []int
}

func (f *finder) translate() {
	f.same = make([][]int, len(f.mine))
	for k, a := range f.mine {
		if a < 0 {
			f.texts[k] = map[string]int{}
			for v, val := range f.producer.Axes[f.theirs[k]].Values {
				f.texts[k][val.Text] = v
			}
			continue
		}
		values := f.consumer.Axes[a].Values
		f.same[k] = make([]int, len(values))
		for v := range values {
			f.same[k][v] = -1
			if w, ok := f.producer.valueIndex(f.theirs[k], values[v].Text); ok {
				f.same[k][v] = w
			}
		}
	}
}

func (f *finder) group(i int) int32 {
	for k, a := range f.mine {
		v, ok := 0, true
		if a >= 0 {
			v = f.same[k][f.consumer.Coord(i, a)]
			ok = v >= 0
		} else {
			v, ok = f.texts[k][f.match[f.producer.Axes[f.theirs[k]].Name](i)]
		}
		if !ok {
			return -1
		}
		f.coord[k] = v
	}
	if c, ok := f.proj.Find(f.coord); ok {
		return int32(c)
	}
	return -1
}

// MixedTypes names the axes of both grids on which one value is a number here
// and a text there. They match, since matching is by text, but the campaign
// most likely means one type.
func MixedTypes(a, b *Grid) []string {
	var mixed []string
	for x := range a.Axes {
		y := b.AxisIndex(a.Axes[x].Name)
		if y < 0 {
			continue
		}
		for _, v := range a.Axes[x].Values {
			if w, ok := b.valueIndex(y, v.Text); ok && v.IsNum != b.Axes[y].Values[w].IsNum {
				mixed = append(mixed, a.Axes[x].Name)
				break
			}
		}
	}
	return mixed
}

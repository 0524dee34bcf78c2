package forecast

import (
	"slices"
	"time"
)

// build makes the nodes of a simulation at one quantile.
func build(in *Input, p90 bool) *sim {
	s := &sim{pools: map[string]*capacity{}, caps: map[string]*int64{}}
	s.caps[""] = limit(in.CampaignCap)
	for name, n := range in.BackendCaps {
		if n > 0 {
			s.caps[name] = limit(n)
		}
	}
	for _, p := range in.Pools {
		c := poolCapacity(p)
		s.pools[poolKey(p.Backend, p.Name)] = &c
	}
	runs := map[string]int{} // phase → its run node
	for i := range in.Phases {
		s.addPhase(&in.Phases[i], p90, runs)
	}
	return s
}

func limit(n int) *int64 {
	v := int64(unlimited)
	if n > 0 {
		v = int64(n)
	}
	return &v
}

func poolKey(backend, pool string) string { return backend + "\x00" + pool }

// addPhase adds a phase's smokes and runs, the gates between them, and the
// edges from its producers.
func (s *sim) addPhase(p *Phase, p90 bool, runs map[string]int) {
	smoke := -1
	if len(p.Smoke) > 0 {
		smoke = s.add(s.smokeNode(p, p90))
	}
	n := &node{phase: p.Phase.Name, of: p.Of, pending: make([]int32, len(p.Of)), cap: *limit(p.Cap)}
	for _, g := range p.Groups {
		n.groups = append(n.groups, s.run(g, p90))
	}
	run := s.add(n)
	runs[p.Phase.Name] = run
	s.connect(p, run, allCells(len(p.Of)), runs)
	if smoke >= 0 {
		s.connect(p, smoke, toInt32(p.Smoke), runs)
	}
	s.gate(p, smoke, run)
}

func (s *sim) smokeNode(p *Phase, p90 bool) *node {
	n := &node{phase: p.Phase.Name, of: make([]uint16, len(p.Smoke)), pending: make([]int32, len(p.Smoke)), cap: 1}
	for i := range n.of {
		n.of[i] = 1
	}
	if p.Parallel {
		n.cap = unlimited
	}
	n.groups = []run{{}, s.run(p.SmokeJob, p90)}
	return n
}

func (s *sim) add(n *node) int {
	n.cause = make([]int16, len(n.of))
	n.ready = make([]fifo, len(n.groups))
	s.nodes = append(s.nodes, n)
	return len(s.nodes) - 1
}

// run turns a group into what the simulation needs of it.
func (s *sim) run(g Group, p90 bool) run {
	d := g.Decision
	key := poolKey(d.Backend, d.Pool)
	if s.pools[key] == nil {
		s.pools[key] = &capacity{unlimited, unlimited, unlimited, unlimited}
	}
	return run{pool: key, backend: d.Backend, need: need(d), wait: max(d.Wait, 0) * time.Duration(max(d.Segments, 1)), dur: g.duration(p90)}
}

// duration is a job's time from its start to its end, retries included.
func (g Group) duration(p90 bool) time.Duration {
	d := g.Runtime.Expected
	if p90 {
		d = g.Runtime.P90
	}
	d = max(d-g.Running, 0)
	if f := min(g.Failing, 0.9); f > 0 && g.Launches > 1 {
		again := min(f/(1-f), float64(g.Launches-1))
		d += time.Duration(again * float64(d+g.Delay))
	}
	return d
}

// connect adds the edges of a phase's inputs and depends_on to one node.
func (s *sim) connect(p *Phase, to int, cells []int32, runs map[string]int) {
	n := s.nodes[to]
	for _, in := range p.Phase.Inputs {
		from, ok := runs[in.From.Name]
		if !ok {
			continue
		}
		if e := newEdge(in, to, cells, s.nodes[from].of, n.pending); e != nil {
			s.nodes[from].edges = append(s.nodes[from].edges, e)
		}
	}
	for _, name := range p.Phase.DependsOn {
		if from, ok := runs[name]; ok {
			s.barrier(from, working(s.nodes[from].of), nil, to, nil)
		}
	}
}

// gate shuts a phase behind its smokes, and then behind its pilots.
func (s *sim) gate(p *Phase, smoke, run int) {
	pilots := toInt32(p.Pilot)
	if smoke >= 0 {
		s.barrier(smoke, len(p.Smoke), nil, run, first(pilots))
	}
	if len(pilots) == 0 {
		return
	}
	only := map[int32]bool{}
	for _, c := range pilots {
		only[c] = true
	}
	rest := slices.DeleteFunc(allCells(len(p.Of)), func(c int32) bool { return only[c] })
	if len(rest) > 0 {
		s.barrier(run, len(pilots), only, run, rest)
	}
}

// first is what the smokes release: the pilots, or everything (nil).
func first(pilots []int32) []int32 {
	if len(pilots) == 0 {
		return nil
	}
	return pilots
}

func (s *sim) barrier(from, count int, only map[int32]bool, to int, release []int32) {
	if count == 0 {
		return
	}
	s.nodes[from].ends = append(s.nodes[from].ends, &barrier{left: count, only: only, target: to, release: release})
	if release == nil {
		for c := range s.nodes[to].pending {
			s.nodes[to].pending[c]++
		}
	}
	for _, c := range release {
		s.nodes[to].pending[c]++
	}
}

// working counts the cells that have something to do.
func working(of []uint16) int {
	n := 0
	for _, g := range of {
		if g != 0 {
			n++
		}
	}
	return n
}

func allCells(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func toInt32(in []int) []int32 {
	out := make([]int32, len(in))
	for i, c := range in {
		out[i] = int32(c)
	}
	return out
}

package place

import (
	"fmt"
	"strings"
)

// beside are decisions for the other hosts of the winner's backend, where its
// jobs are spread over them: they fit, cost the same and have a queue each.
// The hosts are in the order of their names, the winner's in its place.
func (in Input) beside(d Decision, g Group, best option, order ranking, fits, options []option) []Decision {
	if g.Smoke || !in.spreads(best.pool.Backend) {
		return nil
	}
	var out []Decision
	for _, o := range fits {
		if o.pool.Backend != best.pool.Backend || o.segments != best.segments || byCost(o, best) != 0 {
			continue
		}
		s := d
		if o.pool.Name != best.pool.Name {
			s.Pool, s.GPUClass, s.Price, s.WholeNode, s.Wait, s.Waited, s.Boot, s.Hold = o.pool.Name, in.gpuClass(g.Shape, o.pool), o.price, o.pool.WholeNode, o.wait, o.waited, o.boot, o.hold
		}
		s.Candidates = list(options, &o, order)
		out = append(out, s)
	}
	if len(out) < 2 {
		return nil
	}
	for i := range out {
		out[i].Why = fmt.Sprintf("%s; its %d hosts share the jobs by expected time", d.Why, len(out))
		for k := range out[i].Candidates {
			if c := &out[i].Candidates[k]; c.Fits && !c.Won && c.Backend == d.Backend {
				c.Why = "takes its own share of the jobs"
			}
		}
	}
	return out
}

// spreads reports whether the pools of a backend are hosts with a queue each,
// rather than the queues of one scheduler.
func (in Input) spreads(backend string) bool {
	typ, _, _ := strings.Cut(backend, ".")
	return in.Can[typ].HostQueue
}

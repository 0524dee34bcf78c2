package advice

import (
	"fmt"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// smaller finds jobs whose devices are several times as large as their use.
func (a *adviser) smaller(g *group) []Proposal {
	var out []Proposal
	for _, c := range g.classes(askedDevice) {
		used := measures(c.launches, usedDevice)
		if len(used) < enough || most(used) <= 0 || len(failed(c.launches, oomGPU)) > 0 {
			continue
		}
		if c.asked > offBy*most(used) {
			out = append(out, a.lessDevice(c, used)...)
			continue
		}
		out = append(out, a.otherDevice(c, used)...)
	}
	return out
}

// lessDevice lowers the requested memory of a device, which lets jobs go to smaller ones.
func (a *adviser) lessDevice(c *class, used []float64) []Proposal {
	value := sizeLike(most(used)*aboveUse, a.sizeText(c.group, "gpu.memory", c.asked))
	size, err := units.ParseSize(value)
	if err != nil || float64(size) >= c.asked {
		return nil
	}
	p := Proposal{Phase: c.phase.Name, Kind: "gpus", Title: "Ask for GPUs with less memory", Jobs: c.who(), Edit: a.asked(c.group, "gpu.memory", quoted(value)), Margin: memoryMargin,
		Why: fmt.Sprintf("%s requested for each GPU, but the most that any of %s had on one was %s.", units.FormatSize(int64(c.asked)), count(len(used), "measured launch", "measured launches"), units.FormatSize(int64(most(used))))}
	if here, there, ok := a.smallerPool(c, float64(size)); ok {
		p.Why += fmt.Sprintf(" %s of %s has GPUs of %s.", where(there), there.Backend, units.FormatSize(there.GPUMem))
		p.Saves = a.sparedOn(c, func(s offer.Shape) offer.Shape { s.GPU.Memory = size; return s }, instead(here, there))
	}
	return []Proposal{p}
}

// otherDevice names a cheaper pool with smaller devices to jobs that ask for no
// more than they used, and were put on larger ones.
func (a *adviser) otherDevice(c *class, used []float64) []Proposal {
	here, there, ok := a.smallerPool(c, max(most(used)*aboveUse, c.asked))
	if !ok || float64(here.GPUMem) <= offBy*most(used) {
		return nil
	}
	return []Proposal{{Phase: c.phase.Name, Kind: "place", Title: "Move to smaller GPUs", Jobs: c.who(), Edit: a.moveTo(c.phase, here, there),
		Why: fmt.Sprintf("The most that any of %s had on one GPU was %s of %s; those of %s of %s have %s.", count(len(used), "measured launch", "measured launches"),
			units.FormatSize(int64(most(used))), units.FormatSize(here.GPUMem), where(there), there.Backend, units.FormatSize(there.GPUMem)),
		Margin: "the saving assumes that jobs take no longer there: a GPU with less memory may be slower",
		Saves:  a.sparedOn(c, func(s offer.Shape) offer.Shape { return s }, instead(here, there))}}
}

// smallerPool is where a class ran last, and the cheapest pool with smaller
// devices of which each has so many bytes, if that costs less.
func (a *adviser) smallerPool(c *class, bytes float64) (here, there offer.Pool, ok bool) {
	l := c.launches[len(c.launches)-1]
	here = a.pool(l)
	s := c.shape(l.Cell)
	if len(s.GPU.Models) > 0 || here.GPUMem == 0 || !priced(here) {
		return here, there, false // the campaign names the device, or nobody knows its model or cost
	}
	s.GPU.Memory = int64(bytes)
	there, ok = a.cheapest(c.group, here, s, func(p offer.Pool) bool {
		return priced(p) && p.GPUs*max(s.Nodes, 1) >= s.GPUs && p.GPUMem < here.GPUMem && float64(p.GPUMem) >= bytes
	})
	return here, there, ok && cost(s, there).LessThan(cost(s, here))
}

// instead is the pool of a launch, were it not for one that it leaves.
func instead(here, there offer.Pool) func(offer.Pool) offer.Pool {
	return func(p offer.Pool) offer.Pool {
		if p.Backend == here.Backend && p.Name == here.Name {
			return there
		}
		return p
	}
}

func askedDevice(s offer.Shape) float64 { return float64(s.GPU.Memory) }

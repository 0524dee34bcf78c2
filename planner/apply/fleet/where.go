package fleet

import (
	"iter"

	"github.com/muster-run/muster/providers/offer"
)

// Environment is the class that a smoke on a pool stands for: its backend, and
// the family of its GPUs where the job has some.
func (fl *Fleet) Environment(backend, pool string, s offer.Shape) string {
	c := fl.Contacts[backend]
	if c == nil || s.GPUs == 0 {
		return backend
	}
	if p, ok := c.Pools[pool]; ok {
		if family := p.Family(c.Offers); family != "" {
			return backend + "/" + family
		}
	}
	return backend
}

// InUse counts the queues that the run may hand jobs to.
func (fl *Fleet) InUse() int {
	n := 0
	for _, c := range fl.Contacts {
		if c.Splits() {
			n += len(c.Offers)
		} else {
			n++
		}
	}
	return n
}

// Several reports whether jobs that go to pools, each with its backend, go into
// more than one queue.
func (fl *Fleet) Several(pools iter.Seq2[string, string]) bool {
	var only *Backend
	for backend, pool := range pools {
		if fl.Contacts[backend] == nil {
			continue
		}
		b := fl.At(backend, pool)
		if only != nil && only != b {
			return true
		}
		only = b
	}
	return false
}

// Here reports whether the files of a backend's jobs lie on this machine.
func (fl *Fleet) Here(backend string) bool {
	c := fl.Contacts[backend]
	return backend == "local.local" || c != nil && !c.Can.Remote && c.Conf.Type == "local"
}

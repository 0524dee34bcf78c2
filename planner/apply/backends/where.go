package backends

import (
	"iter"
	"slices"

	"github.com/muster-run/muster/planner/apply/connection"
	"github.com/muster-run/muster/planner/apply/staging"
	"github.com/muster-run/muster/providers/offer"
)

// Environment is the class that a smoke on a pool represents: its backend, and
// the family of its GPUs where the job has some.
func (cs *core) Environment(backend, pool string, s offer.Shape) string {
	c := cs.Contacts[backend]
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
func (cs *core) InUse() int {
	n := 0
	for _, c := range cs.Contacts {
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
func (cs *core) Several(pools iter.Seq2[string, string]) bool {
	var only *Backend
	for backend, pool := range pools {
		if cs.Contacts[backend] == nil {
			continue
		}
		b := cs.At(backend, pool)
		if only != nil && only != b {
			return true
		}
		only = b
	}
	return false
}

// Here reports whether the files of a backend's jobs are on this machine.
func (cs *core) Here(backend string) bool {
	c := cs.Contacts[backend]
	return backend == "local.local" || c != nil && !c.Can.Remote && c.Conf.Type == "local"
}

// Places are all that a run knows.
func (cs *core) Places() iter.Seq[*connection.Backend] {
	return func(yield func(*connection.Backend) bool) {
		for _, c := range cs.Contacts {
			if !yield(&c.Backend) {
				return
			}
		}
	}
}

// Endpoint is the queue where jobs of a pool go, for files; nil when the place is
// not in this run.
func (cs *core) Endpoint(name, pool string) *staging.Endpoint {
	if b := cs.At(name, pool); b != nil {
		return b.Endpoint
	}
	return nil
}

// Ask has the place of an endpoint list its pools again.
func (cs *core) Ask(e *staging.Endpoint) { cs.AskPools(cs.Contacts[e.Name]) }

// Lost notes that an endpoint cannot be asked.
func (cs *core) Lost(e *staging.Endpoint, err error) { cs.Unreachable(cs.backendOf(e), err) }

// Answered notes that an endpoint answered.
func (cs *core) Answered(e *staging.Endpoint) { cs.Reachable(cs.backendOf(e)) }

func (cs *core) backendOf(e *staging.Endpoint) *Backend {
	lines := cs.Contacts[e.Name].Lines
	return lines[slices.IndexFunc(lines, func(b *Backend) bool { return b.Endpoint == e })]
}

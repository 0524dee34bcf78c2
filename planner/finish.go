package planner

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"time"
)

// finish counts, notes assumptions and gives the plan its id.
func (m *maker) finish() {
	m.compareRequests()
	m.headBackends()
	m.note()
	m.seal()
}

// seal counts and gives the plan its id.
func (m *maker) seal() {
	m.count()
	m.plan.Diags = m.diags.Once()
	m.plan.Body = m.plan.body()
	m.plan.ID = IDOf(m.plan.Body, m.plan.Now)
}

func (m *maker) count() {
	c := &m.plan.Counts
	for _, w := range m.works {
		var n [kinds]int
		for _, k := range w.pp.Kind {
			n[k]++
		}
		c.addKinds(&n)
		if g := w.pp.Smoke; g != nil && w.pp.Hold == "" {
			c.Smoke += len(g.Run)
		}
	}
	var n [kinds]int
	for _, r := range m.plan.Loose {
		if r.Release {
			c.Release++
		} else if r.Detail.State != nil || r.PerHour == "" {
			n[r.Kind]++
		}
	}
	c.addKinds(&n)
	if max := m.in.Campaign.Policy.MaxCancel; max > 0 && c.Cancel > max {
		m.plan.Asks = append(m.plan.Asks, fmt.Sprintf("it cancels %d jobs, and policy max_cancel is %d", c.Cancel, max))
	}
}

func (c *Counts) addKinds(n *[kinds]int) {
	c.Run += n[Run]
	c.Rerun += n[Rerun] + n[Restart]
	c.Cancel += n[Cancel]
	c.Unchanged += n[None]
	c.Retry += n[Retry]
	c.Resubmit += n[Resubmit]
	c.Continue += n[Continue]
	c.Adopt += n[Adopt]
	c.Move += n[Move]
	c.Accept += n[Accept]
	c.Held += n[HeldKind]
	c.Blocked += n[Blocked]
	c.Unknown += n[UnknownAt]
	c.Missing += n[Missing]
	c.Bytes += n[Bytes]
	c.Forget += n[Forget]
	c.Record += n[Record]
}

// IDOf is the id of a plan that does what body says, made at a time: the same
// plan has the same id.
func IDOf(body string, now time.Time) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", body, now.UnixNano()))
	return hex.EncodeToString(h[:16])
}

// body is taken over what the plan does.
func (p *Plan) body() string {
	h := sha256.New()
	fmt.Fprintf(h, "muster plan 2\n%s\n%s\n%s\n%d\n%t\n", p.Campaign, p.Digest, p.Lineage, p.Serial, p.Destroy)
	for _, pp := range p.Phases {
		pp.digest(h)
	}
	for _, r := range p.Loose {
		fmt.Fprintf(h, "%d %s %s %t\n", r.Kind, r.Address, r.Backend, r.Release)
	}
	for _, t := range p.Transfers {
		from, to := t.Ends()
		fmt.Fprintf(h, "%s %s %s %s %d %d\n", t.Phase, t.Input, from, to, t.Files, t.Bytes)
	}
	for _, d := range p.Deletions {
		fmt.Fprintf(h, "delete %s %s %s %s\n", d.Address, d.Output, d.Backend, d.Path)
	}
	for _, unit := range slices.Sorted(maps.Keys(p.Ceiling)) {
		fmt.Fprintf(h, "%s %s\n", unit, p.Ceiling[unit])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (pp *PhasePlan) digest(h hash.Hash) {
	fmt.Fprintf(h, "phase %s %d %s %s\n", pp.Phase.Name, len(pp.Kind), pp.Hold, pp.Source.Digest)
	const chunk = 4096 // cells hashed at a time
	buf := make([]byte, 0, chunk*19)
	for i, k := range pp.Kind {
		buf = append(buf, byte(k))
		buf = append(buf, pp.Result[i][:]...)
		buf = binary.LittleEndian.AppendUint16(buf, pp.Place[i])
		if len(buf) == cap(buf) {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	for _, d := range pp.Placements {
		fmt.Fprintf(h, "%s %s %v %d\n", d.Backend, d.Pool, d.Price, d.Segments)
	}
	if g := pp.Smoke; g != nil {
		fmt.Fprintf(h, "smoke %v %v %v %s %s\n", g.Run, g.Passed, g.Failed, g.Place.Backend, g.Place.Pool)
	}
	fmt.Fprintf(h, "pilot %v\n", pp.Pilot)
}

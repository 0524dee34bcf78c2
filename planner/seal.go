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

// Seal closes a plan that is complete: it is counted, and gets its id.
func (p *Plan) Seal() {
	p.count()
	p.Body = p.body()
	p.ID = idOf(p.Body, p.Now)
}

// idOf is the id of a plan with this body, made at a time: the same plan has
// the same id.
func idOf(body string, now time.Time) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", body, now.UnixNano()))
	return hex.EncodeToString(h[:16])
}

// body is a digest of the plan's actions.
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
	for r, all := range pp.After {
		for _, a := range all {
			fmt.Fprintf(h, "after %d %s %s %s %v %d\n", r, a.Class, a.To.Backend, a.To.Pool, a.To.Price, a.To.Segments)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(pp.Details)) {
		if d := pp.Details[i]; d.At != "" {
			for _, o := range d.Seen {
				fmt.Fprintf(h, "adopt %d %s %s %d %d %d %d\n", i, d.At, o.Path, o.Size, o.MTime, o.Inode, o.Files)
			}
		}
		for _, o := range pp.Details[i].Foreign {
			fmt.Fprintf(h, "replace %d %s %d %d %d %d\n", i, o.Path, o.Size, o.MTime, o.Inode, o.Files)
		}
	}
	if g := pp.Smoke; g != nil {
		fmt.Fprintf(h, "smoke %v %v %v %s %s\n", g.Launches(), g.Passed, g.Failed, g.Place.Backend, g.Place.Pool)
	}
	fmt.Fprintf(h, "pilot %v\n", pp.Pilot)
}

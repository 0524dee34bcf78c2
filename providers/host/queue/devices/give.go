package devices

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// A Demand is the devices that a job asks for.
type Demand struct {
	Place machine.Tenant
	Shape offer.Shape
	Avoid []string // devices that failed it
}

// A Grant is devices given to a job, with the locks that the job inherits.
type Grant struct {
	Names []string
	Locks []*os.File
}

func (g Grant) giveBack() {
	for _, f := range g.Locks {
		f.Close()
	}
}

// A Shortage is why a job gets nothing now.
type Shortage struct {
	Why     string // "" = it does
	Ours    bool   // jobs of ours hold the devices it needs
	Foreign bool   // it is about something that muster does not steer
}

// A view is the devices that suit a job, by the obstacle to their use.
type view struct {
	good []gpu.Device
	busy []string // why each device in use by others is not available
	own  []string // names of the devices of our jobs
}

// Give gives a job its devices, all or none, or says why it must wait. Only a
// reading that is Fresh says which are free.
func (r *Allocator) Give(a Demand) (Grant, Shortage) {
	if r.err != nil {
		return Grant{}, Shortage{Why: "the GPUs cannot be read: " + r.err.Error(), Foreign: true}
	}
	v, n := r.viewOf(a), a.Shape.GPUs
	if others := r.betterThere(a, v); others != "" {
		return Grant{}, Shortage{Why: others, Ours: true}
	}
	slices.SortStableFunc(v.good, func(x, y gpu.Device) int { return rank(a.failed(x.ID())) - rank(a.failed(y.ID())) })
	var lost []string
	if len(v.good) >= n { // else locking them would only disturb others
		var got Grant
		if got, lost = r.lock(v.good, n); len(got.Names) == n {
			return got, Shortage{}
		}
		got.giveBack()
	}
	return Grant{}, r.shortOf(a, v, lost)
}

func (r *Allocator) viewOf(a Demand) (v view) {
	for _, d := range r.list {
		switch {
		case !a.Place.MayUse(d) || d.Lacks(a.Shape.GPU, a.Shape.GPUs) != "":
		case r.holds(d.ID()):
			v.own = append(v.own, d.ID())
		case d.Busy(a.Place.FreeMax()) != "":
			v.busy = append(v.busy, d.Busy(a.Place.FreeMax()))
		default:
			v.good = append(v.good, d)
		}
	}
	return v
}

func (a Demand) failed(device string) bool { return slices.Contains(a.Avoid, device) }

// betterThere says why a job waits that could run again on a device on which it failed: it
// waits for another device, even until one of our jobs ends.
func (r *Allocator) betterThere(a Demand, v view) string {
	n, others, soon := a.Shape.GPUs, 0, 0
	for _, d := range v.good {
		others += rank(!a.failed(d.ID()))
	}
	for _, id := range v.own {
		soon += rank(!a.failed(id))
	}
	if len(v.good) < n || others >= n || others+soon < n {
		return ""
	}
	return fmt.Sprintf("it failed on GPU %s; %s", strings.Join(a.Avoid, ", "), strings.Join(r.ours(a, v.own), "; "))
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// shortOf is why the devices of a view are too few; others have just taken those in lost.
func (r *Allocator) shortOf(a Demand, v view, lost []string) Shortage {
	asked := a.Shape.GPUs
	if n := len(v.good) + len(v.busy) + len(v.own); n < asked {
		return Shortage{Why: fmt.Sprintf("this machine has %d GPUs that suit, and the job asks for %d", n, asked), Foreign: true}
	}
	free := len(v.good) - len(lost)
	why := append(v.busy, lost...)
	w := Shortage{Foreign: len(why) > 0, Ours: free+len(v.own) >= asked} // then only our own jobs keep it waiting
	if len(v.own) > 0 {                                                  // last: lines are cut, and the others are news
		why = append(why, r.ours(a, v.own)...)
	}
	if w.Why = strings.Join(why, "; "); asked > 1 {
		w.Why = fmt.Sprintf("%d of %d GPUs are free; %s", free, asked, w.Why)
	}
	return w
}

// ours says whose jobs run on devices that this queue has given out: those of
// the campaign that asks, then each other of this user by name.
func (r *Allocator) ours(a Demand, devices []string) (why []string) {
	by := map[string][]string{}
	for _, d := range devices {
		name := ""
		if p := r.held[d]; p.Lineage != a.Place.Lineage {
			name = p.Campaign
		}
		by[name] = append(by[name], d)
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		whose := "our own jobs run"
		if name != "" {
			whose = fmt.Sprintf("your campaign %q runs", name)
		}
		why = append(why, whose+" on GPU "+strings.Join(by[name], ", "))
	}
	return why
}

// lock takes n of the devices machine-wide; a user whose queue we do not see
// may have been quicker.
func (r *Allocator) lock(from []gpu.Device, n int) (got Grant, lost []string) {
	for _, d := range from {
		if len(got.Names) == n {
			break
		}
		f, err := gpu.Lock(d.UUID)
		switch {
		case errors.Is(err, gpu.ErrHeld):
			lost = append(lost, "GPU "+d.ID()+" is held by another muster on this machine"+r.holderOf(d.UUID))
		case err != nil:
			lost = append(lost, err.Error())
		default:
			got.Names, got.Locks = append(got.Names, d.ID()), append(got.Locks, f)
			delete(r.holders, d.UUID)
		}
	}
	return got, lost
}

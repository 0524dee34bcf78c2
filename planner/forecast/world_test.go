package forecast

import (
	"slices"
	"testing"
	"time"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// A table is a join given outright: the producers of each consumer cell.
type table [][]int

func (t table) Groups() int             { return len(t) }
func (t table) GroupOf(cell int) int    { return cell }
func (t table) Members(group int) []int { return t[group] }

// oneToOne joins cell i to cell i.
type oneToOne struct{ cells []int }

func newOneToOne(n int) oneToOne {
	j := oneToOne{make([]int, n)}
	for i := range j.cells {
		j.cells[i] = i
	}
	return j
}

func (j oneToOne) Groups() int          { return len(j.cells) }
func (j oneToOne) GroupOf(cell int) int { return cell }
func (j oneToOne) Members(g int) []int  { return j.cells[g : g+1] }

// everything joins each cell to all cells.
type everything struct{ cells []int }

func (j everything) Groups() int       { return 1 }
func (j everything) GroupOf(int) int   { return 0 }
func (j everything) Members(int) []int { return j.cells }
func newEverything(n int) everything   { return everything(newOneToOne(n)) }
func minutes(n float64) time.Duration  { return time.Duration(n * float64(time.Minute)) }
func known(d time.Duration) Runtime    { return Runtime{Expected: d, P90: 2 * d, Ceiling: 2 * d} }
func machine(slots int) offer.Pool {
	return offer.Pool{Backend: "local.local", Kind: offer.MachinePool, Word: "machine", CPUs: slots, Idle: slots, Total: slots, Wait: 0, Price: offer.Price{Known: true}}
}

// submits is a pool that takes so many of our jobs at a time, queued or running.
func submits(p offer.Pool, n int) offer.Pool { p.MaxSubmit = n; return p }

// runs is a pool that runs so many of our jobs at a time.
func runs(p offer.Pool, n int) offer.Pool { p.MaxJobs = n; return p }

// held are jobs with limits of their own.
func held(l offer.Limits) func(*Phase) {
	return func(p *Phase) { p.Groups[1].Decision.Limits = l }
}

// onMachine is a group of one-core jobs on the machine.
func onMachine(d time.Duration) Group {
	return Group{Decision: place.Decision{Backend: "local.local", Shape: offer.Shape{CPUs: 1, Nodes: 1}, Price: offer.Price{Known: true}, Segments: 1}, Runtime: known(d), Launches: 1}
}

// phase is n like jobs of d minutes on the machine.
func phase(name string, n int, d float64, mods ...func(*Phase)) Phase {
	p := Phase{Name: name, Of: slices.Repeat([]uint16{1}, n), Groups: []Group{{}, onMachine(minutes(d))}}
	for _, m := range mods {
		m(&p)
	}
	return p
}

func from(name string, j Join) func(*Phase) {
	return func(p *Phase) { p.Inputs = append(p.Inputs, Edge{From: name, Join: j}) }
}

// partial has the cells go on without producers that never end.
func partial(p *Phase) { p.Inputs[len(p.Inputs)-1].Partial = true }

func after(name string) func(*Phase) {
	return func(p *Phase) { p.DependsOn = append(p.DependsOn, name) }
}

func capped(n int) func(*Phase) { return func(p *Phase) { p.Cap = n } }

func smoke(d float64, cells ...int) func(*Phase) {
	return func(p *Phase) { p.Smoke, p.SmokeJob = cells, onMachine(minutes(d)) }
}

func pilot(cells ...int) func(*Phase) { return func(p *Phase) { p.Pilot = cells } }

func waits(d float64) func(*Phase) {
	return func(p *Phase) { p.Groups[1].Decision.Wait = minutes(d) }
}

// chained has launches last so long, and their successors wait so long.
func chained(launch, again float64) func(*Phase) {
	return func(p *Phase) { p.Groups[1].Launch, p.Groups[1].Again = minutes(launch), minutes(again) }
}

func of(groups ...uint16) func(*Phase) { return func(p *Phase) { p.Of = groups } }

func group(g Group) func(*Phase) { return func(p *Phase) { p.Groups = append(p.Groups, g) } }

// running makes the first group one that is with its backend already.
func running(since float64) func(*Phase) {
	return func(p *Phase) { p.Groups[1].InFlight, p.Groups[1].Running = true, minutes(since) }
}

func inMinutes(t *testing.T, busy []Interval) [][2]float64 {
	t.Helper()
	var out [][2]float64
	for _, iv := range busy {
		out = append(out, [2]float64{iv.From.Minutes(), iv.To.Minutes()})
	}
	return out
}

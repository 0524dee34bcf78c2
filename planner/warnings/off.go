package warnings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/budget"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/planner/unattended"
	"github.com/muster-run/muster/providers/offer"
)

// Work is a phase with jobs that start.
type Work struct {
	*lang.Phase
	Placements []place.Decision
	Place      []uint16        // by cell: which placement; 0 = none
	Starts     func(int) bool  // whether a cell starts
	Starting   map[int]int     // jobs that start, by the index of their placement
	Unplaced   bool            // some of it has nowhere to start
	InFlight   map[int]At      // by cell: where jobs are that a backend has already
	Smokes     int             // to be run before it
	SmokesAt   place.Decision  // where; zero = nowhere
	Smoking    []At            // where smokes are that a backend has already
	Moves      map[string]bool // inputs whose files move between backends
	Open       map[string]bool // inputs that jobs may go on with in part, whose producers have yet to end
}

// An At is where a job is: a backend, and a pool of it.
type At struct{ Backend, Pool string }

// An Off holds the facts that decide which work goes on with muster off.
type Off struct {
	Works       []Work // in the order of the campaign, those with jobs in flight alone, too
	Can         map[string]offer.Capabilities
	Pools       []offer.Pool
	Backends    []*lang.Backend
	MaxParallel int // of the campaign
	Budgets     []budget.Check
}

// noPlaceYet is why jobs wait that fit nowhere, or where nobody can be asked.
const noPlaceYet = "jobs that have no place yet"

// Sentence says what goes on when muster is closed, and why the rest waits, and which
// retries wait; "" where no work has a place. The phases that wait are by name.
func (o Off) Sentence() (text string, waits []string) {
	starting := o.starting()
	if !slices.ContainsFunc(o.Works, Work.starting) {
		return "", nil
	}
	if unattended.Simulated(starting) {
		return "If you close muster now, simulated time stops; it continues with your next `muster apply`.", nil
	}
	goes, rest, waits := o.continues()
	if text = sentence(goes, rest, o.later(waits)); text == "" {
		return "", waits
	}
	return text + o.retries(waits), waits
}

// starting reports whether something of a phase starts, or would if there were a place.
func (w Work) starting() bool { return w.Unplaced || w.Smokes > 0 || len(w.Starting) > 0 }

// starting are the backends on which something starts.
func (o Off) starting() (out []string) {
	for _, w := range o.Works {
		for i := range w.Starting {
			out = append(out, w.Placements[i].Backend)
		}
		if w.Smokes > 0 {
			out = append(out, w.SmokesAt.Backend)
		}
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// retries names the phases, beside those that wait, whose retries need muster: a backend may
// retry nothing by itself, or only jobs that it stopped, and none retries a job that shares
// its node.
func (o Off) retries(waits []string) (text string) {
	var all, most, turns []string
	for _, w := range o.Works {
		if slices.Contains(waits, w.Name) {
			continue
		}
		if w.inTurns() {
			turns = append(turns, "phase."+w.Name)
		}
		if w.Retry.Max < 2 {
			continue
		}
		none, some := false, false
		for i := range w.Starting {
			d := w.Placements[i]
			can := o.can(d.Backend)
			byItself := d.Backend == "" || can.HostQueue || can.Retries
			none = none || d.Shape.Pack > 1 || !byItself && !can.Requeues
			some = some || !byItself
		}
		switch {
		case none:
			all = append(all, "phase."+w.Name)
		case some:
			most = append(most, "phase."+w.Name)
		}
	}
	if len(all) > 0 {
		text = fmt.Sprintf(" Retries of %s wait for your next `muster apply`.", and(all))
	}
	if len(most) > 0 {
		text += fmt.Sprintf(" Retries of %s wait for it, but for jobs that the scheduler itself stops and starts again.", and(most))
		if len(all) == 0 {
			text = strings.Replace(text, "wait for it", "wait for your next `muster apply`", 1)
		}
	}
	if len(turns) > 0 {
		text += fmt.Sprintf(" Jobs of %s that do not begin in their allocation wait for your next `muster apply`.", and(turns))
	}
	return text + o.elsewhere()
}

// inTurns reports whether jobs follow one another in an allocation, which may end before
// the last has begun.
func (w Work) inTurns() bool {
	for i := range w.Starting {
		if w.Placements[i].Shape.Turns() > 1 {
			return true
		}
	}
	return false
}

// elsewhere says after which failures jobs wait for muster to launch them on another
// backend.
func (o Off) elsewhere() (text string) {
	for _, w := range o.Works {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(w.Retry.Place)), func(name string) bool {
			for i := range w.Starting {
				if at := w.Placements[i].Backend; at != "" && !slices.Contains(w.Retry.Place[name], at) {
					return false
				}
			}
			return true // they are there
		})
		if len(names) > 0 {
			text += fmt.Sprintf(" A job of phase.%s that fails with %s waits for your next `muster apply`, which launches it on another backend.", w.Name, strings.Join(names, " or "))
		}
	}
	return text
}

// later reports whether a running apply keeps back, until others are done or a slot is free,
// some of the jobs that -detach submits at once. The phases that wait for muster are by name.
func (o Off) later(waits []string) bool {
	fed := map[At]int{}
	for _, w := range o.Works {
		if !w.starting() {
			continue
		}
		if w.Smokes == 0 && slices.Contains(waits, w.Name) {
			continue // none of it is submitted
		}
		for _, in := range w.Inputs {
			if o.work(in.From.Name) != nil {
				return true
			}
		}
		if slices.ContainsFunc(w.DependsOn, func(name string) bool { return o.work(name) != nil }) {
			return true
		}
		fed[atOf(w.SmokesAt)] += w.Smokes
		if slices.Contains(waits, w.Name) {
			continue
		}
		starting := 0
		for at, n := range w.unfinished() {
			fed[at] += n
			starting += n
		}
		pilots := len(slices.DeleteFunc(slices.Clone(w.Pilot), func(c int) bool { return !w.Starts(c) }))
		if starting > 0 && w.Smokes+len(w.Smoking) > 0 || pilots > 0 && pilots < starting {
			return true
		}
	}
	return slices.ContainsFunc(o.Pools, func(p offer.Pool) bool {
		slots := cmp.Or(p.MaxJobs, p.Total)
		return o.can(p.Backend).FeedSlots > 0 && fed[At{p.Backend, p.Name}] > o.can(p.Backend).FeedSlots*slots
	})
}

// sentence names the work that goes on and says why the rest waits; later says that a running
// apply has not submitted all of that work yet.
func sentence(goes, rest []string, later bool) string {
	later = later && len(goes) > 0 && !strings.HasPrefix(goes[len(goes)-1], "jobs ")
	switch {
	case len(goes) == 0 && (len(rest) == 0 || slices.Equal(rest, []string{noPlaceYet})):
		return ""
	case later && len(rest) == 0:
		return fmt.Sprintf("If you close muster now, submitted jobs finish; after `apply -detach`, %s %s everything.", and(goes), verb(len(goes), "finish"))
	case later:
		return fmt.Sprintf("If you close muster now, submitted jobs finish; after `apply -detach`, %s %s; everything else waits for your next `muster apply` (%s).", and(goes), verb(subjects(goes), "finish"), strings.Join(rest, "; "))
	case len(rest) == 0:
		return fmt.Sprintf("If you close muster now, %s %s everything.", and(goes), verb(len(goes), "finish"))
	case len(goes) == 0:
		return fmt.Sprintf("If you close muster now, nothing starts; everything waits for your next `muster apply` (%s).", strings.Join(rest, "; "))
	}
	return fmt.Sprintf("If you close muster now, %s %s; everything else waits for your next `muster apply` (%s).", and(goes), verb(subjects(goes), "finish"), strings.Join(rest, "; "))
}

// subjects counts the subjects of a sentence, for the number of its verb.
func subjects(goes []string) int {
	if len(goes) == 1 && (strings.HasSuffix(goes[0], " smokes") || strings.HasPrefix(goes[0], "jobs ")) {
		return 2
	}
	return len(goes)
}

// and joins names as a sentence does.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func verb(n int, word string) string {
	if n == 1 {
		return word + "es"
	}
	return word
}

// A queue is where jobs are started one after another: a backend, or a pool of it
// where each has a queue of its own.
type queue struct{ backend, pool string }

func (o Off) queueOf(at At) queue {
	q := queue{backend: at.Backend}
	if o.can(at.Backend).HostQueue {
		q.pool = at.Pool
	}
	return q
}

// at is where a job is that its backend has already, or is submitted to.
func (w Work) at(cell int) (at At, unfinished bool) {
	if at, ok := w.InFlight[cell]; ok {
		return at, true
	}
	if !w.Starts(cell) {
		return At{}, false
	}
	return atOf(w.Placements[w.Place[cell]]), true
}

func atOf(d place.Decision) At { return At{d.Backend, d.Pool} }

// unfinished counts the jobs of a phase that start or are in flight, by where they are.
func (w Work) unfinished() map[At]int {
	n := map[At]int{}
	for i, jobs := range w.Starting {
		n[atOf(w.Placements[i])] += jobs
	}
	for _, at := range w.InFlight {
		n[at]++
	}
	return n
}

func (o Off) can(backend string) offer.Capabilities {
	typ, _, _ := strings.Cut(backend, ".")
	return o.Can[typ]
}

// mostPhases is how many phases that go on are named one by one.
const mostPhases = 3

// continues names the work that goes on with muster off: backends, if that is
// everything, else smokes and phases; and why the rest does not, in the order in
// which the plan meets the reasons. The phases that wait are by name.
func (o Off) continues() (goes, rest, waits []string) {
	stopped := map[string]bool{} // phases that wait for muster
	say := func(why string) {
		if why != "" && !slices.Contains(rest, why) {
			rest = append(rest, why)
		}
	}
	backends, phases, smokes := map[string]bool{}, []string{}, 0
	var given []Work
	for _, w := range o.Works {
		if !w.starting() {
			given = append(given, w)
			for _, at := range w.InFlight {
				backends[at.Backend] = true
			}
			if len(w.InFlight) > 0 {
				phases = append(phases, "phase."+w.Name)
			}
			continue
		}
		switch after, why := o.after(w, stopped); {
		case after || why != "":
			say(why)
			stopped[w.Name], waits = true, append(waits, w.Name)
			continue
		}
		if why := o.gate(w); why != "" {
			say(why)
			smokes += len(w.Smoking)
			if w.SmokesAt.Backend != "" {
				smokes += w.Smokes
			}
			stopped[w.Name], waits = true, append(waits, w.Name)
			continue
		}
		if w.Unplaced {
			say(noPlaceYet)
		}
		placed := false
		for _, d := range w.Placements {
			if d.Backend != "" {
				backends[d.Backend], placed = true, true
			}
		}
		if placed {
			phases = append(phases, "phase."+w.Name)
			given = append(given, w)
		}
	}
	caps := o.capped(given)
	for _, why := range caps {
		say(why)
	}
	if len(rest) == 0 {
		return slices.Sorted(maps.Keys(backends)), nil, waits
	}
	return o.named(backends, phases, smokes, len(caps) > 0), rest, waits
}

// named are the smokes and phases that go on with muster off, where not everything does.
func (o Off) named(backends map[string]bool, phases []string, smokes int, capped bool) (goes []string) {
	if smokes > 0 {
		goes = append(goes, Smokes(smokes))
	}
	switch {
	case len(phases) == 0:
	case slices.ContainsFunc(slices.Collect(maps.Keys(backends)), func(b string) bool { return o.can(b).Rents }):
		goes = append(goes, "jobs that have a machine by then")
	case capped || len(phases) > mostPhases:
		goes = append(goes, "jobs submitted by then")
	default:
		goes = append(goes, phases...)
	}
	return goes
}

// after reports whether a phase waits for one that waits for muster itself, and
// else why it is not queued behind those that it reads or depends on.
func (o Off) after(w Work, stopped map[string]bool) (behind bool, why string) {
	for _, in := range w.Inputs {
		behind = behind || stopped[in.From.Name]
	}
	for _, name := range w.DependsOn {
		behind = behind || stopped[name]
	}
	for _, in := range w.Inputs {
		from := o.work(in.From.Name)
		if why := o.link(w, unattended.Link{From: in.From.Name, Done: !w.Open[in.Name] && (from == nil || in.Partial()), Moves: w.Moves[in.Name], Glob: globbed(in), Partial: w.Open[in.Name], Queued: from != nil && o.together(w, *from, in)}); why != "" {
			if w.Moves[in.Name] || !behind {
				return behind, why
			}
		}
	}
	for _, name := range w.DependsOn {
		if from := o.work(name); from != nil && !behind {
			if why := o.link(w, unattended.Link{Kind: unattended.Order, From: name, Queued: o.together(w, *from, nil)}); why != "" {
				return behind, why
			}
		}
	}
	return behind, ""
}

// gate says why a phase waits for its smokes or pilots.
func (o Off) gate(w Work) string {
	smokes := w.Smoking
	if w.Smokes > 0 {
		smokes = append(slices.Clone(smokes), atOf(w.SmokesAt))
	}
	for _, at := range smokes {
		l := unattended.Link{Kind: unattended.Smoke, Phase: w.Name, Backend: at.Backend, Expect: w.Smoke.Judged(), Again: w.Smoke.RunsAgain(), Queued: o.allIn(w, at)}
		if why := unattended.Waits(o.can(at.Backend), l); why.Text != "" {
			return why.Short
		}
	}
	starting := 0
	for _, n := range w.Starting {
		starting += n
	}
	for _, c := range w.Pilot {
		if w.Starts(c) {
			starting--
		}
	}
	for _, c := range w.Pilot {
		at, unfinished := w.at(c)
		if !unfinished || starting == 0 { // there is nothing but pilots
			continue
		}
		if why := unattended.Waits(o.can(at.Backend), unattended.Link{Kind: unattended.Pilot, Phase: w.Name, Backend: at.Backend, Queued: o.allIn(w, at)}); why.Text != "" {
			return why.Short
		}
	}
	return ""
}

// allIn reports whether all jobs of a phase that start are in the queue of one place.
func (o Off) allIn(w Work, at At) bool {
	for i := range w.Starting {
		if d := w.Placements[i]; d.Backend != "" && o.queueOf(atOf(d)) != o.queueOf(at) {
			return false
		}
	}
	return true
}

// link asks about each backend that has jobs of a phase.
func (o Off) link(w Work, l unattended.Link) string {
	l.Phase = w.Name
	for _, d := range w.Placements {
		if l.Backend = d.Backend; d.Backend == "" {
			continue
		}
		if why := unattended.Waits(o.can(d.Backend), l); why.Text != "" {
			return why.Short
		}
	}
	return ""
}

func (o Off) work(name string) *Work {
	for i := range o.Works {
		if o.Works[i].Name == name {
			return &o.Works[i]
		}
	}
	return nil
}

// together reports whether each job of a phase that starts is in the queue of
// those that it comes after; by input, or after all for nil.
func (o Off) together(w, from Work, in *lang.Input) bool {
	queues := map[queue]bool{}
	for i := range w.Starting {
		queues[o.queueOf(atOf(w.Placements[i]))] = true
	}
	for at := range from.unfinished() {
		queues[o.queueOf(at)] = true
	}
	if len(queues) < 2 {
		return true
	}
	if in == nil {
		return false
	}
	for c := range w.Place {
		if !w.Starts(c) {
			continue
		}
		own, _ := w.at(c)
		for _, m := range in.Members(in.GroupOf(c)) {
			if at, unfinished := from.at(int(m)); unfinished && o.queueOf(at) != o.queueOf(own) {
				return false
			}
		}
	}
	return true
}

// globbed reports whether an input is a set of files that its producer's end tells.
func globbed(in *lang.Input) bool {
	for _, out := range in.From.Outputs {
		if out.Name == in.Output {
			return string(out.Kind) == "glob"
		}
	}
	return false
}

// capped says which limits keep some of the phases that a plan submits from
// being submitted whole.
func (o Off) capped(works []Work) (why []string) {
	starting, there, load, used, split := map[quota]int{}, map[At]int{}, map[string]int{}, map[queue]bool{}, map[string]bool{}
	total, kept := 0, true
	for _, w := range works {
		queues := map[queue]int{}
		for i, n := range w.Starting {
			d := w.Placements[i]
			if d.Backend == "" {
				continue
			}
			starting[quota{d.Backend, d.Pool, offer.Limits{MaxSubmit: d.Limits.MaxSubmit, SubmitBy: d.Limits.SubmitBy}}] += n
			queues[o.queueOf(atOf(d))] += n
		}
		for _, at := range w.InFlight {
			queues[o.queueOf(at)]++
			there[at]++
		}
		jobs, keeps, at := 0, true, map[string]int{}
		for q, n := range queues {
			can := o.can(q.backend)
			keeps = keeps && (can.Arrays || can.HostQueue)
			kept, used[q], split[q.backend] = kept && can.HostQueue, true, split[q.backend] || q.pool != ""
			jobs += n
			at[q.backend] += n
		}
		most := jobs
		if keeps && w.MaxParallel > 0 {
			most = min(jobs, w.MaxParallel) // also where muster keeps it, for several queues
		}
		for backend, n := range at {
			load[backend] += min(n, most)
		}
		total += most
		if (unattended.Cap{Most: w.MaxParallel, Jobs: jobs, ByQueue: keeps, OneQueue: len(queues) < 2}).Exceeded() {
			why = append(why, unattended.PhaseCapReached(w.MaxParallel, w.Name))
		}
	}
	if (unattended.Cap{Most: o.MaxParallel, Jobs: total, ByQueue: kept, OneQueue: len(used) < 2}).Exceeded() {
		why = append(why, unattended.CampaignCapReached(o.MaxParallel))
	}
	for _, b := range o.Backends {
		if load[b.Address()] > 0 && o.Can[b.Type].Rents {
			why = append(why, unattended.Rents(b.Address()))
		}
		if can := o.Can[b.Type]; (unattended.Cap{Most: b.MaxParallel, Jobs: load[b.Address()], ByQueue: can.HostQueue, OneQueue: !split[b.Address()]}).Exceeded() {
			why = append(why, fmt.Sprintf("max_parallel = %d of backend.%s is reached", b.MaxParallel, b.Address()))
		}
	}
	for _, b := range o.Budgets {
		if b.Left > 0 {
			why = append(why, fmt.Sprintf("budget %q does not cover %s at their ceiling", b.Name, units.Count(b.Left, "job")))
		}
	}
	return append(why, o.overQuota(starting, there)...)
}

// A quota is how many submitted jobs a pool takes of a job's own limits.
type quota struct {
	backend, pool string
	own           offer.Limits // on submitted jobs
}

// overQuota names the pools that take fewer jobs than are there and would be submitted
// to them.
func (o Off) overQuota(starting map[quota]int, there map[At]int) (why []string) {
	for _, p := range o.Pools {
		for _, q := range slices.SortedFunc(maps.Keys(starting), func(a, b quota) int {
			return cmp.Or(cmp.Compare(a.own.MaxSubmit, b.own.MaxSubmit), cmp.Compare(a.own.SubmitBy, b.own.SubmitBy))
		}) {
			if q.backend != p.Backend || q.pool != p.Name || p.Kind == offer.RentalPool { // it has no queue
				continue
			}
			at := q.own.On(p)
			if n := starting[q] + there[At{q.backend, q.pool}]; at.MaxSubmit > 0 && n > at.MaxSubmit {
				by := ""
				if at.SubmitBy != "" {
					by = " by the limit of " + at.SubmitBy
				}
				why = append(why, fmt.Sprintf("%s takes at most %s of yours at once%s, and this plan has %d", strings.TrimSpace(p.Word+" "+p.Name), units.Count(at.MaxSubmit, "job"), by, n))
			}
		}
	}
	return why
}

// Smokes is "the smoke" or "the 3 smokes".
func Smokes(n int) string {
	switch n {
	case 1:
		return "the smoke"
	case 2:
		return "the two smokes"
	}
	return fmt.Sprintf("the %d smokes", n)
}

// NoCeiling warns of rentals that nothing ends while muster is off: machines that are
// to be kept, and those of a platform without a dead man's switch. The rate is that of
// as many machines as may be rented, of the dearest pool that is used.
func NoCeiling(backends []*lang.Backend, used [][2]string, pools []offer.Pool, can map[string]offer.Capabilities) (notes []string) {
	for _, b := range backends {
		ends := b.OnHold != "keep" && can[b.Type].DeadMan
		if ends || !can[b.Type].Rents || !slices.ContainsFunc(used, func(at [2]string) bool { return at[0] == b.Address() }) {
			continue
		}
		rate, _ := dearest(b, used, pools)
		note := fmt.Sprintf("backend.%s: no ceiling while muster is off: %s.", b.Address(), amount.Hourly(rate))
		if b.OnHold != "keep" {
			note += " Only muster and the provider's console end a machine there."
		}
		notes = append(notes, note)
	}
	return notes
}

// dearest are the highest rates an hour of the pools of a backend that are used: of as many
// machines as may be rented, and of one machine. "" = not known.
func dearest(b *lang.Backend, used [][2]string, pools []offer.Pool) (all, one string) {
	for _, p := range pools {
		if p.Backend != b.Address() || !p.Price.Known || !slices.Contains(used, [2]string{p.Backend, p.Name}) {
			continue
		}
		rate, machines := amount.Of(place.Dearest(p.Price)), decimal.NewFromInt(int64(max(1, p.Total/max(1, p.GPUs))))
		if sum := rate.Mul(machines); all == "" || sum.GreaterThan(amount.Of(all)) {
			all = sum.String()
		}
		if one == "" || rate.GreaterThan(amount.Of(one)) {
			one = rate.String()
		}
	}
	return all, one
}

// spareOf is the longest that the pools of a backend bill beside the usual boot.
func spareOf(b *lang.Backend, used [][2]string, pools []offer.Pool) (spare time.Duration) {
	for _, p := range pools {
		if p.Backend == b.Address() && slices.Contains(used, [2]string{p.Backend, p.Name}) {
			spare = max(spare, p.Price.Spare)
		}
	}
	return spare
}

// ends is the end of an idle machine, by on_hold.
var ends = map[string]string{
	"release": "then releases it if every output is here",
	"stop":    "then stops it, and its disk is billed on",
	"keep":    "and longer, until `muster destroy`",
}

// endsAlone is the end of a machine while muster is off, where the platform ends it.
func endsAlone(b *lang.Backend) string {
	switch {
	case b.OnHold == "keep" || !b.DeadMan:
		return "" // NoCeiling says it
	case b.Timer:
		return " With muster off it runs until the platform's timer stops it; its disk is billed until `muster destroy`."
	case b.OnHold == "stop":
		return " With muster off it stops itself then, too."
	}
	return " With muster off it does so itself, too; without every output here it stops, and its disk is billed until `muster destroy`."
}

// Idling says how long machines are kept after their last job, the cost of that, and the
// possible cost of machines that are tried before a job. The figures of a plan have
// both.
func Idling(backends []*lang.Backend, used [][2]string, pools []offer.Pool, can map[string]offer.Capabilities) (notes []string) {
	for _, b := range backends {
		_, rate := dearest(b, used, pools)
		if !can[b.Type].Rents || rate == "" || ends[b.OnHold] == "" {
			continue
		}
		cost := amount.Of(rate).Mul(decimal.NewFromInt(int64(b.Hold / time.Second))).Div(decimal.NewFromInt(3600))
		notes = append(notes, fmt.Sprintf("backend.%s keeps an idle machine for %s, at up to %s (%s each, counted above), %s.",
			b.Address(), units.FormatDuration(b.Hold), amount.Hourly(rate), amount.Words("usd", cost.String()), ends[b.OnHold])+endsAlone(b))
		if spare := spareOf(b, used, pools); spare > 0 {
			cost := amount.Of(rate).Mul(decimal.NewFromInt(int64(spare / time.Second))).Div(decimal.NewFromInt(3600))
			notes = append(notes, fmt.Sprintf("backend.%s: at most counts %s beside the usual boot for each launch (%s): machines that boot slowly, are given back because they are unfit, or end slowly.",
				b.Address(), units.FormatDuration(spare), amount.Words("usd", cost.String())))
		}
	}
	return notes
}

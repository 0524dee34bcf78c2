package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/change"
	"github.com/muster-run/muster/planner/observed"
	"github.com/muster-run/muster/state"
)

// A job that goes on without some producers of an input has the hash of the files that it
// read. Its result stays as long as these producers are not done: then the hash covers them,
// too, and the job runs again.

// Without reports of the producers of an input whether a record went on without them.
func Without(job *state.Job) func(in *lang.Input, producer int) bool {
	missing := map[string]map[string]bool{}
	return func(in *lang.Input, producer int) bool {
		keys, known := missing[in.Name]
		if !known {
			keys = map[string]bool{}
			for _, key := range MissingKeys(job, in.Name) {
				keys[key] = true
			}
			missing[in.Name] = keys
		}
		return keys[in.From.Key(producer)]
	}
}

// MissingKeys are the keys of the producers of an input that a recorded job went on without.
func MissingKeys(job *state.Job, input string) []string {
	if job == nil {
		return nil
	}
	if text := job.InputBytes.Get(lang.MissingOf(input)); text != "" {
		return strings.Split(text, "\n")
	}
	return nil
}

// Reads are the producers with which a job goes on, and those without which it does, for
// an input: by its record where nothing starts, else by the plan's actions on them.
func (p *Plan) Reads(pp *PhasePlan, in *lang.Input, cell int) (read, missing []int) {
	all, from := members(in, cell), p.Phase(in.From.Name)
	if from == nil || !in.Partial() {
		return all, nil
	}
	out := Without(pp.Record(cell))
	for _, m := range all {
		switch starts := pp.Kind[cell].Starts(); {
		case starts && stuck(from.Kind[m]), !starts && out(in, m):
			missing = append(missing, m)
		default:
			read = append(read, m)
		}
	}
	return read, missing
}

// InputDigests are the digests of the files that a recorded job read, by
// input.
func InputDigests(job *state.Job) map[string]string {
	out := job.InputBytes.Map()
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasSuffix(name, lang.MissingOf("")) })
	return out
}

// A Lack names the producers of an input without which a recorded job went on.
type Lack struct {
	Input   string   `json:"input"`
	Missing []string `json:"missing"`        // addresses of producers
	Done    int      `json:"done,omitempty"` // of them are done by now
}

// Lacks says of a recorded job, by input, which producers it went on without.
func Lacks(p *lang.Phase, job *state.Job, st *state.State) (out []Lack) {
	for _, in := range p.Inputs {
		l := Lack{Input: in.Name}
		for _, key := range MissingKeys(job, in.Name) {
			address := addr.Job{Phase: in.From.Name, Key: key}.String()
			if rec := st.Job(address); rec != nil && rec.Status == state.Completed {
				l.Done++
			}
			l.Missing = append(l.Missing, address)
		}
		if l.Missing != nil {
			out = append(out, l)
		}
	}
	return out
}

// Text is the lack in words.
func (l Lack) Text() string {
	text := fmt.Sprintf("ran without %s in input.%s", change.Names(l.Missing), l.Input)
	if l.Done > 0 {
		text += fmt.Sprintf("; %d of %d done since: `muster plan`", l.Done, len(l.Missing))
	}
	return text
}

func partial(p *lang.Phase) bool { return slices.ContainsFunc(p.Inputs, (*lang.Input).Partial) }

// settlePartial hashes a cell by the producers that its record read, as long as those
// that it went on without are not done and the others suffice.
func (hs *hashes) settlePartial(w *draft, i int, job *state.Job) {
	column := w.column(scheme(job))
	if column == nil || job.Result == "" || column[i].Is(job.Result) || !partial(w.p) {
		return
	}
	out := Without(job)
	for _, in := range w.p.Inputs {
		if in.Partial() && !hs.stillMissing(in, in.GroupOf(i), out) {
			return
		}
	}
	if recorded := hs.of(job).Without(w.p, i, out, hs.contentsOf(w, i, job)); recorded.Is(job.Result) {
		column[i] = recorded
	}
}

// stillMissing reports whether no producer of a group is done that a record went on
// without, and enough others are there.
func (hs *hashes) stillMissing(in *lang.Input, g int, out func(*lang.Input, int) bool) bool {
	members, missing := in.Members(g), 0
	for _, m := range members {
		if !out(in, m) {
			continue
		}
		if missing++; hs.isDone(in, m) {
			return false
		}
	}
	return len(members)-missing >= in.Required(len(members))
}

// isDone reports whether a producer is done, and its outputs are as it left them: no job goes on
// with others. The plan makes them again, or accepts them, where a person says so.
func (hs *hashes) isDone(in *lang.Input, producer int) bool {
	w := hs.byPhase[in.From.Name]
	rec := w.record(producer)
	if rec == nil || rec.Status != state.Completed {
		return false
	}
	altered, _ := hs.in.Observed.Altered(rec)
	return len(altered) == 0 || w.is(w.rerun, producer) || w.is(w.accept, producer)
}

// partialChange is the difference between an input and the files that a recorded job
// read without some producers; known is false where another change explains it.
func (hs *hashes) partialChange(in *lang.Input, i int, job *state.Job) (r []Reason, known bool) {
	if !in.Partial() || len(MissingKeys(job, in.Name)) == 0 {
		return nil, false
	}
	g, out := in.GroupOf(i), Without(job)
	now := hs.of(job).InputWithout(in, g, out)
	if !now.Is(job.Inputs.Get(in.Name)) {
		return nil, false
	}
	more := 0
	for _, m := range in.Members(g) {
		if out(in, m) && hs.isDone(in, m) {
			more++
		}
	}
	all := len(in.Members(g))
	switch {
	case more > 0:
		r = []Reason{change.Of("input."+in.Name, "", units.Count(more, "more file"))}
	case all-len(MissingKeys(job, in.Name)) < in.Required(all):
		r = []Reason{change.Of("input."+in.Name+".require", "", fmt.Sprintf("%d of %d", in.Required(all), all))}
	}
	return r, true
}

// shortOf names the first producers that keep a group's readers from starting, and
// says why where the input requires only some of them; nil where they may start.
func (ps phases) shortOf(in *lang.Input, g int) (waits []string, why string) {
	from, members := ps.byPhase[in.From.Name], in.Members(g)
	if waits = from.stuckAmong(members); waits == nil || !in.Partial() {
		return waits, ""
	}
	stopped, going := 0, false
	for _, m := range members {
		switch k := from.pp.Kind[m]; {
		case !stuck(k):
			going = going || k != None
		case !ps.gaveUp(from, m):
			return waits, ""
		default:
			stopped++
		}
	}
	n := len(members)
	if n-stopped >= in.Required(n) {
		return nil, ""
	}
	most := ""
	if going {
		most = "at most "
	}
	return waits, fmt.Sprintf("%s%d of %d done for input.%s, %d required", most, n-stopped, n, in.Name, in.Required(n))
}

// gaveUp reports whether a cell that is stuck has ended, so that others may go on
// without it: a person's hold does not end it.
func (ps phases) gaveUp(w *draft, i int) bool {
	switch w.pp.Kind[i] {
	case Altered:
		return true
	case HeldKind:
		return w.pp.Hold != "" || observed.GaveUp(w.record(i))
	case Blocked:
	default:
		return false
	}
	for _, name := range w.p.DependsOn {
		if from := ps.byPhase[name]; from != nil {
			for c := range from.pp.Kind {
				if ps.gaveUp(from, c) {
					return true
				}
			}
		}
	}
	for _, in := range w.p.Inputs {
		waits, why := ps.shortOf(in, in.GroupOf(i))
		if why != "" || waits != nil && slices.ContainsFunc(members(in, i), func(m int) bool { return ps.gaveUp(ps.byPhase[in.From.Name], m) }) && !in.Partial() {
			return true
		}
	}
	return slices.ContainsFunc(w.pp.Pilot, func(c int) bool { return c != i && ps.gaveUp(w, c) })
}

// goOn notes of cells that start without some producers how many they go on with.
func (ps phases) goOn(w *draft, in *lang.Input) {
	from := ps.byPhase[in.From.Name]
	for i, k := range w.pp.Kind {
		if !k.Starts() || k == Resubmit {
			continue
		}
		all, stopped := members(in, i), 0
		for _, m := range all {
			if stuck(from.pp.Kind[m]) {
				stopped++
			}
		}
		if stopped == 0 {
			continue
		}
		d := w.pp.Detail(i)
		text := fmt.Sprintf("goes on with %d of %d of input.%s", len(all)-stopped, len(all), in.Name)
		if d.Text != "" {
			text = d.Text + "; " + text
		}
		d.Text = text
		w.stop(i, k, d)
	}
}

package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/providers/offer"
)

// list gives the verdict on every option.
func list(options []option, best *option, order ranking) []Candidate {
	var out []Candidate
	for _, o := range options {
		c := Candidate{Backend: o.pool.Backend, Pool: o.pool.Name, Fits: o.bad == nil, Wait: o.wait, Waited: o.waited, Price: o.price, WholeNode: o.pool.WholeNode, Boot: o.boot, Hold: o.hold, Segments: o.segments, Pack: o.shape.Pack, Slots: o.shape.Slots, Allocation: o.shape.Allocation, Cost: map[string]string{}}
		for unit, v := range o.cost {
			c.Cost[unit] = v.Round(4).String()
		}
		switch {
		case o.bad != nil:
			c.Why, c.Would = o.bad.why, o.bad.would
		case best != nil && o.pool.Backend == best.pool.Backend && o.pool.Name == best.pool.Name:
			c.Won = true
		case best != nil:
			c.Why = order.lost(o, *best)
		}
		out = append(out, c)
	}
	return out
}

// nothingFits is the error of a group without a place: the lack of every candidate, and a
// shape that would fit.
func nothingFits(g Group, names []string, options []option, away map[string]string) diag.Diagnostic {
	d := diag.Diagnostic{Summary: "No place fits"}
	if g.Phase != nil {
		d.In, d.Address, d.Subject = fmt.Sprintf("phase %q", g.Phase.Name), "phase."+g.Phase.Name, g.Phase.Range.Ptr()
	}
	if at, ok := asked(g, options); ok {
		d.Subject = &at
	}
	if g.Smoke {
		d.Summary = "No place fits the smoke"
	}
	options = meant(options)
	if d, ok := onlyAway(d, names, options, away); ok {
		return d
	}
	if tooLong, one := onlyTooLong(options); one != nil {
		d.Summary = fmt.Sprintf("Walltime is longer than %s allows", limiter(one))
		d.Detail = tooLong
		if g.Phase != nil && !g.Smoke {
			if at, ok := g.Phase.Asks["walltime"]; ok {
				d.Subject = &at
			}
		}
		return d
	}
	var lines, would []string
	lines = reasons(options)
	for _, o := range options {
		if o.bad.would != "" && !outdone(o, options) {
			would = append(would, o.bad.would)
		}
	}
	for _, n := range names {
		if slices.ContainsFunc(options, func(o option) bool { return o.pool.Backend == n }) {
			continue
		}
		if why, ok := away[n]; ok {
			lines = append(lines, "  "+n+" cannot be asked: "+why)
		} else {
			lines = append(lines, "  "+n+": its resources are unknown")
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "  no candidate is left: see place, and allow and deny in policy")
	}
	d.Detail = "Every candidate was looked at:\n" + strings.Join(lines, "\n")
	if slices.Sort(would); len(would) > 0 {
		d.Detail += "\n\nWhat would fit: " + strings.Join(slices.Compact(would), "; or ") + "."
	} else if g.Shape.GPUs > 0 && len(g.Candidates) == 0 {
		d.Detail += "\n\nGPU work needs a backend with GPUs: add one, and name it in place."
	}
	return d
}

// outdone reports whether another pool lacks nothing but less of the same: then the shape that
// fits here gives up more than needed.
func outdone(o option, options []option) bool {
	has := func(p offer.Pool) int64 {
		switch o.bad.of {
		case "memory":
			return p.Memory
		case "cpus":
			return int64(p.CPUs)
		case "gpus":
			return int64(p.GPUs)
		}
		return 0
	}
	only := func(x option) bool {
		return strings.HasPrefix(x.bad.would, o.bad.of+" = ") && !strings.Contains(x.bad.would, ";")
	}
	return only(o) && slices.ContainsFunc(options, func(x option) bool { return x.bad.of == o.bad.of && only(x) && has(x.pool) > has(o.pool) })
}

// meant are the options less the pools of a backend that a job leaves out by
// naming another of its pools, where that is there.
func meant(options []option) (out []option) {
	for _, o := range options {
		named := func(p option) bool { return p.pool.Backend == o.pool.Backend && !p.bad.beside }
		if !o.bad.beside || !slices.ContainsFunc(options, named) {
			out = append(out, o)
		}
	}
	return out
}

// reasons are a line for each pool that does not fit; pools of a backend that do
// not for one reason share theirs.
func reasons(options []option) (lines []string) {
	type group struct {
		backend, why string
		pools        []string
	}
	var groups []*group
	first := map[string]string{} // why, as it was said of the first of a group
	for _, o := range options {
		name := poolName(o.pool)
		why := strings.NewReplacer("node of "+name, "node", " of "+name, "", name+" ", "").Replace(o.bad.why)
		i := slices.IndexFunc(groups, func(g *group) bool { return g.backend == o.pool.Backend && g.why == why && o.pool.Name != "" })
		if i < 0 {
			i, groups = len(groups), append(groups, &group{backend: o.pool.Backend, why: why})
			first[o.pool.Backend+"\x00"+why] = o.bad.why
		}
		groups[i].pools = append(groups[i].pools, o.pool.Name)
	}
	for _, g := range groups {
		why := g.why
		of := func(o option) bool { return o.pool.Backend == g.backend && !slices.Contains(g.pools, o.pool.Name) }
		if len(g.pools) > 1 && why == first[g.backend+"\x00"+g.why] && !slices.ContainsFunc(options, of) {
			g.pools = nil // it is said of the backend
		}
		if len(g.pools) == 1 {
			why = first[g.backend+"\x00"+g.why]
		}
		lines = append(lines, "  "+strings.TrimSuffix(g.backend+", "+strings.Join(g.pools, ", "), ", ")+": "+why)
	}
	return lines
}

// onlyAway words the case in which the request may be right: some candidates do not answer
// now, and the rest do not fit.
func onlyAway(d diag.Diagnostic, names []string, options []option, away map[string]string) (diag.Diagnostic, bool) {
	var silent, lines, rest []string
	for _, n := range names {
		of := func(o option) bool { return o.pool.Backend == n }
		would := func(o option) bool { return of(o) && o.away }
		if why, ok := away[n]; ok && (!slices.ContainsFunc(options, of) || slices.ContainsFunc(options, would)) {
			silent = append(silent, n)
			lines = append(lines, "  "+n+" cannot be asked: "+why)
		}
	}
	if len(silent) == 0 {
		return d, false
	}
	for _, o := range options {
		if !o.away && !slices.Contains(silent, o.pool.Backend) {
			rest = append(rest, "  "+strings.TrimSuffix(o.pool.Backend+", "+o.pool.Name, ", ")+": "+o.bad.why)
		}
	}
	d.Summary = strings.Join(silent, " and ") + " cannot be asked, and no other place fits"
	if len(rest) == 0 {
		d.Summary = strings.Join(silent, " and ") + " cannot be asked, and no other place is named"
	}
	d.Detail = "Whether it fits is not known:\n" + strings.Join(lines, "\n") +
		"\n\nRun muster backends to see what is wrong, fix it and plan again; or name another backend in place."
	if len(rest) > 0 {
		d.Detail += "\n\nThe others do not fit:\n" + strings.Join(rest, "\n")
	}
	return d, true
}

// asked is where the resource is written of which every place that can be
// asked has too little; of several the first.
func asked(g Group, options []option) (at hcl.Range, ok bool) {
	if g.Phase == nil || g.Smoke {
		return at, false
	}
	for _, o := range options {
		if o.bad == nil || o.bad.of == "" {
			continue
		}
		of := o.bad.of
		if _, ok := g.Phase.Asks[of]; !ok && of == "gpus" {
			of = "gpu.models" // a gpu block alone asks for one
		}
		if at, ok := g.Phase.Asks[of]; ok {
			return at, true
		}
	}
	return at, false
}

// before ranks pools that end jobs alike: one whose GPUs the work would idle is
// named last, and one that says why first.
func before(a, b option) bool {
	if x, y := idles(a), idles(b); x != y {
		return x < y
	}
	return a.bad.quote > b.bad.quote
}

// onlyTooLong tells the case in which a job would fit if only it were shorter:
// the longest walltime among the pools that lack nothing else, and what to do.
func onlyTooLong(options []option) (detail string, longest *option) {
	for i, o := range options {
		if o.bad.limit > 0 && (longest == nil || o.bad.limit > longest.bad.limit || o.bad.limit == longest.bad.limit && before(o, *longest)) {
			longest = &options[i]
		}
	}
	if longest == nil {
		return "", nil
	}
	where := "backend." + longest.pool.Backend
	if longest.pool.Name != "" {
		where = capital(strings.TrimSpace(longest.pool.Word+" "+longest.pool.Name)) + " of " + where
	}
	if longest.bad.quote != "" && !strings.HasPrefix(longest.bad.quote, poolName(longest.pool)) {
		return fmt.Sprintf("%s: %s. %s.", where, longest.bad.quote, capital(longest.bad.would)), longest
	}
	return fmt.Sprintf("%s %s. %s.", where, longest.bad.short, capital(longest.bad.would)), longest
}

// limiter names who ends jobs too early: the pool, or the name that its backend
// gives instead.
func limiter(o *option) string {
	if who, _, ok := strings.Cut(o.bad.quote, " ends jobs at "); ok && !strings.HasPrefix(o.bad.quote, poolName(o.pool)) {
		return who
	}
	return "the " + orElse(o.pool.Word, "pool")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// forTestsOnly warns of jobs that are no tests and go to a pool that is for tests,
// since their options name it.
func forTestsOnly(g Group, p offer.Pool) diag.Diagnostic {
	d := diag.Diagnostic{Severity: diag.Warning, Summary: poolName(p) + " is for tests only", Detail: "The options of the job name it, so the jobs go there."}
	if len(p.StandsFor) > 0 {
		d.Detail += " Other work is for " + strings.Join(p.StandsFor, " or ") + "."
	}
	if g.Phase != nil {
		d.In, d.Address, d.Subject = fmt.Sprintf("phase %q", g.Phase.Name), "phase."+g.Phase.Name, g.Phase.Range.Ptr()
	}
	return d
}

package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// A Backend is one backend in `muster backends`, and why it cannot be asked.
type Backend struct {
	Name    string
	Problem string
	Pools   []offer.Pool
}

// BackendsText is the page of `muster backends`.
func BackendsText(views []Backend, width, row int) string {
	var b strings.Builder
	for _, v := range views {
		fmt.Fprintf(&b, "\nbackend.%s%s\n", v.Name, sharedFacts(v.Pools))
		if v.Problem != "" {
			writeProblem(&b, v.Problem, width)
			continue
		}
		t := term.Table{Indent: "  ", Width: row}
		for _, p := range v.Pools {
			facts := ""
			if sharedFacts(v.Pools) == "" {
				facts = poolFacts(p)
			}
			t.Row(cmp.Or(term.CleanLine(strings.TrimSpace(p.Word+" "+p.Name)), "pool"), poolSize(p), poolFree(p), poolLimit(p), poolPrice(p), facts)
		}
		fmt.Fprintf(&b, "%s", t.String())
		for _, n := range slices.Concat(offerLines(v.Pools), balanceLines(v.Pools), factLines(v.Pools), clockLines(v.Pools), poolNotes(v.Pools)) {
			fmt.Fprintf(&b, "  %s\n", strings.Join(term.Wrap(n, width-4), "\n    "))
		}
	}
	return b.String()
}

// offerLines are the machines that can be rented now, cheapest first.
func offerLines(pools []offer.Pool) (lines []string) {
	for _, p := range pools {
		for i, o := range p.Offers {
			lines = append(lines, term.CleanLine(fmt.Sprintf("%s, offer %d: %s with its disk, %s", p.Name, i+1, amount.Hourly(o.USDPerHour), o.Text)))
		}
	}
	return lines
}

// balanceLines say the balance of the account that the pools charge.
func balanceLines(pools []offer.Pool) []string {
	for _, p := range pools {
		if p.Balance != "" && p.Kind == offer.RentalPool {
			return []string{"account: " + amount.Words("usd", p.Balance) + " left"}
		}
		if p.Balance != "" {
			return []string{strings.TrimSpace("account "+term.CleanLine(p.Account)) + ": " + p.Balance + " service units left"}
		}
	}
	return nil
}

// writeProblem tells why a backend cannot be asked: of several reasons, as the
// mistakes in a profile are, each has a line of its own.
func writeProblem(b *strings.Builder, problem string, width int) {
	lines := strings.Split(strings.TrimSpace(problem), "\n")
	if len(lines) == 1 {
		fmt.Fprintf(b, "  %s\n", strings.Join(term.Wrap("? cannot be asked: "+term.CleanLine(lines[0]), width-4), "\n    "))
		return
	}
	b.WriteString("  ? cannot be asked:\n")
	for _, line := range lines {
		fmt.Fprintf(b, "    %s\n", strings.Join(term.Wrap(term.CleanLine(line), width-6), "\n      "))
	}
}

// sharedFacts is how old the facts are when that is the same for all pools.
func sharedFacts(pools []offer.Pool) string {
	if len(pools) < 2 {
		return ""
	}
	for _, p := range pools {
		if poolFacts(p) != poolFacts(pools[0]) {
			return ""
		}
	}
	return "   " + poolFacts(pools[0])
}

// clockLines are when the platform deletes, bills or closes something.
func clockLines(pools []offer.Pool) []string {
	var dates about
	for _, p := range pools {
		for _, c := range p.Clocks {
			when := "while it is there"
			switch {
			case p.Kind == offer.RentalPool && c.At.IsZero() && c.After == 0:
				when = ""
			case !c.At.IsZero():
				when = "on " + c.At.UTC().Format(time.DateOnly)
			case p.Kind == offer.RentalPool:
				when = "after " + units.ShortDuration(c.After)
			case c.After > 0:
				when = units.ShortDuration(c.After) + " after the last use"
			}
			dates.note(c.What+"\x00"+when, p.Name)
		}
	}
	return dates.lines(pools)
}

// poolNotes are the notes of all pools, each once, with the pools it is about.
func poolNotes(pools []offer.Pool) (lines []string) {
	about := map[string][]string{}
	var notes []string
	for _, p := range pools {
		for _, n := range p.Notes {
			if about[n] == nil {
				notes = append(notes, n)
			}
			about[n] = append(about[n], p.Name)
		}
	}
	for _, n := range notes {
		on := " on " + strings.Join(about[n], ", ")
		if len(about[n]) == len(pools) {
			on = ""
		}
		lines = append(lines, "note"+term.CleanLine(on)+": "+term.CleanLine(n))
	}
	return lines
}

func poolSize(p offer.Pool) string {
	var parts []string
	if p.CPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d cores", p.CPUs))
	}
	if p.Memory > 0 {
		parts = append(parts, units.FormatSize(p.Memory))
	}
	if p.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d×%s", p.GPUs, cmp.Or(p.GPUModel, "GPU")))
	}
	return strings.Join(parts, ", ")
}

func poolFree(p offer.Pool) string {
	if p.Kind == offer.RentalPool && p.Total == 0 {
		return "nothing offered"
	}
	if p.Kind == offer.RentalPool && p.GPUs > 0 && p.Total >= p.GPUs {
		return fmt.Sprintf("%d of up to %s offered", p.Idle/p.GPUs, units.Count(p.Total/p.GPUs, "machine"))
	}
	what := "slots"
	if p.GPUs > 0 {
		what = "GPUs"
	}
	switch {
	case p.Idle < 0:
		return "? free"
	case p.Others > 0:
		return fmt.Sprintf("%d of %d %s free, %d held by others", p.Idle, p.Total, what, p.Others)
	case p.Total > 0:
		return fmt.Sprintf("%d of %d %s free", p.Idle, p.Total, what)
	}
	return ""
}

func poolLimit(p offer.Pool) string {
	var parts []string
	if p.MaxTime > 0 {
		parts = append(parts, "≤"+units.ShortDuration(p.MaxTime))
	}
	if p.MaxJobs > 0 {
		parts = append(parts, units.Count(p.MaxJobs, "job")+" at once")
	}
	if most := place.Together(p); most != "" {
		parts = append(parts, most)
	}
	if p.Testing {
		parts = append(parts, "for tests")
	}
	return strings.Join(parts, ", ")
}

func poolPrice(p offer.Pool) string {
	r := p.Price
	switch {
	case !r.Known:
		return "price unknown"
	case r.UnknownSU && (r.USDPerGPUHour != "" || r.USDPerHour != "" || r.USDPerCPUHour != ""):
		p.Price.UnknownSU = false
		return poolPrice(p) + ", " + unknownUnits(p)
	case r.UnknownSU:
		return unknownUnits(p)
	case r.USDPerGPUHour != "":
		return amount.Rate(r.USDPerGPUHour) + "/GPU-hour"
	case r.USDPerHour != "":
		return amount.Rate(r.USDPerHour) + "/hour"
	case r.USDPerCPUHour != "":
		return amount.Rate(r.USDPerCPUHour) + "/core-hour"
	case r.SUPerGPUHour != "":
		return r.SUPerGPUHour + " SU/GPU-hour"
	case r.SUPerNodeHour != "":
		return r.SUPerNodeHour + " SU/node-hour"
	case r.SUPerCPUHour != "":
		return r.SUPerCPUHour + " SU/core-hour"
	}
	return "no charge"
}

// unknownUnits is a pool's charge in service units where it states no rate for
// them: one that depends on a job's request, if there is one.
func unknownUnits(p offer.Pool) string {
	for _, f := range p.Facts {
		for part := range strings.SplitSeq(f.Value, " + ") {
			if strings.HasSuffix(part, offer.PerBilling) {
				return part
			}
		}
	}
	return "SU unknown"
}

// poolFacts is where a pool's facts come from, and of when those are that
// nobody has just been asked for.
func poolFacts(p offer.Pool) string {
	switch {
	case p.Verified == "":
		return p.Source
	case p.Source == "":
		return "facts of " + p.Verified
	}
	if p.Source == "live" {
		return "live; facts of " + p.Verified
	}
	return p.Source + ", of " + p.Verified
}

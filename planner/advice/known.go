package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/lang/addr"
	"github.com/muster-run/muster/planner/history"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/state"
)

// twice is how often a failure that nobody knows comes before it is proposed for the
// campaign's catalogue.
const twice = 2

// A sighting is failures of one signature.
type sighting struct {
	line  string // of the log, of the last one
	n     int
	last  time.Time
	first string // address
	phase string
	jobs  []string
}

// catalogue proposes a failure block for each failure of unknown cause that came twice.
// A person pastes it: muster edits nothing.
func (a *adviser) catalogue() (out []Proposal) {
	by := map[string]*sighting{}
	for _, job := range a.State.All() {
		if job.Smoke {
			continue
		}
		for _, attempts := range [][]state.Attempt{a.State.Earlier[job.Address], job.Attempts} {
			for i := range attempts {
				see(by, job, &attempts[i])
			}
		}
	}
	to := history.MovedOf(a.Campaign.Moved)
	for _, signature := range sortedKeys(by) {
		s := by[signature]
		if s.n < twice || a.cataloged(s.line) {
			continue
		}
		first, _ := to.Follow(s.first)
		out = append(out, Proposal{Phase: s.phase, Kind: "failure", Title: fmt.Sprintf("Add a failure block: this failure came %d times", s.n),
			Edit: Edit{After: a.block(signature, s)},
			Why:  fmt.Sprintf("%q ended %s, the first of %s. Say in the block why it happens and what fixes it, and put it into a file of the campaign.", s.line, count(s.n, "launch", "launches"), first)})
	}
	return out
}

func see(by map[string]*sighting, job *state.Job, at *state.Attempt) {
	if at.Class != failure.Unknown || at.Ended.IsZero() {
		return
	}
	line := failure.Telling(at.Tail, at.Exit)
	signature := failure.Signature(line)
	if len(signature) < 4 { // says nothing
		return
	}
	s := by[signature]
	if s == nil {
		s = &sighting{first: job.Address, phase: job.Phase}
		by[signature] = s
	}
	s.n++
	if at.Ended.After(s.last) {
		s.last, s.line = at.Ended, line
	}
	if !slices.Contains(s.jobs, job.Address) {
		s.jobs = append(s.jobs, job.Address)
	}
}

// cataloged reports whether a failure block of the campaign knows a line by now.
func (a *adviser) cataloged(line string) bool {
	for _, f := range a.Campaign.Failures {
		if f.Match == "" {
			continue
		}
		if re, err := regexp.Compile(f.Match); err == nil && re.MatchString(line) {
			return true
		}
	}
	return false
}

// block is a failure block to paste. People's notes on these jobs are its hint.
func (a *adviser) block(signature string, s *sighting) string {
	hint := "say what fixes it"
	var noted []state.Note
	for _, address := range s.jobs {
		noted = append(noted, a.State.Notes[address]...)
	}
	noted = append(noted, a.State.Notes["phase."+s.phase]...)
	if noted = slices.DeleteFunc(noted, func(n state.Note) bool { return n.Who == state.Muster }); len(noted) > 0 {
		hint = slices.MaxFunc(noted, func(x, y state.Note) int { return x.At.Compare(y.At) }).Text
	}
	return fmt.Sprintf("failure %s {\n  match = %s\n  cause = \"say why it happens\"\n  hint  = %s\n  seen  = %q\n}",
		quoted(blockName(signature)), literal(pattern(signature, s.line)), literal(hint), s.last.Format(time.DateOnly))
}

// literal is a text as a string of HCL.
func literal(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(quoted(s))
}

var standsFor = strings.NewReplacer("PATH", `\S*/\S*`, "#", `\S+`)

// pattern matches lines of a signature, and the line at hand in any case.
func pattern(signature, line string) string {
	re := standsFor.Replace(regexp.QuoteMeta(signature))
	if c, err := regexp.Compile(re); err != nil || !c.MatchString(line) {
		return regexp.QuoteMeta(line)
	}
	return re
}

var word = lazyregexp.New(`[A-Za-z]+`)

// blockName is the first words of a signature, such as license_server_says_no.
func blockName(signature string) string {
	words := word.FindAllString(strings.ToLower(strings.ReplaceAll(signature, "PATH", "")), 4)
	name := strings.Join(words, "_")
	if !addr.ValidName(name) || slices.Contains(failure.Known(), name) || name == failure.OOM {
		name = "own_" + name
	}
	return strings.TrimSuffix(name, "_")
}

// Package precedent remembers finished work of a lab's campaigns in a file that the lab keeps
// in git, one line for each phase, and finds similar work there for a plan. Anybody may have
// edited the file: muster shows its lines, and never starts, skips or places a job by them.
package precedent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner/amount"
	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// File is the name of the file, in the campaign's folder or one above it.
const File = offer.Precedents

// Bounds of the file and of a line.
const (
	version     = 1
	MaxFile     = 4 << 20
	maxLine     = 8 << 10
	maxName     = 200
	maxClasses  = 32
	maxCount    = 100_000_000
	longestWork = 10 * 365 * 24 * time.Hour
)

// A Record is the record of one phase of one campaign.
type Record struct {
	Version  int       `json:"precedent"`
	Campaign string    `json:"campaign"`
	Phase    string    `json:"phase"`
	At       time.Time `json:"at"` // when its last job ended
	// Kind is a digest of the command, the setup and the image as they are written, and
	// Source that of the code; "" where no source is declared.
	Kind     string         `json:"kind"`
	Source   string         `json:"source,omitempty"`
	Backend  string         `json:"backend"`
	GPUs     int            `json:"gpus,omitempty"`
	CPUs     int            `json:"cpus,omitempty"`
	Memory   int64          `json:"memory,omitempty"`   // bytes
	Nodes    int            `json:"nodes,omitempty"`    // more than one
	Walltime float64        `json:"walltime,omitempty"` // seconds
	Jobs     int            `json:"jobs"`
	Done     int            `json:"done"`
	Failed   map[string]int `json:"failed,omitempty"` // launches, by class
	// P50, P90 and Longest are how long completed jobs took, seconds.
	P50     float64           `json:"p50,omitempty"`
	P90     float64           `json:"p90,omitempty"`
	Longest float64           `json:"longest,omitempty"`
	Spent   map[string]string `json:"spent,omitempty"`
}

// Encode is the line with its newline.
func (l Record) Encode() ([]byte, error) {
	l.Version = version
	text, err := json.Marshal(l)
	return append(text, '\n'), err
}

// same reports whether two lines are about the same work in the same condition.
func (l Record) same(o Record) bool {
	a, errA := l.Encode()
	b, errB := o.Encode()
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// A Problem is a line that is ignored.
type Problem struct {
	Line int
	Why  string
}

// Read reads the lines of a file, and says which it ignores.
func Read(r io.Reader, now time.Time) (lines []Record, problems []Problem, err error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > MaxFile {
		return nil, nil, fmt.Errorf("it is larger than %s: remove its oldest lines", units.FormatSize(MaxFile))
	}
	n := 0
	for part := range bytes.Lines(text) {
		n++
		part = bytes.TrimSpace(part)
		if len(part) == 0 {
			continue
		}
		l, err := parse(part, now)
		if err != nil {
			problems = append(problems, Problem{n, err.Error()})
			continue
		}
		lines = append(lines, l)
	}
	return lines, problems, nil
}

var (
	digests = lazyregexp.New(`^[0-9a-f]{64}$`)
	classes = lazyregexp.New(`^[a-z][a-z0-9_]{0,39}$`)
	amounts = lazyregexp.New(`^[0-9]{1,12}(\.[0-9]{1,20})?$`)
)

// parse reads one line. It bounds its length, and its texts may be shown.
func parse(text []byte, now time.Time) (l Record, err error) {
	if len(text) > maxLine {
		return l, fmt.Errorf("it has more than %d bytes", maxLine)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("it is not a line of precedents: %s", term.CleanLine(err.Error()))
	}
	if l.Version != version {
		return l, fmt.Errorf("its format is %d, and this muster reads %d", l.Version, version)
	}
	for _, f := range []struct {
		name string
		ok   bool
	}{
		{"campaign", named(l.Campaign)}, {"phase", named(l.Phase)}, {"backend", named(l.Backend)},
		{"kind", digests.MatchString(l.Kind)}, {"source", len(l.Source) <= maxName},
		{"at", !l.At.IsZero() && l.At.Before(now.Add(24*time.Hour))},
		{"jobs", l.Jobs > 0 && l.Jobs <= maxCount}, {"done", l.Done >= 0 && l.Done <= l.Jobs},
		{"gpus", counts(l.GPUs)}, {"cpus", counts(l.CPUs)}, {"nodes", counts(l.Nodes)}, {"memory", l.Memory >= 0},
		{"walltime", lasts(l.Walltime)}, {"p50", lasts(l.P50)}, {"p90", lasts(l.P90)}, {"longest", lasts(l.Longest)},
		{"failed", len(l.Failed) <= maxClasses}, {"spent", len(l.Spent) <= maxClasses},
	} {
		if !f.ok {
			return l, fmt.Errorf("its %q is missing or not what it may be", f.name)
		}
	}
	for class, n := range l.Failed {
		if !classes.MatchString(class) || !counts(n) {
			return l, fmt.Errorf("its %q is missing or not what it may be", "failed")
		}
	}
	for unit, text := range l.Spent {
		if !classes.MatchString(unit) || !amounts.MatchString(text) {
			return l, fmt.Errorf("its %q is missing or not what it may be", "spent")
		}
	}
	return l, nil
}

func named(s string) bool { return s != "" && len(s) <= maxName }

func counts(n int) bool { return n >= 0 && n <= maxCount }

func lasts(s float64) bool { return s >= 0 && s <= longestWork.Seconds() }

// Work is the work of a plan that precedents are looked for.
type Work struct {
	Campaign, Phase string
	Kind, Source    string
	Backend         string
	GPUs            int
}

// Of is the best precedent of a work: of the same code, then on the same backend and as
// many GPUs, then the newest; nil where no job of its kind was ever done. The phase
// itself is no precedent.
func Of(lines []Record, w Work) (best *Record) {
	rank := func(l *Record) (n int) {
		for k, same := range []bool{l.GPUs == w.GPUs, l.Backend == w.Backend, l.Source == w.Source} {
			if same {
				n += 1 << k
			}
		}
		return n
	}
	for i := range lines {
		l := &lines[i]
		if l.Kind != w.Kind || l.Done == 0 || l.Campaign == w.Campaign && l.Phase == w.Phase {
			continue
		}
		if best == nil || rank(l) > rank(best) || rank(l) == rank(best) && l.At.After(best.At) {
			best = l
		}
	}
	return best
}

// Text says what a precedent showed.
func (l *Record) Text() string {
	where := []string{l.At.UTC().Format(time.DateOnly), l.Backend}
	if l.GPUs > 0 {
		where = append(where, units.Count(l.GPUs, "GPU"))
	}
	said := []string{fmt.Sprintf("%s of %s done", units.FormatCount(int64(l.Done)), units.Count(l.Jobs, "job"))}
	if n := len(l.Failed); n > 0 {
		total, by := 0, []string{}
		for _, class := range slices.Sorted(maps.Keys(l.Failed)) {
			total += l.Failed[class]
			by = append(by, fmt.Sprintf("%s %s", class, units.FormatCount(int64(l.Failed[class]))))
		}
		said = append(said, fmt.Sprintf("%s (%s)", units.Count(total, "failure"), strings.Join(by, ", ")))
	}
	if l.P50 > 0 {
		said = append(said, fmt.Sprintf("median %s, nine in ten within %s", seconds(l.P50), seconds(l.P90)))
	}
	for _, unit := range []string{place.USD, place.ServiceUnits, place.GPUHours, place.CPUHours} {
		if spent := amount.Of(l.Spent[unit]).Round(3); !spent.IsZero() {
			said = append(said, amount.Words(unit, spent.String()))
		}
	}
	return term.CleanLine(fmt.Sprintf("phase.%s of campaign %q (%s): %s", l.Phase, l.Campaign, strings.Join(where, ", "), strings.Join(said, ", ")))
}

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d > time.Minute {
		d = d.Round(time.Second)
	}
	return units.FormatDuration(d)
}

// New are the lines that a file does not have yet.
func New(lines, has []Record) []Record {
	return slices.DeleteFunc(slices.Clone(lines), func(l Record) bool { return slices.ContainsFunc(has, l.same) })
}

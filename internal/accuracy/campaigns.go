package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A sample is a campaign of phases over a repeat axis r: the first of its
// values are the history, the others are held back.
type sample struct {
	name     string
	past     int // values of r that are run first
	held     int // values of r that are held back
	parallel int // max_parallel; 0 = as many as there is room for
	// unseen is the least N that the history has nothing of; 0 = it has of all.
	unseen    float64
	strangers int // GPUs that others hold from before the history to the end
	phases    []phase
}

// A phase's jobs take the time of takes, spread by a lognormal factor.
type phase struct {
	name   string
	axes   map[string][]float64
	takes  func(at map[string]float64) float64 // seconds
	spread float64                             // standard deviation of the logarithm
	slow   float64                             // share of jobs that take slower times as long
	slower float64
	burns  bool    // processor time, not time
	scales bool    // each launch after the first gets half as much memory again
	fails  float64 // share of jobs whose first launch fails, half-way
	delay  string  // before the next launch; "" = none
	cpus   int
	cpusBy string // the axis whose value is the number of cores; "" = cpus
	cap    int    // of the phase; 0 = none
	gpus   int
	reads  string // phase it reads, cell by cell
	all    string // phase it waits for as a whole
}

// campaigns for this machine differ in the difficulties of a forecast: runtimes that follow an
// axis, or two, or none; spread; edges; caps; retries; jobs that take no longer than starting them.
func campaigns() []sample {
	n := map[string][]float64{"N": {1, 2, 4, 8}}
	return []sample{
		{name: "flat", past: 4, held: 12, phases: []phase{{name: "a", takes: flat(0.8), spread: 0.1}}},
		{name: "short", past: 20, held: 100, phases: []phase{{name: "a", takes: flat(0.05), spread: 0.3}}},
		{name: "linear", past: 3, held: 6, phases: []phase{{name: "a", axes: n, takes: func(at map[string]float64) float64 { return 0.15 * at["N"] }, spread: 0.1}}},
		{name: "two-axes", past: 2, held: 4, phases: []phase{{name: "a", axes: map[string][]float64{"N": {1, 2, 4}, "d": {1, 3}}, takes: func(at map[string]float64) float64 { return 0.1 * math.Pow(at["N"], 1.5) * at["d"] }, spread: 0.15}}},
		{name: "skewed", past: 10, held: 24, phases: []phase{{name: "a", takes: flat(0.5), spread: 0.7}}},
		{name: "retries", past: 10, held: 24, phases: []phase{{name: "a", takes: flat(0.6), spread: 0.1, fails: 0.25}}},
		{name: "serial", past: 5, held: 15, parallel: 1, phases: []phase{{name: "a", takes: flat(0.4), spread: 0.2}}},
		{name: "edges", past: 4, held: 8, phases: []phase{
			{name: "teach", axes: map[string][]float64{"N": {1, 3}}, takes: func(at map[string]float64) float64 { return 0.4 * at["N"] }, spread: 0.1},
			{name: "learn", axes: map[string][]float64{"N": {1, 3}}, takes: flat(0.5), spread: 0.2, reads: "teach"}}},
		{name: "wide", past: 3, held: 8, phases: []phase{
			{name: "a", takes: flat(0.6), spread: 0.1, cpus: 2},
			{name: "b", axes: n, takes: func(at map[string]float64) float64 { return 0.3 + 0.05*at["N"] }, spread: 0.1, all: "a"}}},
		{name: "constant", past: 3, held: 6, phases: []phase{{name: "a", axes: n, takes: func(at map[string]float64) float64 { return 0.5 + 0.1*at["N"] }, spread: 0.05}}},
	}
}

// flat is a runtime that follows no axis.
func flat(seconds float64) func(map[string]float64) float64 {
	return func(map[string]float64) float64 { return seconds }
}

// write makes the campaign and the times of its jobs, which muster does not
// see.
func (s sample) write(at site, dir string, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	fmt.Fprintf(&b, "campaign %q { max_parallel = %d }\n%s", s.name, max(s.parallel, 1000*(1-min(s.parallel, 1))), at.block(dir))
	fmt.Fprintf(&b, "failure \"again\" { exit_codes = [75] }\n")
	for _, p := range s.phases {
		p.write(&b, at.name, s.past+s.held)
		if err := p.times(filepath.Join(dir, "times"), s.past+s.held, rnd); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "campaign.muster.hcl"), []byte(b.String()), 0o600)
}

func (p phase) write(b *strings.Builder, backend string, repeats int) {
	fmt.Fprintf(b, "phase %q {\n  place { candidates = [backend.%s] }\n  grid {\n    repeat = [\"r\"]\n    axes = {\n      r = range(%d)\n", p.name, backend, repeats)
	file := p.name
	for _, axis := range p.sorted() {
		fmt.Fprintf(b, "      %s = [%s]\n", axis, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.axes[axis])), ", "), "[]"))
		file += "-${cell." + axis + "}"
	}
	file += "-${cell.r}"
	b.WriteString("    }\n  }\n")
	if p.all != "" {
		fmt.Fprintf(b, "  depends_on = [phase.%s]\n", p.all)
	}
	read := ""
	b.WriteString("  job {\n")
	if p.reads != "" {
		fmt.Fprintf(b, "    input \"from\" { from = phase.%s.output.x }\n", p.reads)
		read = "cat ${input.from} >/dev/null; "
	}
	work := "sleep $(cat times/" + file + ")"
	if p.burns { // by the shell's own loop; how many turns a second take is the machine's affair
		work = "n=$(awk '{ printf \\\"%d\\\", $1 * 1000000 }' times/" + file + "); while test $n -gt 0; do n=$((n-1)); done"
	}
	cpus := fmt.Sprint(max(p.cpus, 1))
	if p.cpusBy != "" {
		cpus = "cell." + p.cpusBy
	}
	fmt.Fprintf(b, "    command = \"%stest $MUSTER_ATTEMPT != 1 || test ! -e times/%s.fails || { sleep $(cat times/%s.fails); exit 75; }; %s; echo done > ${output.x}\"\n", read, file, file, work)
	fmt.Fprintf(b, "    resources {\n      cpus = %s\n      gpus = %d\n      memory = \"100MiB\"\n      walltime = \"10m\"\n    }\n    output \"x\" { path = \"out/%s\" }\n  }\n", cpus, p.gpus, file)
	b.WriteString("  retry {\n    on = [\"again\"]\n    max_attempts = 3\n")
	if p.delay != "" {
		fmt.Fprintf(b, "    delay = %q\n", p.delay)
	}
	if p.scales {
		b.WriteString("    scale \"again\" { memory = 1.5 }\n")
	}
	b.WriteString("  }\n")
	if p.cap > 0 {
		fmt.Fprintf(b, "  max_parallel = %d\n", p.cap)
	}
	b.WriteString("}\n")
}

// sorted are the names of the axes.
func (p phase) sorted() []string {
	var out []string
	for _, name := range []string{"N", "d"} {
		if p.axes[name] != nil {
			out = append(out, name)
		}
	}
	return out
}

// times writes how long every job will take, and which fail at first.
func (p phase) times(dir string, repeats int, rnd *rand.Rand) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	cells := []map[string]float64{{}}
	for _, axis := range p.sorted() {
		var more []map[string]float64
		for _, c := range cells {
			for _, v := range p.axes[axis] {
				next := map[string]float64{axis: v}
				for k, old := range c {
					next[k] = old
				}
				more = append(more, next)
			}
		}
		cells = more
	}
	for _, c := range cells {
		for r := range repeats {
			file := p.name
			for _, axis := range p.sorted() {
				file += fmt.Sprintf("-%g", c[axis])
			}
			file = filepath.Join(dir, fmt.Sprintf("%s-%d", file, r))
			took := p.takes(c) * math.Exp(p.spread*rnd.NormFloat64())
			if p.slow > 0 && rnd.Float64() < p.slow {
				took *= p.slower
			}
			if err := os.WriteFile(file, fmt.Appendf(nil, "%.4f\n", took), 0o600); err != nil {
				return err
			}
			if rnd.Float64() < p.fails {
				if err := os.WriteFile(file+".fails", fmt.Appendf(nil, "%.4f\n", took/2), 0o600); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

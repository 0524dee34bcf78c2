package systemtest

import (
	"cmp"
	"crypto/md5"
	"fmt"
	"io"
	"math/rand"
	"path/filepath"
	"slices"
	"strings"
)

// A randomCampaign is two to four phases that read one another's files, with
// gates, caps and policies as they come.
type randomCampaign struct {
	backend string // its block
	place   string // its address
	other   string // block of a second backend; "" = none
	there   string // its address
	job     string // the program that jobs are
	slots   int
	phases  []*randomPhase
	moved   [][2]string // addresses of phases and jobs, from one to the next
	state   string      // folder of its state; "" = beside the campaign
	limit   int         // launches of five minutes on one core that a budget has room for; 0 = no budget
}

type randomPhase struct {
	work           string // what its program is called by, whatever its name
	name, axis     string
	cells, param   int
	at             int // 0: at place, 1: there, 2: at either
	from           *randomPhase
	byCell         bool         // reads its own producer's file; else all
	after          *randomPhase // in depends_on
	require        string       // of its input, with all producers
	smoke, pilot   bool
	smokes         string // attributes of its smoke
	retry, breaker bool
	canary, trial  bool
	checkpoint     string // its attribute that says where; "" = none
	folder         string // of its outputs
	kind           string // of its outputs: "path", or a "dir" or a "glob" with one file
	order          int    // which cells start first
	verify         string // attribute of each output
	metric         string // read from each output that is a file; "" = none
	walltime       string
	needs          bool         // a file that may not be there
	in, out        bool         // in a scratch folder: what it reads, what it writes
	raw, source    int          // versions of a file that no phase makes, and of its source; 0 = none
	cap            int          // max_parallel; 0 = none
	lifecycle      string       // its attributes
	adopts         bool         // files that somebody put there
	accepted       bool         // results of an earlier campaign
	nap            float64      // seconds that a job takes
	two, reads     bool         // writes a second output; reads the second one of its producer
	and            *randomPhase // whose files it reads, too
	cpus           int
	overflow       bool   // may run there, too, if it would have to wait
	prefer         string // attribute of its place
	action         string // of the campaign's own entry for its failures; "" = no entry
	delay          string // before another launch; "" = a second
	scales, over   bool   // asks for more after a failure; goes there after one
	watch          string // its attributes
}

func newRandomCampaign(r *rand.Rand) randomCampaign {
	c := randomCampaign{slots: 1 << r.Intn(4)}
	pick := func(all ...int) int { return all[r.Intn(len(all))] }
	for i := range 2 + r.Intn(3) {
		p := &randomPhase{work: string(rune('a' + i)), name: string(rune('a' + i)), cells: pick(1, 2, 4, 6), retry: r.Intn(10) < 3, breaker: r.Intn(10) < 3,
			cap: pick(0, 0, 1, 2), nap: float64(pick(5, 20, 50)) / 100, walltime: "5m", cpus: 1, verify: randomChecks[0], needs: r.Intn(4) == 0, in: r.Intn(5) == 0, out: r.Intn(5) == 0}
		p.axis = "k" + p.name
		p.smoke, p.pilot = p.cells > 1 && r.Intn(10) < 3, p.cells > 2 && r.Intn(10) < 2
		p.smokes = []string{"", "", "    repeat = 2\n    tolerance = 1\n", "    parallel = true\n"}[r.Intn(4)]
		if i > 1 && r.Intn(4) == 0 {
			p.after = c.phases[r.Intn(i)]
		}
		p.at, p.folder = pick(0, 0, 1, 2), "out"
		p.canary, p.trial = r.Intn(3) == 0, r.Intn(6) == 0
		p.checkpoint = randomCheckpoints[r.Intn(len(randomCheckpoints))]
		p.kind, p.raw, p.source = randomKinds[r.Intn(len(randomKinds))], pick(0, 0, 1), pick(0, 0, 1)
		p.require = []string{"", "", "", "50%"}[r.Intn(4)]
		p.two, p.reads = r.Intn(4) == 0, r.Intn(2) == 0
		p.action = randomActions[r.Intn(len(randomActions))]
		p.watch = randomWatches[r.Intn(len(randomWatches))]
		if i > 1 && r.Intn(3) == 0 {
			p.and = c.phases[r.Intn(i)]
		}
		if i > 0 {
			p.from = c.phases[r.Intn(i)]
			if p.byCell = p.from.cells == p.cells && r.Intn(10) < 6; p.byCell {
				p.axis = p.from.axis
			}
		}
		c.phases = append(c.phases, p)
	}
	return c
}

// randomKinds are the ways in which a phase may declare its outputs.
var randomKinds = []string{"path", "path", "dir", "glob"}

// randomChecks lists checks of outputs: each output passes all of them.
var randomChecks = []string{`"nonempty"`, `"exists"`, `{ command = "true" }`}

// randomLifecycles lists attributes of a phase's lifecycle.
var randomLifecycles = []string{"", "prevent_rerun = true", "rerun_on_input_bytes = true", "ignore_changes = [param.q]"}

// randomMetrics lists patterns of metrics: no output has text of the last one.
var randomMetrics = []string{"", "^(.)", "([0-9]+)", "(nothing)"}

// randomActions lists what the campaign may have done with failures of its own kind.
var randomActions = []string{"", "", "", "retry", "hold", "fail"}

// randomWatches lists attributes of a phase's watch; one forbids what failing jobs print.
var randomWatches = []string{"", "", `forbid = ["^some error of"]`, `stalled_after = "30s"`, `ready {
        match  = "^began"
        within = "20s"
      }`}

// randomCheckpoints are how a phase may name its checkpoints.
var randomCheckpoints = []string{"", "", `path = "ck/WORK"`, `glob = "ck/WORK/*"`}

// text is the campaign's file.
func (c *randomCampaign) text() string {
	var b strings.Builder
	state := ""
	if c.state != "" {
		state = fmt.Sprintf("\n  state \"file\" { path = %q }\n", c.state)
	}
	fmt.Fprintf(&b, "campaign \"random\" {%s}\n%s", state, strings.ReplaceAll(c.backend+c.other, "SLOTS", fmt.Sprint(c.slots)))
	if c.limit > 0 {
		fmt.Fprintf(&b, "budget \"time\" { limits = { cpu_hours = %.4f } }\n", float64(c.limit)/12+0.001)
	}
	for _, p := range c.phases {
		cell := "0"
		fmt.Fprintf(&b, "phase %q {\n", p.name)
		if p.cells > 1 {
			cell = "${cell." + p.axis + "}"
			fmt.Fprintf(&b, "  grid { axes = { %s = range(%d) } }\n", p.axis, p.cells)
		}
		fmt.Fprintf(&b, "  place {\n%s  }\n  params = {\n    p = %d\n    q = 0\n  }\n", c.places(p), p.param)
		if p.after != nil {
			fmt.Fprintf(&b, "  depends_on = [phase.%s]\n", p.after.name)
		}
		if p.order > 0 && p.cells > 1 {
			fmt.Fprintf(&b, "  order = %d * cell.%s\n", p.order-2, p.axis)
		}
		if p.cap > 0 {
			fmt.Fprintf(&b, "  max_parallel = %d\n", p.cap)
		}
		if p.source > 0 {
			fmt.Fprintf(&b, "  source { include = [\"src/%s.txt\"] }\n", p.work)
		}
		fmt.Fprintf(&b, "  job {\n    command = \"P=${param.p} Q=${param.q}%s %s %s%s %g ${output.o}\"\n    resources {\n      cpus     = %d\n      walltime = %q\n    }\n", p.variables(), c.job, p.work, cell, p.nap, p.cpus, p.walltime)
		files := map[string]string{"glob": "/*"}[p.kind]
		fmt.Fprintf(&b, "    output \"o\" {\n      %s   = \"%s/%s%s%s\"\n      verify = %s\n    }\n", p.kind, p.folder, p.work, cell, files, p.verify)
		if p.two {
			fmt.Fprintf(&b, "    output \"t\" { path = \"%s/%s%s.t\" }\n", p.folder, p.work, cell)
		}
		if p.watch != "" {
			fmt.Fprintf(&b, "    watch {\n      %s\n    }\n", p.watch)
		}
		if p.metric != "" && p.kind == "path" {
			fmt.Fprintf(&b, "    metric \"m\" {\n      output = \"o\"\n      regex  = %q\n    }\n", p.metric)
		}
		if p.from != nil {
			from := map[bool]string{true: "from", false: "from_all"}[p.byCell || p.from.cells == 1]
			fmt.Fprintf(&b, "    input \"i\" {\n      %s = phase.%s.output.%s\n", from, p.from.name, map[bool]string{true: "t", false: "o"}[p.reads && p.from.two])
			if p.require != "" && from == "from_all" {
				fmt.Fprintf(&b, "      require = %q\n", p.require)
			}
			b.WriteString("    }\n")
		}
		if p.and != nil {
			fmt.Fprintf(&b, "    input \"j\" { %s = phase.%s.output.o }\n", map[bool]string{true: "from", false: "from_all"}[p.and.cells == 1], p.and.name)
		}
		if p.raw > 0 {
			fmt.Fprintf(&b, "    input \"raw\" { path = \"raw/%s.txt\" }\n", p.work)
		}
		b.WriteString(p.staged() + "  }\n")
		if p.needs {
			fmt.Fprintf(&b, "  precondition { file = %q }\n", filepath.Join(filepath.Dir(c.job), "ready"))
		}
		if p.smoke {
			canary := ""
			if p.canary {
				canary = "    params = { q = 1 }\n    canary { params = { q = 2 } }\n"
			}
			fmt.Fprintf(&b, "  smoke {\n    cells = [{ %s = 0 }, { %s = 1 }]\n%s%s  }\n", p.axis, p.axis, p.smokes, canary)
		}
		if p.trial && p.cells > 1 {
			fmt.Fprintf(&b, "  trial {\n    hypothesis = \"none fails\"\n    varies     = [%q]\n    baseline   = { %s = 0 }\n    judge      = \"failed_share\"\n  }\n", p.axis, p.axis)
		}
		if p.checkpoint != "" {
			fmt.Fprintf(&b, "  checkpoint {\n    %s\n    interval = \"1s\"\n  }\n", strings.ReplaceAll(p.checkpoint, "WORK", p.work+cell))
		}
		if p.pilot {
			b.WriteString("  pilot { cells = \"ends\" }\n")
		}
		b.WriteString(c.retries(p))
		if p.breaker {
			b.WriteString("  breaker { same_error = 2 }\n")
		}
		if p.lifecycle != "" {
			b.WriteString("  lifecycle { " + p.lifecycle + " }\n")
		}
		b.WriteString("}\n")
		if p.adopts {
			fmt.Fprintf(&b, "import { to = phase.%s }\n", p.name)
		}
	}
	if i := slices.IndexFunc(c.phases, func(p *randomPhase) bool { return p.action != "" }); i >= 0 {
		fmt.Fprintf(&b, "failure \"some_error\" {\n  match  = \"some error of\"\n  action = %q\n}\n", c.phases[i].action)
	}
	for _, m := range c.moved {
		fmt.Fprintf(&b, "moved {\n  from = %s\n  to   = %s\n}\n", m[0], m[1])
	}
	return b.String()
}

// retries is the block for what happens after a failure.
func (c *randomCampaign) retries(p *randomPhase) string {
	if !p.retry {
		return ""
	}
	text := "  retry {\n    on           = [\"unknown\", \"bad_output\", \"killed\", \"node_failure\"]\n    max_attempts = 2\n    delay        = \"" + cmp.Or(p.delay, "1s") + "\"\n"
	if p.scales {
		text += "    scale \"unknown\" {\n      cpus     = 2\n      walltime = 1.5\n    }\n"
	}
	if p.over && c.other != "" {
		text += "    on \"unknown\" { place = [" + c.there + "] }\n"
	}
	return text + "  }\n"
}

// staged is the block for files that a job has in a scratch folder.
func (p *randomPhase) staged() string {
	var in []string
	if p.from != nil {
		in = append(in, "input.i")
	}
	if p.raw > 0 {
		in = append(in, "input.raw")
	}
	if p.and != nil {
		in = append(in, "input.j")
	}
	text := ""
	if p.in && in != nil {
		text += "      stage_in = [" + strings.Join(in, ", ") + "]\n"
	}
	if p.out {
		text += "      stage_out = [output.o]\n"
	}
	if text == "" {
		return ""
	}
	return "    scratch {\n" + text + "    }\n"
}

// variables tell the program what it reads and writes.
func (p *randomPhase) variables() (text string) {
	if p.kind != "path" {
		text += " DIR=1"
	}
	if p.raw > 0 {
		text += " RAW=${input.raw}"
	}
	if p.source > 0 {
		text += " SRC=src/" + p.work + ".txt"
	}
	if p.from != nil {
		text += " IN=${input_file.i}"
	}
	if p.and != nil {
		text += " AND=${input_file.j}"
	}
	if p.two {
		text += " TWO=${output.t}"
	}
	return text
}

// output is the text that a job of the campaign as it is now writes: it has all that it reads in it.
func (p *randomPhase) output(cell int) string {
	text := fmt.Sprintf("%s%d %d", p.work, cell, p.param)
	if p.raw > 0 {
		text += fmt.Sprintf(" raw %d", p.raw)
	}
	if p.source > 0 {
		text += fmt.Sprintf(" source %d", p.source)
	}
	if p.from != nil {
		h := md5.New()
		for m := range p.from.cells {
			if !p.byCell || m == cell {
				io.WriteString(h, p.from.output(m))
			}
		}
		text += fmt.Sprintf(" reads %x", h.Sum(nil))
	}
	if p.and != nil {
		h := md5.New()
		for m := range p.and.cells {
			if p.axis != p.and.axis || m == cell { // those of the same key on axes that both have
				io.WriteString(h, p.and.output(m))
			}
		}
		text += fmt.Sprintf(" and %x", h.Sum(nil))
	}
	return text + "\n"
}

// places are the attributes of where a phase's jobs may run.
func (c *randomCampaign) places(p *randomPhase) string {
	text := "    candidates = [" + c.candidates(p) + "]\n"
	if p.overflow && c.other != "" && p.at == 0 {
		text += "    overflow   = [" + c.there + "]\n"
	}
	if p.prefer != "" {
		text += fmt.Sprintf("    prefer     = %q\n", p.prefer)
	}
	return text
}

// candidates are where a phase's jobs may run.
func (c *randomCampaign) candidates(p *randomPhase) string {
	switch {
	case c.other == "" || p.at == 0:
		return c.place
	case p.at == 1:
		return c.there
	}
	return c.place + ", " + c.there
}

// rename gives a phase another name, with a block that says so or without.
func (c *randomCampaign) rename(p *randomPhase, says bool) {
	old := p.name
	if p.name += "x"; says {
		c.moved = append(c.moved, [2]string{"phase." + old, "phase." + p.name})
	} else {
		c.forget(old)
	}
}

// forget takes out what leads to a name that is no longer there.
func (c *randomCampaign) forget(name string) {
	c.moved = slices.DeleteFunc(c.moved, func(m [2]string) bool {
		to, _, _ := strings.Cut(strings.TrimPrefix(m[1], "phase."), "[")
		return strings.TrimRight(to, "x") == strings.TrimRight(name, "x")
	})
}

// rekey gives the axis of a phase another name, with blocks that say so for each job or without.
func (c *randomCampaign) rekey(p *randomPhase, says bool) {
	old := p.axis
	if p.axis += "y"; !says {
		c.forget(p.name)
		return
	}
	for k := range p.cells {
		job := func(axis string) string { return fmt.Sprintf(`phase.%s["%s=%d"]`, p.name, axis, k) }
		c.moved = append(c.moved, [2]string{job(old), job(p.axis)})
	}
}

// joined reports whether another phase is joined to a phase cell by cell.
func (c *randomCampaign) joined(p *randomPhase) bool {
	return slices.ContainsFunc(c.phases, func(q *randomPhase) bool { return q.byCell && (q == p || q.from == p) })
}

// readers reports whether a phase's files are read.
func (c *randomCampaign) readers(p *randomPhase) bool {
	for _, q := range c.phases {
		if q.from == p || q.after == p || q.and == p {
			return true
		}
	}
	return false
}

// grow changes how many cells a phase has, where no other is joined to it cell
// by cell.
func (c *randomCampaign) grow(p *randomPhase, by int) bool {
	if c.joined(p) || p.cells == 1 {
		return false
	}
	p.cells = max(2, p.cells+by)
	return true
}

// randomJob writes down what it is in its checkpoint, which no other work may find. It notes its start under its launch, whether another launch of the same
// work runs beside it, and its end; a file in ROOT/fail has it fail, one in
// ROOT/bad end well without its output. One that was killed leaves its file in
// ROOT/live: when a process began tells it from whoever has its id later, as
// after a host has crashed, which gives out the same ids again.
const randomJob = `#!/bin/sh
kind=run
case $3 in */.muster/smoke/*) kind=smoke ;; esac
began() { awk '$3 != "Z" { print $22 }' "/proc/$1/stat" 2>/dev/null; }
for other in ROOT/live/$kind-$1.*; do
  pid=${other##*.}
  was=$(cat "$other" 2>/dev/null)
  [ -n "$was" ] && [ "$was" = "$(began "$pid")" ] && echo "beside $1 $MUSTER_TOKEN/$MUSTER_RESTART $pid" >> ROOT/record
done
began $$ > "ROOT/live/$kind-$1.$$"
echo "start $1 $MUSTER_TOKEN/$MUSTER_RESTART $kind" >> ROOT/record
ck=${MUSTER_CHECKPOINT:-}
if [ -n "$ck" ]; then
  case $ck in */) ck=${ck}last ;; esac
  [ ! -d "$ck" ] || ck=$ck/last
  was=$(cat "$ck" 2>/dev/null)
  me="$1 $P"
  [ $kind = run ] || me="$1 $P $Q $MUSTER_TOKEN"
  [ -z "$was" ] || [ "$was" = "$me" ] || echo "resumed $me $MUSTER_TOKEN/$MUSTER_RESTART from $was" >> ROOT/record
  mkdir -p "$(dirname "$ck")"
  echo "$me" > "$ck"
fi
echo "began $1"
sleep "$2"
if [ -e "ROOT/fail/$1" ]; then
  echo "some error of $1"
  rm -f "ROOT/live/$kind-$1.$$"
  exit 3
fi
text="$1 $P"
[ -z "$RAW" ] || text="$text $(cat "$RAW")"
[ -z "$SRC" ] || text="$text $(cat "$SRC")"
all() {
  while read -r f; do
    [ ! -d "$f" ] || f=$f/r
    cat "$f"
  done < "$1" | md5sum | cut -d' ' -f1
}
[ -z "$IN" ] || text="$text reads $(all "$IN")"
[ -z "$AND" ] || text="$text and $(all "$AND")"
out=$3
if [ -n "$DIR" ]; then
  mkdir -p "$3"
  out=$3/r
fi
[ -e "ROOT/bad/$1" ] || echo "$text" > "$out"
[ -z "$TWO" ] || echo "$text" > "$TWO"
echo "end $1 $MUSTER_TOKEN/$MUSTER_RESTART" >> ROOT/record
rm -f "ROOT/live/$kind-$1.$$"
`

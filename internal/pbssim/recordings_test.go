package pbssim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// A recording is a command and its answer.
type recording struct{ cmd, out, err, rc string }

func recordings(t testing.TB) map[string]*recording {
	t.Helper()
	a, err := txtar.ParseFile("testdata/recordings.txtar")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*recording{}
	for _, f := range a.Files {
		name, part, _ := strings.Cut(f.Name, "/")
		r := all[name]
		if r == nil {
			r = &recording{}
			all[name] = r
		}
		*map[string]*string{"cmd": &r.cmd, "out": &r.out, "err": &r.err, "rc": &r.rc}[part] = string(f.Data)
	}
	return all
}

// story is the session that was recorded, in its order. A line is a recording, or
// what happened beside: "! COMMAND" by alice, "!root COMMAND", "!wait ID STATE [RUN]",
// "!next ID" for ids that other submissions took, "!event ..." of the server, and
// "!slow" and "!fast": whether limits of time and memory are enforced, "!give-up":
// output that cannot be copied is not tried any longer.
const story = `
version nocommand qstat-empty-json qstat-empty qstat-Bf-json qstat-B qstat-Qf-json qstat-Qf-one-json qstat-Q
pbsnodes-json pbsnodes pbsnodes-S qmgr-server down-qstat down-qstat-refused down-qsub
!next 123
!slow
qsub
!wait 123 F
qsub-directives qsub-stdin qsub-executable qsub-project-account qsub-route qsub-fails qsub-signals qsub-walltime qsub-walltime-trap
qsub-mem qsub-array
!wait 129 F
` + arrayEnds + `
qsub-array-slow qsub-array-held qsub-afterok qsub-afterok-array qsub-afterok-fails-later qsub-afterok-of-finished-ok
qsub-afterok-of-finished-failed qsub-afterany-of-finished qsub-afterok-of-unknown qsub-hold qsub-begin qsub-waits qsub-never-fits
qsub-run qsub-odd-values qsub-odd-quotes qsub-numeric-name qsub-long-name qsub-paused-queue qsub-debug-1 qsub-debug-2 qsub-debug-3
qsub-output-direct qsub-not-rerunnable qsub-rerunnable qsub-output-unwritable
err-option err-queue err-queue-closed err-queue-not-yours err-queue-route-only err-resource-unknown err-root err-script-missing
err-select-syntax err-variable-quote err-variable-unset err-walltime-queue err-walltime-syntax err-nodes-queue err-name-bad
err-name-too-long err-depend-syntax err-array-syntax err-array-too-big err-array-cap-without-array qsub-interactive-refused
!next 169
err-script-empty
!next 172
! for i in 4 5 6 7 8; do qsub -N fill$i -q debug -h -- /bin/true; done
err-queue-limit
! touch hold.afterarr go.0 go.1 go.2
!wait 135[3] R
!wait 135[4] R
!wait 135[5] R
!wait 142 F
!wait 140 F
!wait 157 F
!wait 160 E
qstat-queued-json qstat-never-fits-json qstat-running-json qstat-held-json qstat-dependent-json qstat-waiting-begin-json
qstat-queue-limit-json qstat-queue-stopped-json qstat-odd-values-json qstat-odd-values qstat-odd-values-dsv qstat-odd-quotes-json
qstat-numeric-name-json qstat-long-name qstat-running-f qstat-running-f-w qstat-running-dsv
qstat qstat-a qstat-u qstat-s qstat-all-json qstat-all-history-json
qstat-array qstat-array-json qstat-array-tasks qstat-array-tasks-json qstat-array-element
qstat-others-job qstat-unknown qstat-unknown-json qstat-bad-id qstat-queue-unknown qstat-some-unknown-json qstat-some-finished-json
qstat-finished-without-x qstat-finished-without-x-json
!fast
!wait 131 F
!wait 132 F
!wait 133 F
!wait 139 F
qstat-all-tasks-json
qstat-T
!estimate 135[] (pbs1:ncpus=1) 2m
!estimate 156 (pbs1:ncpus=1) 10m
!estimate 146 (pbs1:ncpus=64:ngpus=4) 50000h
qstat-estimated-json qstat-T-estimated
!give-up
!wait 160 F
qselect-user qselect-name
qhold qstat-after-hold qrls qalter-name qalter-walltime qalter-array-cap qalter-running-refused qrls-not-yours
qdel-array-element qdel-array-range qstat-array-after-element-qdel qdel-array qdel-held qdel-not-yours qdel-running
!wait 148 F
qdel-twice qdel-finished qdel-unknown qdel-bad-id qdel-several
!wait 154 F
!wait 155 F
!wait 156 R
qdel-force
!wait 156 F
qrerun qrerun-by-root
!wait 128 R 2
qstat-after-rerun
! touch go.3 go.4 go.5 go.6 go.7 go.8 go.9
!wait 138 R
pbsnodes-offline pbsnodes-l pbsnodes-offline-json
! rm hold.afterarr
!wait 138 F
qsig
!wait 128 F
!wait 137 F
qdel-dependency-target
!next 178
qsub-node-offline
!root qmgr -c 'set server node_fail_requeue = 3600'
!event node-down pbs1
pbsnodes-clear pbsnodes-down-json qstat-node-just-down-json qstat-node-offline-json
!root qmgr -c 'set server node_fail_requeue = 1'
!wait 158 F
!wait 159 Q
qstat-node-down-json
!event node-up pbs1
!wait 178 F
!wait 159 R
qstat-node-back-json qdel-after-node-back
!wait 159 F
!wait 146 F
job-output job-output-names qstat-undelivered
qstat-x-ok-json qstat-x-f3-json qstat-x-seg-json qstat-x-wt-json qstat-x-f qstat-x-trm-json qstat-x-mem-json qstat-x-arr-json qstat-x-sarr-json
qstat-x-harr-json qstat-x-hld-json qstat-x-run-json qstat-x-dep-json qstat-x-depa-json qstat-x-depf-json qstat-x-depu-json qstat-x-gpu-json
qstat-x-late-json qstat-x-late3-json qstat-x-deq-json qstat-x-nof-json qstat-x-d3-json qstat-x-dir-json qstat-x-dwn-json qstat-x-nrr-json
qstat-x-rrn-json qstat-x-array-element-json qstat-x-array-tasks-json qstat-x-array-tasks qstat-x-all-json qstat-x qstat-H
qdel-x-history qstat-x-purged
`

// notPlayed are recordings of a program for root on the server that muster does
// not use.
var notPlayed = []string{"tracejob", "tracejob-running"}

// arrayEnds lets the elements of the first array end in their order.
const arrayEnds = `!wait 134[0] X
!wait 134[1] X
!wait 134[2] X
!wait 134[3] X
!wait 134[4] X
!wait 134[5] X
!wait 134[6] X
!wait 134[7] X
!wait 134[8] X
! touch go.odd
!wait 134[] F`

var sessionScripts = map[string]string{
	"ok.sh":         `cd $PBS_O_WORKDIR; while [ -e hold.$PBS_JOBNAME ]; do sleep 0.1; done; echo "id=$PBS_JOBID index=${PBS_ARRAY_INDEX:-none} dir=$PWD x=${MUSTER_RUN:-none}"`,
	"directives.sh": "#PBS -N fromscript\n#PBS -q debug\n#PBS -l select=1:ncpus=2 -l walltime=00:02:00\necho hello",
	"fail3.sh":      "exit 3",
	"seg.sh":        "sh -c 'kill -SEGV $$'",
	"sleep60.sh":    "sleep 600",
	"sleep600.sh":   "sleep 600",
	"term.sh":       "trap 'exit 76' TERM\nwhile :; do sleep 0.1; done",
	"mem.sh":        "head -c 150m /dev/zero | tail -c 150m | sleep 600",
	"odd.sh":        "[ $PBS_ARRAY_INDEX != 9 ] || until [ -e $PBS_O_WORKDIR/go.odd ]; do sleep 0.05; done\nexit $((PBS_ARRAY_INDEX % 3))",
	"array-slow.sh": "until [ -e $PBS_O_WORKDIR/go.$PBS_ARRAY_INDEX ]; do sleep 0.05; done",
	"empty.sh":      "",
}

// volatile matches values that differ from one session to the next: times,
// process ids, memory, the slots on a node, and the user's folders.
var volatile = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d at \d\d:\d\d`), "MINUTE"},
	{regexp.MustCompile(`((?:history_)?timestamp|last_\w+_time)("?:\t| = |=)\d+`), "$1${2}N"},
	{regexp.MustCompile(`(?m)^\s*"?session_id("?:\t| = ).*\n`), ""},
	{regexp.MustCompile(`\|session_id=\d+`), ""},
	{regexp.MustCompile(`(resources_used\.)?(cpupercent|cput|mem|vmem|walltime)("?:\t| = |=)"?[\d:]+(kb)?"?(,?)\n`), "$2=USED$5\n"},
	{regexp.MustCompile(`resources_used\.(cpupercent|cput|mem|vmem|walltime)=[\d:]+(kb)?`), "$1=USED"},
	{regexp.MustCompile(`-a \d{12}\.\d\d`), "-a TIME"},
	{regexp.MustCompile(`"jobs":\t\["128.pbs1", "138.pbs1", "128.pbs1", `), `"jobs":	["128.pbs1", "138.pbs1", `}, // of both runs of 128
	{regexp.MustCompile(`pbs1/\d+`), "pbs1/N"},
	{regexp.MustCompile(`(R: \d+) A: \d+`), "$1 A: N"},
	{regexp.MustCompile(`total_jobs":\t\d+`), "total_jobs:N"},
	{regexp.MustCompile(`(?m)^pbs1( +)0 +\d+ `), "pbs1${1}0 N "},
	{regexp.MustCompile(`PBS_O_PATH("?:\t"|=)[^",\n]*`), "PBS_O_PATH${1}PATH"},
	{regexp.MustCompile(`(?m)^(\S+ +\S+ +\S+ +)\d\d:\d\d:\d\d`), "${1}HH:MM:SS"},
	{regexp.MustCompile(`(?m)^(\S+ +\S+ +\S+ +\S+) +(\d+|--) +(\d+ +\d+ .*)$`), "$1 PID $3"},
	{regexp.MustCompile(`(?m)( [BEFQR]) \d\d:\d\d( |$)`), "$1 HH:MM$2"},
	{regexp.MustCompile(`(jobdir"?:\t"| = )/home/alice`), "${1}HOME"},
}

func settled(text, home string) string {
	if !strings.HasPrefix(text, "{") { // TestWrapping has the lines of text
		text = strings.ReplaceAll(text, "\n\t", "")
	}
	text = strings.ReplaceAll(text, home, "/home/alice")
	for _, v := range volatile {
		text = v.re.ReplaceAllString(text, v.to)
	}
	return text
}

// A player runs recorded commands.
type player struct {
	*site
	all  map[string]*recording
	seen map[string]bool
	ids  map[string]string // of a real server: those of the recordings by its own
}

// play runs a recording's command and compares the answer.
func (p *player) play(name string) {
	p.t.Helper()
	r := p.all[name]
	if r == nil {
		p.t.Fatalf("no recording %s", name)
	}
	p.seen[name] = true
	line := strings.TrimSpace(r.cmd)
	user := "alice"
	if rest, ok := strings.CutPrefix(line, "runuser -u bob -- "); ok {
		user, line = "bob", rest
	}
	if slices.Contains([]string{"err-root", "pbsnodes-offline", "pbsnodes-clear", "qrerun-by-root"}, name) {
		user = "root"
	}
	line = strings.ReplaceAll(strings.ReplaceAll(line, "/home/alice/lab", p.dir), "/home/alice", p.home)
	if !p.real {
		line = strings.ReplaceAll(line, "$(sed -n 's/^PBS_HOME=//p' /etc/pbs.conf)", p.Dir)
	}
	if name == "qsub-begin" {
		line = "at=$(date -d '1 hour' +%Y%m%d%H%M.%S); " + strings.ReplaceAll(line, "202611210328.44", "$at")
	}
	out, errs, rc := p.as(user, p.actual(line))
	p.learn(out, r.out)
	p.same(name+": out", out, r.out)
	p.same(name+": err", errs, r.err)
	if fmt.Sprintln(rc) != r.rc {
		p.t.Errorf("%s: exit %d, want %s%s", name, rc, r.rc, errs)
	}
}

func (p *player) same(what, got, want string) {
	p.t.Helper()
	if p.real {
		got, want = p.recordedIDs(strings.ReplaceAll(got, p.dir, "/home/alice/lab")), spaces.ReplaceAllString(want, " ")
	}
	got, want = settled(got, p.home), settled(want, "/home/alice")
	if got != want {
		p.t.Errorf("%s differs:\n%s", what, difference(got, want))
	}
}

// difference are the first lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	return "got:\n" + strings.Join(g[max(0, i-2):min(len(g), i+6)], "\n") + "\nwant:\n" + strings.Join(w[max(0, i-2):min(len(w), i+6)], "\n")
}

// tell carries out a line of the story that is no recording.
func (p *player) tell(line string) {
	p.t.Helper()
	words := strings.Fields(line)
	s := p.Server
	switch words[0] {
	case "!":
		if _, errs, rc := p.as("alice", line[2:]); rc != 0 {
			p.t.Fatalf("%s: exit %d, %s", line, rc, errs)
		}
	case "!root":
		if _, errs, rc := p.as("root", strings.Join(words[1:], " ")); rc != 0 {
			p.t.Fatalf("%s: exit %d, %s", line, rc, errs)
		}
	case "!wait":
		j := p.wait(p.actual(words[1]+".pbs1"), words[2])
		for len(words) > 3 && fmt.Sprint(j["run_count"]) != words[3] {
			j = p.wait(words[1]+".pbs1", words[2])
		}
	case "!next":
		s.mu.Lock()
		fmt.Sscan(words[1], &s.next)
		s.mu.Unlock()
	case "!slow", "!fast":
		s.mu.Lock()
		s.lenient = words[0] == "!slow"
		s.cfg.Copy = time.Hour
		s.mu.Unlock()
	case "!give-up":
		s.mu.Lock()
		s.cfg.Copy = 0
		s.mu.Unlock()
	case "!estimate":
		in, err := time.ParseDuration(words[3])
		if err != nil {
			p.t.Fatal(err)
		}
		for k, v := range map[string]string{"exec_vnode": words[2], "start_time": strconv.FormatInt(time.Now().Add(in).Unix(), 10)} {
			if err := s.Happen("set", words[1], "estimated."+k, v); err != nil {
				p.t.Fatal(err)
			}
		}
	case "!event":
		if err := s.Happen(words[1:]...); err != nil {
			p.t.Fatal(err)
		}
	default:
		p.t.Fatalf("%q is no line of a story", line)
	}
}

func (p *player) playAll(story string) {
	p.t.Helper()
	for line := range strings.Lines(strings.TrimSpace(story)) {
		if line[0] == '!' {
			p.tell(strings.TrimSpace(line))
			continue
		}
		for _, name := range strings.Fields(line) {
			p.play(name)
		}
	}
}

// TestRecordings plays the session that was recorded, in which every answer of a
// real server is given by the stand-in, too.
func TestRecordings(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hundreds of processes: make test runs it")
	}
	all := recordings(t)
	config := all["qmgr-server"].out + "create node pbs1 resources_available.ncpus=64,resources_available.ngpus=4,resources_available.mem=256gb\n"
	p := &player{site: start(t, Config{Qmgr: config}), all: all, seen: map[string]bool{}}
	p.dir = filepath.Join(p.home, "lab")
	p.setUp()
	p.playAll(story)
	for name := range all {
		if !p.seen[name] && !slices.Contains(notPlayed, name) {
			t.Errorf("%s was not played", name)
		}
	}
}

func (p *player) setUp() {
	if err := os.MkdirAll(filepath.Join(p.dir, "out"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	for name, text := range sessionScripts {
		p.script(name, text)
	}
	// What earlier sessions left.
	if err := os.WriteFile(p.path("undelivered", "34.pbs1.OU"), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.nodes[0].a["last_used_time"] = moved(1795228055)
	defer p.mu.Unlock()
	imported(p.t, p.Server, p.all["qstat-all-tasks-json"].out, func(seq int) bool { return seq < 123 })
}

// imported gives a server the jobs of an answer of qstat in JSON.
func imported(t testing.TB, s *Server, text string, want func(seq int) bool) {
	t.Helper()
	for _, m := range parts(t, parts(t, text)[3].value) {
		id, ok := parseID(m.name)
		if !ok || !want(id.seq) {
			continue
		}
		a, vars := attrs{}, []string(nil)
		for _, f := range parts(t, m.value) {
			if !strings.HasPrefix(f.value, "{") {
				a[f.name] = plain(t, f.name, f.value)
				continue
			}
			for _, g := range parts(t, f.value) {
				if f.name == "Variable_List" {
					vars = append(vars, g.name+"="+plain(t, g.name, g.value))
				} else {
					full := f.name + "." + g.name
					a[full] = plain(t, full, g.value)
				}
			}
		}
		if id.element != "" {
			index, _ := strconv.Atoi(id.element)
			j := s.bySeq[id.seq]
			if a["array_index"] == "" {
				a = attrs{"job_state": a["job_state"], "substate": a["substate"]}
			}
			j.Tasks = append(j.Tasks, &task{Index: index, A: a})
			continue
		}
		j := &job{Seq: id.seq, A: a, Vars: vars, Array: id.array}
		if !id.array {
			j.Tasks = []*task{{Index: -1, A: attrs{"job_state": a["job_state"], "substate": a["substate"]}}}
			for _, k := range append([]string{"history_timestamp", "comment", "run_count"}, runKeys...) {
				if v, ok := a[k]; ok {
					j.Tasks[0].A[k] = v
				}
			}
		}
		s.add(j)
	}
}

// A member is one of a JSON object, with its value as written.
type member struct{ name, value string }

func parts(t testing.TB, text string) (list []member) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, member{name.(string), string(v)})
	}
	return list
}

// moved is a time of the recordings as if they were made now.
func moved(at int64) string { return strconv.FormatInt(at-1795228121+time.Now().Unix(), 10) }

// plain is a value as the server keeps it.
func plain(t testing.TB, name, value string) string {
	t.Helper()
	if value == "null" {
		return value
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && name == "history_timestamp" {
		return moved(n)
	}
	var v string
	if json.Unmarshal([]byte(value), &v) != nil {
		return value
	}
	if slices.Contains(timeKeys, name) {
		at, err := time.ParseInLocation(time.ANSIC, v, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return moved(at.Unix())
	}
	return v
}

// TestWrapping breaks the recorded lines of text where the real qstat did.
func TestWrapping(t *testing.T) {
	t.Parallel()
	all := recordings(t)
	for _, name := range []string{"qstat-running-f", "qstat-odd-values", "qstat-x-f"} {
		text := all[name].out
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\n\t", "\x00"), "\n") {
			name, value, ok := strings.Cut(line, " = ")
			if !ok {
				continue
			}
			var b strings.Builder
			wrap(&b, strings.ReplaceAll(value, "\x00", ""), len(name)+len(" = "))
			if want := strings.ReplaceAll(value, "\x00", "\n\t"); b.String() != want {
				t.Errorf("%s:\n%s\nwant:\n%s", name, &b, want)
			}
		}
	}
}

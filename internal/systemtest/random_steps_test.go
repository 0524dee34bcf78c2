package systemtest

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

// all is an apply that covers whatever the plan asks for.
func all(more ...string) []string {
	return append([]string{"apply", "-auto-approve", "-allow-rerun", "-allow-cancel"}, more...)
}

// step does one thing.
func (u *randomUser) step() {
	u.t.Helper()
	steps := []struct {
		weight int
		do     func()
	}{
		{2, func() { u.muster(all()...) }},
		{3, func() { u.killed(syscall.SIGINT, all()...) }},
		{1, func() { u.killed(syscall.SIGTERM, all()...) }},
		{3, func() { u.killed(syscall.SIGKILL, all()...) }},
		{3, func() { u.disturbed() }},
		{3, func() { u.muster(all("-detach")...) }},
		{2, func() { u.muster(all("-once")...) }},
		{3, func() { u.muster(u.control()...) }},
		{2, func() { u.muster("resume") }},
		{3, func() { u.cut() }},
		{4, func() { u.toggle("fail") }},
		{1, func() { u.toggle("bad") }},
		{1, func() { u.ready(u.r.Intn(3) > 0) }},
		{2, func() { u.rebuild() }},
		{2, func() { u.phase().param++; u.save(); u.note("# a parameter changed") }},
		{3, func() { u.edit() }},
		{1, func() { u.grow() }},
		{1, func() { u.drop() }},
		{1, func() { u.rename() }},
		{1, func() { u.rekey() }},
		{1, func() { u.rewire() }},
		{4, func() { u.budget() }},
		{1, func() { u.muster("clean", "-auto-approve", "-older=1s", "-keep=1") }},
		{1, func() { u.muster("state", "rm", u.address()) }},
		{2, func() { u.lose() }},
		{2, func() { u.move() }},
		{3, func() { u.change() }},
		{2, func() { u.place() }},
		{2, func() { u.adopt() }},
		{1, func() { u.accept() }},
		{2, func() { u.muster(u.reading()...) }},
		{1, func() { u.campaign.slots = 1 << u.r.Intn(4); u.save(); u.note("# slots: %d", u.campaign.slots) }},
		{1, func() { u.removeOutput() }},
		{1, func() { u.muster(all("-target=" + u.address())...) }},
		{1, func() { u.muster(all("-detach", "-target="+u.address())...) }},
		{1, func() { u.killed(syscall.SIGKILL, all("-rerun="+u.address())...) }},
		{2, func() { u.saved() }},
		{1, func() { u.muster("destroy", "-auto-approve") }},
		{1, func() { u.muster("plan") }},
		{1, func() { u.muster("status") }},
		{2, func() { u.sleep(2 * time.Second) }},
	}
	if u.hosts != nil || u.troubles != nil {
		steps = append(steps, struct {
			weight int
			do     func()
		}{4, u.trouble})
	}
	if u.rented != nil { // nothing goes wrong there by itself
		steps = append(steps, struct {
			weight int
			do     func()
		}{10, func() { u.trouble(); u.trouble() }})
	}
	sum := 0
	for _, s := range steps {
		sum += s.weight
	}
	at := u.r.Intn(sum)
	for _, s := range steps {
		if at -= s.weight; at < 0 {
			s.do()
			return
		}
	}
}

func (u *randomUser) phase() *randomPhase { return u.campaign.phases[u.r.Intn(len(u.campaign.phases))] }

// address selects a phase or one of its jobs.
func (u *randomUser) address() string {
	p := u.phase()
	if p.cells > 1 && u.r.Intn(10) < 6 {
		return fmt.Sprintf(`phase.%s["%s=%d"]`, p.name, p.axis, u.r.Intn(p.cells))
	}
	return "phase." + p.name
}

// work is the name of a job's work in its program.
func (u *randomUser) work() string {
	p := u.phase()
	return fmt.Sprintf("%s%d", p.work, u.r.Intn(p.cells))
}

// control is a command that may be given at any time.
func (u *randomUser) control() []string {
	switch u.r.Intn(6) {
	case 0:
		return []string{"hold"}
	case 1:
		return []string{"hold", u.address()}
	case 2:
		return []string{"resume", u.address()}
	case 3:
		if p := u.phase(); p.smoke {
			return []string{"override", "-reason=it will do", "phase." + p.name}
		}
	case 4:
		return []string{"status", "-refresh"}
	}
	return []string{"cancel", u.address()}
}

func (u *randomUser) sleep(most time.Duration) { time.Sleep(time.Duration(u.r.Int63n(int64(most)))) }

// killed is a command that gets a signal after a while.
func (u *randomUser) killed(sig syscall.Signal, args ...string) {
	u.t.Helper()
	u.lifts(args)
	f := u.follow(args...)
	u.sleep(2500 * time.Millisecond)
	f.Process.Signal(sig)
	u.wait(f, append(args, "#", sig.String()))
}

// cut is a command of less than a second that is killed in the middle of it.
func (u *randomUser) cut() {
	all := [][]string{u.control(), u.control(), u.control(), {"resume"}, {"destroy", "-auto-approve"}, {"pull"}, {"clean", "-auto-approve", "-older=1s", "-keep=1"},
		{"state", "rm", u.address()}, {"plan", "-out=p.mplan"}, {"apply", "-refresh-only", "-auto-approve"}, all("-detach"), all("-once")}
	args := all[u.r.Intn(len(all))]
	u.lifts(args)
	f := u.follow(args...)
	u.sleep(700 * time.Millisecond)
	f.Process.Kill()
	u.wait(f, append(args, "# cut"))
}

// disturbed is an apply while which other things happen.
func (u *randomUser) disturbed() {
	u.t.Helper()
	args := all()
	if u.r.Intn(3) == 0 {
		args = all("-target=" + u.address())
	}
	f := u.follow(args...)
	for range 1 + u.r.Intn(3) {
		u.sleep(time.Second)
		switch {
		case (u.hosts != nil || u.troubles != nil) && u.r.Intn(2) == 0:
			u.trouble()
		case u.r.Intn(3) == 0:
			u.killQueue()
		case u.r.Intn(3) == 0:
			[]func(){u.edit, u.grow, u.rename, u.rekey, u.rewire, u.budget, u.drop}[u.r.Intn(7)]()
		case u.r.Intn(4) == 0:
			more := [][]string{all(), all("-once"), all("-detach"), {"destroy", "-auto-approve"}, {"state", "rm", u.address()}, {"clean", "-auto-approve", "-older=1s"}, {"pull"}}
			u.muster(more[u.r.Intn(len(more))]...)
		default:
			u.muster(u.control()...)
		}
	}
	u.wait(f, append(args, "# disturbed"))
}

// saved is a plan that is saved, and applied when something else may have been.
func (u *randomUser) saved() {
	u.t.Helper()
	os.Remove(filepath.Join(u.dir, "p.mplan"))
	u.muster("plan", "-out=p.mplan")
	switch u.r.Intn(6) {
	case 0, 1:
		u.muster(all("-detach")...)
	case 2:
		u.edit()
	case 3:
		u.muster(u.control()...)
	}
	if _, err := os.Stat(filepath.Join(u.dir, "p.mplan")); err != nil {
		return
	}
	if u.r.Intn(2) == 0 {
		u.muster("apply", "p.mplan")
		return
	}
	u.killed([]syscall.Signal{syscall.SIGINT, syscall.SIGKILL}[u.r.Intn(2)], "apply", "p.mplan")
}

// toggle has one job fail from now on, or not any more.
func (u *randomUser) toggle(how string) {
	work := u.work()
	for i := range u.roots {
		path := filepath.Join(u.root(i), how, work)
		if os.Remove(path) == nil {
			u.note("# %s on host %d: not any more", filepath.Join(how, work), i+1)
			continue
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			u.t.Fatal(err)
		}
		u.note("# %s on host %d", filepath.Join(how, work), i+1)
	}
}

// ready has the file that jobs may need be there, or not.
func (u *randomUser) ready(there bool) {
	for i := range u.roots {
		path := filepath.Join(u.root(i), "ready")
		if !there {
			os.Remove(path)
		} else if err := os.WriteFile(path, []byte("ready\n"), 0o644); err != nil {
			u.t.Fatal(err)
		}
	}
	u.note("# ready: %v", there)
}

// rebuild changes a backend: its name, its workdir, or whether the campaign has it at all.
func (u *randomUser) rebuild() {
	c := &u.campaign
	switch was, what := c.backend, u.r.Intn(3); {
	case what == 0:
		of, old := c.place[:strings.LastIndex(c.place, ".")+1], c.place[strings.LastIndex(c.place, ".")+1:]
		name := old + "2"
		if strings.HasSuffix(old, "2") {
			name = strings.TrimSuffix(old, "2")
		}
		c.backend = strings.Replace(c.backend, fmt.Sprintf("%q {", old), fmt.Sprintf("%q {", name), 1)
		c.place = of + name
	case what == 1 && u.second != "":
		c.other, u.without = u.without, c.other
	case u.workdirs[0] == "":
		return
	default:
		c.backend = regexp.MustCompile(`(workdir = ".*/work)(2?)"`).ReplaceAllStringFunc(was, func(s string) string {
			if strings.HasSuffix(s, `2"`) {
				return strings.TrimSuffix(s, `2"`) + `"`
			}
			return strings.TrimSuffix(s, `"`) + `2"`
		})
	}
	u.save()
	u.note("# backends:\n%s%s", c.backend, c.other)
}

// edit changes the policy of a phase, or what its jobs do.
func (u *randomUser) edit() {
	i := u.r.Intn(len(u.campaign.phases))
	p := u.campaign.phases[i]
	flip := func(b *bool) func() { return func() { *b = !*b } }
	next := func(n *int) func() { // a job may read a file that is edited while it runs: no version comes twice
		return func() { u.version++; *n = u.version + 1 }
	}
	all := []struct {
		what string
		do   func()
	}{
		{"smoke", flip(&p.smoke)}, {"pilot", flip(&p.pilot)}, {"retry", flip(&p.retry)}, {"breaker", flip(&p.breaker)},
		{"cap", func() { p.cap = u.r.Intn(3) }},
		{"nap", func() { p.nap += 0.01 }},
		{"place", func() { p.at = u.r.Intn(3) }},
		{"canary", flip(&p.canary)}, {"trial", flip(&p.trial)},
		{"checkpoint", func() { p.checkpoint = randomCheckpoints[u.r.Intn(len(randomCheckpoints))] }},
		{"kind of output", func() { p.kind = randomKinds[u.r.Intn(len(randomKinds))] }},
		{"check", func() { p.verify = randomChecks[u.r.Intn(len(randomChecks))] }},
		{"metric", func() { p.metric = randomMetrics[u.r.Intn(len(randomMetrics))] }},
		{"walltime", func() { p.walltime = []string{"5m", "1s", "10m"}[u.r.Intn(3)] }},
		{"need of a file", flip(&p.needs)},
		{"scratch folder", flip(&p.in)}, {"scratch folder", flip(&p.out)},
		{"order", func() { p.order = u.r.Intn(5) }},
		{"requirement", func() { p.require = []string{"", "50%", "20%"}[u.r.Intn(3)] }},
		{"delay", func() { p.delay = []string{"", "1m"}[u.r.Intn(2)] }},
		{"second output", flip(&p.two)}, {"second output, where it reads one", flip(&p.reads)},
		{"cores", func() { p.cpus = 1 + u.r.Intn(2) }},
		{"overflow", flip(&p.overflow)}, {"scale", flip(&p.scales)}, {"place after a failure", flip(&p.over)},
		{"preference", func() { p.prefer = []string{"", "order", "cheapest", "soonest"}[u.r.Intn(4)] }},
		{"action", func() { p.action = randomActions[u.r.Intn(len(randomActions))] }},
		{"watch", func() { p.watch = randomWatches[u.r.Intn(len(randomWatches))] }},
		{"second input", func() {
			if p.and = nil; i > 0 && u.r.Intn(3) > 0 {
				p.and = u.campaign.phases[u.r.Intn(i)]
			}
		}},
		{"producers to wait for", func() {
			if p.after = nil; i > 0 && u.r.Intn(2) == 0 {
				p.after = u.campaign.phases[u.r.Intn(i)]
			}
		}},
		{"raw file", next(&p.raw)},
		{"raw file", func() { p.raw = 0 }},
		{"source", next(&p.source)},
		{"source", func() { p.source = 0 }},
		{"lifecycle", func() { p.lifecycle = randomLifecycles[u.r.Intn(len(randomLifecycles))] }},
		{"output's folder", func() { p.folder = map[string]string{"out": "res", "res": "out"}[p.folder] }},
	}
	one := all[u.r.Intn(len(all))]
	if p.cells < 3 && one.what == "pilot" || p.cells < 2 && one.what == "smoke" {
		return
	}
	one.do()
	u.save()
	u.note("# phase %s: its %s changed", p.name, one.what)
}

// budget limits what may still start, or no longer does.
func (u *randomUser) budget() {
	u.campaign.limit = []int{0, 1, 2, 3, 5, 10, 30}[u.r.Intn(7)]
	u.save()
	u.note("# the budget has room for %d launches", u.campaign.limit)
}

func (u *randomUser) grow() {
	p := u.phase()
	before := p.cells
	if u.campaign.grow(p, u.r.Intn(4)-1) {
		if p.cells < before {
			u.lifted("fewer cells", u.works("phase."+p.name))
			u.campaign.forget(p.name)
		}
		u.save()
		u.note("# phase %s has %d cells", p.name, p.cells)
	}
}

// drop takes the last phase out of the campaign.
func (u *randomUser) drop() {
	c := &u.campaign
	if last := c.phases[len(c.phases)-1]; len(c.phases) > 1 && !c.readers(last) {
		u.lifted("drop", u.works("phase."+last.name))
		c.phases = c.phases[:len(c.phases)-1]
		c.forget(last.name)
		u.save()
		u.note("# phase %s is gone", last.name)
	}
}

// rename gives a phase another name.
func (u *randomUser) rename() {
	p, says := u.phase(), u.r.Intn(3) > 0
	if !says {
		u.lifted("rename", u.works("phase."+p.name))
	}
	u.campaign.rename(p, says)
	u.save()
	u.note("# a phase is called %s now, and a block says so: %v", p.name, says)
}

// rekey gives the axis of a phase another name.
func (u *randomUser) rekey() {
	p, says := u.phase(), u.r.Intn(3) > 0
	if p.cells == 1 || u.campaign.joined(p) {
		return
	}
	if !says {
		u.lifted("another axis", u.works("phase."+p.name))
	}
	u.campaign.rekey(p, says)
	u.save()
	u.note("# the axis of phase %s is called %s now, and blocks say so: %v", p.name, p.axis, says)
}

// rewire has a phase read the files of another one.
func (u *randomUser) rewire() {
	i := u.r.Intn(len(u.campaign.phases))
	if p := u.campaign.phases[i]; i > 0 && !p.byCell {
		p.from = u.campaign.phases[u.r.Intn(i)]
		u.save()
		u.note("# phase %s reads phase %s", p.name, p.from.name)
	}
}

// move moves the folder of the campaign, while no job could write there.
func (u *randomUser) move() {
	if u.rented != nil || u.others != nil || u.troubles != nil || !u.idle() {
		return
	}
	u.moves++
	to := filepath.Join(filepath.Dir(u.dir), fmt.Sprintf("moved%d", u.moves))
	if err := os.Rename(u.dir, to); err != nil {
		u.t.Fatal(err)
	}
	u.dir = to
	u.note("# the campaign's folder is %s now", to)
}

// change goes to another clone, which may have an older campaign until somebody edits it.
func (u *randomUser) change() {
	if u.others == nil {
		return
	}
	u.dir, u.others[0] = u.others[0], u.dir
	if _, err := os.Stat(u.dir); err != nil || u.r.Intn(3) > 0 {
		u.save()
	}
	u.note("# in clone %s", u.dir)
}

// lose loses the state, and recovers it.
func (u *randomUser) lose() {
	if u.rented != nil {
		return
	}
	u.healAll()
	text, code := u.muster("status", "-json")
	lineage := regexp.MustCompile(`"lineage": ?"([0-9a-f]+)"`).FindStringSubmatch(text)
	files, _ := filepath.Glob(filepath.Join(cmp.Or(u.campaign.state, u.dir), "muster.state*"))
	if code != 0 || lineage == nil || files == nil {
		return
	}
	// A person looks at what is there, before it is adopted.
	for _, p := range u.campaign.phases {
		for k := range p.cells {
			work := fmt.Sprintf("%s%d", p.work, k)
			for _, path := range append(u.outs(work), u.outs(work+".t")...) {
				if got, err := os.ReadFile(path); err == nil && string(got) != p.output(k) {
					u.unplace(path)
					os.Remove(path)
				}
			}
		}
	}
	for _, f := range files {
		os.Remove(f)
	}
	u.note("# the state is lost")
	if u.r.Intn(3) == 0 {
		u.killed(syscall.SIGKILL, "recover", "-auto-approve", "-lineage="+lineage[1])
	}
	if u.r.Intn(2) == 0 && u.moves == 0 && u.others == nil {
		u.muster("recover", "-auto-approve")
		return
	}
	u.muster("recover", "-auto-approve", "-lineage="+lineage[1])
}

// reading is a command that changes no job.
func (u *randomUser) reading() []string {
	all := [][]string{{"pull"}, {"report"}, {"cost"}, {"outputs"}, {"explain", u.address()}, {"plan", "-refresh=false"}, {"plan", "-refresh-only"},
		{"apply", "-refresh-only", "-auto-approve"}, {"rehearse"}, {"state", "list"}, {"backends"}, {"status", "-refresh"}}
	return all[u.r.Intn(len(all))]
}

// outs are the paths where a work's output may be, as seen from here.
func (u *randomUser) outs(work string) (paths []string) {
	for _, folder := range []string{"out", "res"} {
		for i := range u.roots {
			for _, workdir := range u.workdirs {
				paths = append(paths, u.out(i, filepath.Join(workdir, folder), work))
			}
		}
		if u.second != "" {
			paths = append(paths, filepath.Join(u.second, folder, work))
		}
	}
	for _, path := range slices.Clone(paths) {
		paths = append(paths, filepath.Join(path, "r")) // where it is a folder
	}
	return paths
}

// out is the path of a host's output, as seen from here.
func (u *randomUser) out(i int, folder, work string) string {
	if u.rented != nil {
		return filepath.Join(u.dir, "outputs", folder, work)
	}
	if u.hosts == nil && u.troubles == nil && u.workdirs[0] == "" {
		return filepath.Join(u.dir, folder, work)
	}
	return filepath.Join(u.root(i), folder, work)
}

// place puts a file of somebody's own in an output's place, while no job could write there.
func (u *randomUser) place() {
	if u.hosts != nil || u.rented != nil {
		return
	}
	if !u.idle() {
		return
	}
	paths := u.outs(u.work())
	path, text := paths[u.r.Intn(len(paths))], fmt.Sprintf("mine %d\n", u.r.Int())
	u.unplace(path)
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, []byte(text), 0o644) != nil {
		return
	}
	u.placed = append(u.placed, text)
	u.note("# somebody put a file at %s: %s", path, strings.TrimSpace(text))
}

// adopt has muster take files for the results of a phase, as if a script had made them.
func (u *randomUser) adopt() {
	p := u.phase()
	if u.hosts != nil || u.rented != nil || p.kind != "path" || !u.idle() {
		return
	}
	for k := range p.cells {
		work := fmt.Sprintf("%s%d", p.work, k)
		for _, path := range append(u.outs(work), u.outs(work+".t")...) {
			if got, err := os.ReadFile(path); err == nil && string(got) != p.output(k) {
				u.unplace(path)
				os.Remove(path)
			}
			if name := filepath.Base(path); (name == work || p.two && name == work+".t") && u.r.Intn(3) > 0 {
				if os.MkdirAll(filepath.Dir(path), 0o755) == nil && os.WriteFile(path, []byte(p.output(k)), 0o644) == nil {
					u.note("# somebody's script made %s", path)
				}
			}
		}
	}
	p.adopts = true
	u.save()
	u.note("# phase %s adopts files", p.name)
	if u.r.Intn(2) == 0 {
		u.killed(syscall.SIGKILL, all()...)
	}
	u.muster(all()...)
	if p.adopts = u.r.Intn(4) == 0; !p.adopts {
		u.save()
	}
}

// accept keeps the results of a phase although its jobs changed.
func (u *randomUser) accept() {
	p := u.phase()
	p.accepted = true
	u.muster(all("-accept=phase." + p.name)...)
}

// idle reports whether no job waits or runs.
func (u *randomUser) idle() bool {
	text, _ := u.muster("status", "-refresh", "-json")
	return strings.Contains(text, `"active":0,`)
}

// unplace is for a file that the user is about to remove or to replace.
func (u *randomUser) unplace(path string) {
	text, _ := os.ReadFile(path)
	u.placed = slices.DeleteFunc(u.placed, func(p string) bool { return p == string(text) })
}

// checkPlaced holds that somebody's own files are there still, where they were or moved aside.
func (u *randomUser) checkPlaced() {
	u.t.Helper()
	for _, text := range u.placed {
		found := false
		for _, root := range []string{u.dir, u.root(0)} {
			filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && !found {
					got, _ := os.ReadFile(path)
					found = string(got) == text
				}
				return nil
			})
		}
		if !found {
			u.t.Errorf("a file of somebody's own is gone: %s", text)
		}
	}
}

func (u *randomUser) removeOutput() {
	for _, path := range u.outs(u.work()) {
		u.unplace(path)
		if os.Remove(path) == nil {
			u.note("# removed output %s", path)
		}
	}
}

// killQueue kills what starts jobs.
func (u *randomUser) killQueue() {
	if u.rented != nil && u.r.Intn(2) == 0 {
		u.killAgents()
		return
	}
	if u.hosts == nil {
		u.note("# killed %d queues or providers", u.kill(u.r, []string{"queue", "provider"}))
		return
	}
	h := u.hosts[u.r.Intn(len(u.hosts))]
	h.Command("pkill", "-KILL", "-f", "muster-host-[^ ]* queue").Run()
	u.note("# killed the queue of %s", h.Name)
}

// trouble brings a fault on a host, which a later one may end, or does something to a job
// of a scheduler.
func (u *randomUser) trouble() {
	if u.troubles != nil {
		names := slices.Sorted(maps.Keys(u.troubles))
		name := names[u.r.Intn(len(names))]
		u.away = u.away || name == "hold" || u.rented != nil
		u.troubles[name]()
		return
	}
	if u.away && u.r.Intn(2) == 0 {
		u.healAll()
		return
	}
	h := u.hosts[u.r.Intn(len(u.hosts))]
	all := []struct {
		what string
		do   func()
	}{
		{"cut", h.Cut}, {"drop", h.Drop}, {"reject", h.Reject}, {"freeze", h.Freeze}, {"sshd-stop", h.StopSSHD}, {"crash", h.Crash}, {"queue", u.killQueue},
		{"loss", func() { h.Loss("0.1") }},
	}
	one := all[u.r.Intn(len(all))]
	if u.away && (one.what == "freeze" || one.what == "sshd-stop" || one.what == "queue") {
		return // there may be nobody to do it to
	}
	u.away = u.away || one.what != "queue"
	one.do()
	u.note("# %s: %s", h.Name, one.what)
}

// healAll brings every host back.
func (u *randomUser) healAll() {
	if !u.away {
		return
	}
	if u.troubles != nil {
		u.troubles["heal"]()
	}
	for _, h := range u.hosts {
		h.Heal() // first: a start waits until it can be reached
		h.Start()
		h.Thaw()
		if sshdOf(h) == "" {
			h.StartSSHD()
		}
	}
	u.away = false
	u.note("# all hosts are back")
}

// sshdOf is the listening one of a host, if it has any.
func sshdOf(h *lab.Host) string {
	return h.Exec("pgrep -x -P 1 sshd || true")
}

// makesAgain matches what an apply says of changed outputs: how to make them again.
var makesAgain = regexp.MustCompile(`-rerun='([^']+)'`)

// finish is a person who wants it done: nothing fails any more, and what is
// held is resumed.
func (u *randomUser) finish() {
	u.t.Helper()
	for i := range u.roots {
		for _, how := range []string{"fail", "bad"} {
			files, _ := filepath.Glob(filepath.Join(u.root(i), how, "*"))
			for _, f := range files {
				os.Remove(f)
			}
		}
	}
	u.ready(true)
	u.note("# nothing fails any more, and no budget or walltime limits it")
	u.campaign.limit = 0
	accepted, again := false, []string(nil)
	for _, p := range u.campaign.phases {
		p.walltime, p.lifecycle, p.adopts, p.cpus, p.delay = "5m", "", false, 1, ""
		if again = append(again, "-rerun=phase."+p.name); p.accepted {
			accepted = true
		}
	}
	u.save()
	if accepted { // what reads their files read the earlier ones
		u.muster("resume")
		u.muster(all(again...)...)
	}
	cancelled := []string{"resume"} // a cancelled job starts again only where it is named
	for _, p := range u.campaign.phases {
		cancelled = append(cancelled, "phase."+p.name)
	}
	for range 4 {
		u.muster("resume")
		u.muster(cancelled...)
		text, code := u.muster(all()...)
		if m := makesAgain.FindAllStringSubmatch(text, -1); m != nil { // somebody changed outputs
			args := all()
			for _, one := range m {
				args = append(args, "-rerun="+one[1])
			}
			_, code = u.muster(args...)
		}
		if code == 0 && !strings.Contains(text, "with changed outputs") {
			return
		}
	}
	u.t.Fatal("resume and apply, four times, do not end it")
}

// check holds what is there against the campaign as it is now.
func (u *randomUser) check() {
	u.t.Helper()
	u.checkPromises()
	text, code := u.muster("plan", "-detailed-exitcode")
	// Idle machines may still be rented.
	if code != 0 && (code != 2 || u.rented == nil || !strings.Contains(text, "Plan: 0 to run, 0 to re-run, 0 to cancel, ")) {
		u.t.Errorf("there is something left to do: exit %d", code)
	}
	if u.rented != nil {
		u.muster("pull")
	}
	for _, p := range u.campaign.phases {
		for k := range p.cells {
			work := fmt.Sprintf("%s%d", p.work, k)
			u.checkOutput(work, p.output(k), strings.Contains(text, "missing"))
			if p.two {
				u.checkOutput(work+".t", p.output(k), strings.Contains(text, "missing"))
			}
		}
	}
	u.checkPlaced()
	var all []string
	for i := range u.roots {
		record, err := os.ReadFile(filepath.Join(u.root(i), "record"))
		if err != nil && !os.IsNotExist(err) { // no job came to this host
			u.t.Fatal(err)
		}
		all = append(all, slices.Collect(strings.Lines(string(record)))...)
	}
	u.checkStarts(all)
}

// checkStarts holds that no launch started twice, and none beside another of its work on
// the same host.
func (u *randomUser) checkStarts(records []string) {
	u.t.Helper()
	started := map[string]int{}
	for _, line := range records {
		switch f := strings.Fields(line); f[0] {
		case "start":
			if started[f[2]]++; started[f[2]] > 1 {
				u.t.Errorf("launch %s of %s started %d times", f[2], f[1], started[f[2]])
			}
		case "resumed":
			u.t.Errorf("found the checkpoint of other work: %s", line)
		case "beside":
			u.t.Errorf("beside another launch of the same work on its host: %s", line)
		}
	}
}

// checkOutput holds that some host has the work's output, of the campaign as it is now.
func (u *randomUser) checkOutput(work, want string, missing bool) {
	u.t.Helper()
	var found []string
	for _, path := range u.outs(work) {
		if got, err := os.ReadFile(path); err == nil {
			found = append(found, string(got))
		}
	}
	for _, got := range found {
		if got == want {
			return
		}
	}
	if len(found) > 0 || !missing {
		u.t.Errorf("output %s is %q, want %q", work, found, want)
	}
}

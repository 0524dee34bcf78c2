package systemtest

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

// TestSystemRandomUser: whatever a person does at the command line, in whatever order,
// with jobs that fail and commands that are killed, no command hangs or ends in
// a way that is not documented, no launch starts twice, and two of the same work
// never run at once; and a person who then resumes and applies has everything
// done, as the campaign says now.
func TestSystemRandomUser(t *testing.T) {
	stories(t, func(t *testing.T, r *rand.Rand) {
		u := &randomUser{world: newWorld(t, ""), r: r, campaign: newRandomCampaign(r)}
		root := filepath.Dir(u.dir)
		u.root = func(int) string { return root }
		u.roots = 1
		workdir := ""
		if u.clone(); u.others != nil || r.Intn(2) == 0 { // clones share no folder but this
			u.workdirs = []string{"work", "work2"}
			workdir = fmt.Sprintf("  workdir = %q\n", filepath.Join(root, "work"))
		}
		u.campaign.backend = "backend \"local\" \"l\" {\n  slots = SLOTS\n  cpus  = SLOTS\n" + workdir + "}\n"
		u.campaign.place, u.campaign.job = "backend.local.l", filepath.Join(root, "job.sh")
		u.alsoHere(filepath.Join(root, "there"))
		program.Write(t, u.campaign.job, []byte(strings.ReplaceAll(randomJob, "ROOT", root)))
		u.story()
	})
}

// TestSystemSSHRandomUser: the same on two hosts that crash, freeze, and lose their
// links and their queues.
func TestSystemSSHRandomUser(t *testing.T) {
	hosts := lab.Hosts(t, 2)
	stories(t, func(t *testing.T, r *rand.Rand) {
		n := 1 + r.Intn(2)
		w := newRemote(t, hosts[:n], "")
		u := &randomUser{world: w.world, r: r, campaign: newRandomCampaign(r), hosts: hosts[:n], roots: n}
		u.root, u.workdirs = func(i int) string { return hosts[i].Path(w.folder) }, []string{"work", "work2"}
		names := map[int]string{1: `host    = "h1"`, 2: `hosts   = ["h1", "h2"]`}[n]
		u.campaign.backend = "backend \"ssh\" \"l\" {\n  " + names + "\n  workdir = \"" + w.folder + "/work\"\n  cpus    = SLOTS\n}\n"
		u.campaign.place, u.campaign.job = "backend.ssh.l", w.folder+"/job.sh"
		for i := range n {
			program.Write(t, filepath.Join(u.root(i), "job.sh"), []byte(strings.ReplaceAll(randomJob, "ROOT", w.folder)))
		}
		u.clone()
		defer u.healAll()
		u.story()
	})
}

// stories plays one after another for a minute, or for MUSTER_RANDOM_FOR. Each
// has a seed of its own, from 1 on or from MUSTER_TEST_SEED: a change is judged by
// the same stories as the one before it, and who looks for new ones names a seed.
func stories(t *testing.T, play func(*testing.T, *rand.Rand)) {
	needs.System(t, "plays a user for a minute")
	seed, length := int64(1), time.Minute
	if s := os.Getenv("MUSTER_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseInt(s, 10, 64)
	}
	if s := os.Getenv("MUSTER_RANDOM_FOR"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatalf("MUSTER_RANDOM_FOR: %v", err)
		}
	}
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("MUSTER_TEST_SEED=%d repeats this story", seed)
			play(t, rand.New(rand.NewSource(seed)))
		})
	}
}

// alsoHere has half of the campaigns use a second backend, with a workdir on this machine:
// files move between the two.
func (u *randomUser) alsoHere(workdir string) {
	if u.r.Intn(2) == 0 {
		return
	}
	u.second = workdir
	u.campaign.other = "backend \"local\" \"here\" {\n  slots   = SLOTS\n  cpus    = SLOTS\n  workdir = \"" + workdir + "\"\n}\n"
	u.campaign.there = "backend.local.here"
}

// clone has a third of the campaigns be in two folders, as clones of one repository are,
// which share their state.
func (u *randomUser) clone() {
	if u.r.Intn(3) > 0 {
		return
	}
	u.others = []string{filepath.Join(filepath.Dir(u.dir), "clone")}
	u.campaign.state = filepath.Join(filepath.Dir(u.dir), "state")
}

// A randomUser does what occurs to it.
type randomUser struct {
	*world
	r        *rand.Rand
	campaign randomCampaign
	root     func(i int) string // where jobs look for what happens to them, on each host, as seen from here
	roots    int
	workdirs []string          // that the backend may have had, below root; "" is root, or on this machine the campaign's folder
	without  string            // block of the second backend, where the campaign does not have it
	second   string            // workdir of the second backend, "" = none
	others   []string          // other clones of the campaign's folder
	moves    int               // how often the folder was moved
	hosts    []*lab.Host       // none on this machine
	troubles map[string]func() // what others do to the jobs of a scheduler, and "heal"
	rented   *rented           // where machines are rented
	away     bool              // one of them cannot be reached, or does nothing
	told     []string          // what was done and said, for a failure
	version  int               // of the last file that was edited
	placed   []string          // what somebody's own files in places of outputs hold
	promises []promise         // holds and cancels that nobody lifted
	last     string            // the campaign when it was last written, without its budget
}

func (u *randomUser) story() {
	u.t.Cleanup(func() {
		if u.t.Failed() {
			u.t.Logf("%s\n%s", u.campaign.text(), strings.Join(u.told, "\n"))
		}
	})
	u.t.Cleanup(func() { exec.Command("chmod", "-R", "u+w", filepath.Dir(u.dir), u.root(0)).Run() }) // copies of sources are read-only
	for i := range u.roots {
		for _, dir := range []string{"fail", "bad", "live"} {
			if err := os.Mkdir(filepath.Join(u.root(i), dir), 0o777); err != nil {
				u.t.Fatal(err)
			}
		}
		u.own(i)
	}
	if u.workdirs == nil {
		u.workdirs = []string{""}
	}
	u.ready(true)
	u.save()
	u.muster("validate")
	for range 4 + u.r.Intn(11) {
		u.step()
	}
	u.healAll()
	u.finish()
	u.check()
}

// own gives what was made on a host to who runs jobs there.
func (u *randomUser) own(i int) {
	if u.hosts == nil {
		return
	}
	u.hosts[i].Exec("chown -R alice: /home/alice/" + filepath.Base(u.root(i)))
}

// save writes the campaign, and the files that it reads.
func (u *randomUser) save() {
	for _, dir := range []string{"raw", "src"} {
		if err := os.MkdirAll(filepath.Join(u.dir, dir), 0o755); err != nil {
			u.t.Fatal(err)
		}
	}
	for _, p := range u.campaign.phases {
		u.write("raw/"+p.work+".txt", fmt.Sprintf("raw %d\n", p.raw))
		u.write("src/"+p.work+".txt", fmt.Sprintf("source %d\n", p.source))
	}
	u.edited()
	u.write("campaign.muster.hcl", u.campaign.text())
}

func (u *randomUser) note(format string, args ...any) {
	u.told = append(u.told, fmt.Sprintf(format, args...))
}

// limit is how long a command may take: none of these campaigns' jobs takes more than
// seconds, and a host that is away is back after a while. A cloud that did not answer an
// order is asked again after two minutes.
func (u *randomUser) limit() time.Duration {
	if u.rented != nil {
		return 12 * time.Minute
	}
	return 3 * time.Minute
}

// unfinished matches the last line of an apply that stayed to the end, and yet left jobs.
var unfinished = regexp.MustCompile(`(?m)^(Done: .* left\.|Ended before )`)

// muster runs a command to its end, which has to be one that is documented.
func (u *randomUser) muster(args ...string) (string, int) {
	u.t.Helper()
	u.lifts(args)
	out, code := u.wait(u.follow(args...), args)
	u.promised(args, code)
	return out, code
}

// wait waits for a command. A host that is away comes back after a while.
func (u *randomUser) wait(f *follower, args []string) (string, int) {
	u.t.Helper()
	began, ended := time.Now(), make(chan int, 1)
	go func() { ended <- exitCode(f.Wait()) }()
	back, late := time.After(10*time.Second), time.After(u.limit())
	code := 0
	for waits := true; waits; {
		select {
		case code = <-ended:
			waits = false
		case <-back:
			u.healAll()
		case <-late:
			f.Process.Signal(syscall.SIGQUIT) // it prints the place of every job
			<-ended
			u.note("$ muster %s\n%s", strings.Join(args, " "), f.text())
			u.t.Fatalf("muster %s did not end", strings.Join(args, " "))
		}
	}
	out := f.text()
	u.note("$ muster %s\n%s\n-> %d after %s", strings.Join(args, " "), strings.TrimSpace(out), code, time.Since(began).Round(10*time.Millisecond))
	if strings.Contains(out, "panic:") || strings.Contains(out, "goroutine ") || strings.Contains(strings.ToLower(out), "bug in muster") {
		u.t.Fatalf("muster %s came to grief", strings.Join(args, " "))
	}
	if unfinished.MatchString(out) {
		u.t.Fatalf("muster %s ended well before its jobs did", strings.Join(args, " "))
	}
	if !slices.Contains([]int{-1, 0, 1, 2, 3, 4, 5, 130}, code) {
		u.t.Fatalf("muster %s ended with %d", strings.Join(args, " "), code)
	}
	return out, code
}

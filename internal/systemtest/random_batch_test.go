package systemtest

import (
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/internal/program"
)

// TestNightlySlurmRandomUser: the random user on Slurm, beside a colleague and an
// administrator who cancel, hold, requeue and restart.
func TestNightlySlurmRandomUser(t *testing.T) {
	needs.Nightly(t, "plays a user of Slurm for a minute")
	slurmLab(t)
	stories(t, batchUser{onSlurm, slurmTroubles, slurmWholeNodes, `partitions = ["amilan"]`}.story)
}

// TestNightlyPBSRandomUser: the same on PBS, or on its stand-in.
func TestNightlyPBSRandomUser(t *testing.T) {
	needs.Nightly(t, "plays a user of PBS for a minute")
	if os.Getenv(pbsInside) == "" {
		t.Setenv("PATH", pbssim.Start(t, pbssim.Config{}).Bin+":"+os.Getenv("PATH"))
	}
	stories(t, batchUser{onPBS, pbsTroubles, pbsWholeNodes, `queues = ["workq"]`}.story)
}

// A batchUser is where the random user submits jobs, and what others do there.
type batchUser struct {
	on       func(*testing.T, string) *cluster
	troubles func(*randomUser, *cluster) map[string]func()
	profile  string // of a site where jobs share nodes
	queues   string // the backend's queues there
}

// story plays one with jobs that last seconds, each a job of the scheduler, or several in
// turn or side by side in one.
func (b batchUser) story(t *testing.T, r *rand.Rand) {
	c := b.on(t, "backend \"slurm\" \"lab\" { workdir = \"WORKDIR\" }\nbackend.slurm")
	text, err := os.ReadFile(filepath.Join(c.dir, "campaign.muster.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	block, place, _ := strings.Cut(string(text), "}\n")
	u := &randomUser{world: c.world, r: r, campaign: newRandomCampaign(r), roots: 1}
	u.root = func(int) string { return c.workdir }
	for _, p := range u.campaign.phases {
		p.nap *= 6
	}
	shape := "\n"
	switch r.Intn(6) {
	case 0:
		shape = "\n  allocation = \"16m\"\n"
	case 1:
		shape = "\n  profile = \"site.hcl\"\n  " + b.queues + "\n"
	case 2:
		shape = "\n  profile = \"site.hcl\"\n  allocation = \"16m\"\n  " + b.queues + "\n"
	case 3:
		shape = "\n  max_parallel = SLOTS\n"
	}
	if strings.Contains(shape, "profile") {
		c.write("site.hcl", b.profile)
		block = regexp.MustCompile(`(?m)^  queues.*$`).ReplaceAllString(block, "")
	}
	u.campaign.backend = strings.Replace(block, "{", "{"+shape, 1) + "\n}\n"
	u.campaign.place, u.campaign.job = strings.TrimSpace(place)+".lab", filepath.Join(c.workdir, "job.sh")
	program.Write(t, u.campaign.job, []byte(strings.ReplaceAll(randomJob, "ROOT", c.workdir)))
	u.alsoHere(filepath.Join(c.dir, "there"))
	u.troubles = b.troubles(u, c)
	defer u.healAll()
	u.story()
}

// one is a job in the queue, "" without one.
func (u *randomUser) one(c *cluster) string {
	lines := strings.Split(c.ours(), "\n")
	id, _, _ := strings.Cut(lines[u.r.Intn(len(lines))], " ")
	return id
}

// by runs a command about a job in the queue. It may have ended meanwhile.
func (u *randomUser) by(c *cluster, command ...string) func() {
	return func() { u.about(u.one(c), command...) }
}

func (u *randomUser) about(id string, command ...string) {
	if id != "" {
		out, err := exec.Command(command[0], append(command[1:], id)...).CombinedOutput()
		u.note("# %s %s: %v %s", strings.Join(command, " "), id, err, strings.TrimSpace(string(out)))
	}
}

// holds holds a job in the queue, and releases those that it held.
func (u *randomUser) holds(c *cluster, hold, release []string) (held, freed func()) {
	var ids []string
	held = func() {
		ids = append(ids, u.one(c))
		u.about(ids[len(ids)-1], hold...)
	}
	return held, func() {
		for _, id := range ids {
			u.about(id, release...)
		}
		ids = nil
	}
}

// again ends all promises before something that has the scheduler start jobs again, or
// forget what muster asked for: muster notices when it runs next.
func (u *randomUser) again(do func()) func() {
	return func() {
		u.lifted("a scheduler that starts jobs again", func(string) bool { return true })
		do()
	}
}

func slurmTroubles(u *randomUser, c *cluster) map[string]func() {
	hold, freed := u.holds(c, []string{"scontrol", "hold"}, []string{"scontrol", "release"})
	return map[string]func(){
		"cancel":  u.by(c, "scancel"),
		"kill":    u.by(c, "scancel", "-s", "KILL"),
		"hold":    hold,
		"requeue": u.again(u.by(c, "scontrol", "requeue")),
		"restart": u.again(func() {
			killDaemon(u.t, "slurmctld")
			time.Sleep(time.Duration(u.r.Intn(3)) * time.Second)
			repair(u.t)
			u.note("# the controller was restarted")
		}),
		"heal": freed,
	}
}

func pbsTroubles(u *randomUser, c *cluster) map[string]func() {
	hold, freed := u.holds(c, []string{"qhold"}, []string{"qrls"})
	return map[string]func(){
		"cancel":  u.by(c, "qdel"),
		"force":   u.by(c, "qdel", "-W", "force"),
		"hold":    hold,
		"requeue": u.again(u.by(c, "qrerun")),
		"heal":    freed,
	}
}

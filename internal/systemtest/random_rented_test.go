package systemtest

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/internal/program"
)

// TestNightlyRentedRandomUser: the random user on machines of the simulated clouds, whose
// API fails, whose machines are ill or end, and whose queues are killed. All results are
// here in the end, and after a destroy no machine is left.
func TestNightlyRentedRandomUser(t *testing.T) {
	needs.Nightly(t, "plays a user of rented machines for a minute")
	stories(t, func(t *testing.T, r *rand.Rand) {
		name := []string{"vastai", "runpod", "lambda", "paperspace"}[r.Intn(4)]
		if s := os.Getenv("MUSTER_RANDOM_CLOUD"); s != "" {
			name = s
		}
		rents := rentsAt(t, name)
		u := &randomUser{world: rents.world, r: r, campaign: newRandomCampaign(r), roots: 1, rented: rents}
		// Machines can read the files of this one, but for its temporary ones.
		folder, err := os.MkdirTemp("/opt", "muster-random-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		u.root = func(int) string { return folder }
		for _, p := range u.campaign.phases {
			p.nap *= 4
		}
		block, _, _ := strings.Cut(u.world.campaign()[strings.Index(u.world.campaign(), "backend "):], "\n}\n")
		for attribute, values := range map[string][]string{
			"hold":    {`"1s"`, `"20s"`, `"10m"`},
			"on_hold": {`"release"`, `"release"`, `"stop"`},
		} {
			if name == "lambda" && attribute == "on_hold" {
				continue
			}
			block = regexp.MustCompile(`(?m)^(  `+attribute+` *=).*$`).ReplaceAllString(block, "${1} "+values[r.Intn(len(values))])
		}
		u.campaign.backend = fmt.Sprintf("%s\n  max_boxes = %d\n}\nbudget \"money\" { limits = { usd = 100000 } }\n", block, 1+r.Intn(3))
		u.campaign.place, u.campaign.job = "backend."+name+".cloud", filepath.Join(folder, "job.sh")
		program.Write(t, u.campaign.job, []byte(strings.NewReplacer("ROOT/fail", folder+"/fail", "ROOT/bad", folder+"/bad", "ROOT", "$here").
			Replace(strings.Replace(randomJob, "#!/bin/sh\n", "#!/bin/sh\nhere="+folder+"\n[ -w $here ] || here=/var/tmp\nmkdir -p $here/live\n", 1))))
		u.alsoHere(filepath.Join(u.dir, "there"))
		u.troubles = rentedTroubles(u)
		stop, ended := make(chan struct{}), make(chan struct{})
		records := map[string]string{}
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					readRecords(records)
				}
			}
		}()
		u.story()
		close(stop)
		<-ended
		u.checkRecords(records)
		rents.age()
		u.muster("destroy", "-auto-approve", "-allow-cancel")
		if n := rents.alive(); n > 0 {
			t.Errorf("%d machines are left: %+v", n, rents.truth())
		}
	})
}

// readRecords keeps what jobs wrote down on each machine, by its first line: a machine
// that stops may lose its disk.
func readRecords(records map[string]string) {
	paths, _ := filepath.Glob(filepath.Join(os.TempDir(), "muster-boxes-*", "*", "vartmp", "record"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		first, _, _ := strings.Cut(string(text), "\n")
		if err == nil && len(text) > len(records[first]) {
			records[first] = string(text)
		}
	}
}

// rentedTroubles lists the faults of a cloud and of its machines.
func rentedTroubles(u *randomUser) map[string]func() {
	fault := func(on, do string) {
		f := sim.Fault{On: on, Do: do, Times: 1 + u.r.Intn(3), After: u.r.Intn(3), For: sim.Duration(time.Duration(1+u.r.Intn(60)) * time.Second)}
		if do == "slow" || do == "hang" {
			f.For = sim.Duration(time.Duration(1+u.r.Intn(4)) * time.Second)
		}
		u.rented.sim.Clock.Do(func() {
			if err := u.rented.sim.Faults.Add(f); err == nil { // not every cloud has each
				u.note("# the cloud: %+v", f)
			}
		})
	}
	one := func(all ...string) string { return all[u.r.Intn(len(all))] }
	cloud := clouds[strings.Split(u.campaign.place, ".")[1]]
	return map[string]func(){
		"api": func() { fault("*", one("slow", "hang", "drop", "status", "too_often", "lost", "failed")) },
		"create": func() {
			fault(cloud.create, one("lost", "failed", "drop", "gone_404", "gone_410", "no_capacity", "locked"))
		},
		"destroy": func() { fault(cloud.destroy, one("linger", "lost", "failed", "status", "refused")) },
		"list":    func() { fault("list", one("lag", "not_success", "no_list", "cut", "status")) },
		"boot":    func() { fault("boot", one(append([]string{"wrong_gpu"}, sim.Ills...)...)) },
		"queue":   u.killQueue,
		"happen": func() {
			what := one("exit", "end", "error", "vanish", "preempt", "terminate", "stop", "delete")
			for _, a := range u.rented.truth() {
				if !a.Gone {
					u.rented.sim.Clock.Do(func() {
						err := u.rented.cloud.Happen(sim.Event{Instance: a.ID, What: what})
						u.note("# %s of machine %s: %v", what, a.ID, err)
					})
					return
				}
			}
		},
		"heal": func() { u.rented.sim.Clock.Do(u.rented.sim.Faults.Clear) },
	}
}

// killAgents kills muster's processes on machines, or one.
func (u *randomUser) killAgents() {
	victims := agents()
	if len(victims) > 1 && u.r.Intn(2) == 0 {
		victims = victims[u.r.Intn(len(victims)):][:1]
	}
	for _, pid := range victims {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	u.note("# killed %d processes on machines", len(victims))
}

// checkRecords holds that no launch started twice, and that none ran beside another of its
// work on a machine.
func (u *randomUser) checkRecords(records map[string]string) {
	var all []string
	for _, text := range records {
		all = append(all, slices.Collect(strings.Lines(text))...)
	}
	u.checkStarts(all)
}

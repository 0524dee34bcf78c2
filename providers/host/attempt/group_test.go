package attempt

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/needs"
	"github.com/muster-run/muster/providers"
)

// TestSystemMembersInAContainer: what was started into a container from outside, as a
// scheduler's step is, belongs to a session whose id reads 0 there. A process of
// it that holds the token is a member all the same, and no other one is.
func TestSystemMembersInAContainer(t *testing.T) {
	if os.Getenv("MUSTER_TEST_INSIDE") == "" {
		outside(t)
		return
	}
	if stat, err := os.ReadFile("/proc/self/stat"); err != nil || strings.Fields(string(stat))[5] != "0" {
		t.Fatalf("the session of this process is known here: %s (%v)", stat, err)
	}
	sleep := func(env ...string) int {
		c := exec.Command("sleep", "1000")
		c.Env = env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		return c.Process.Pid
	}
	own := sleep("MUSTER_TOKEN=t1", "MUSTER_ATTEMPT=1")
	sleep()
	sleep("MUSTER_TOKEN=t2", "MUSTER_ATTEMPT=1")
	for _, leader := range []int{own, 0} {
		g := Processes{Job: &providers.Job{Token: "t1"}, Attempt: 1, Leader: leader}
		if got := g.Members(); !slices.Equal(got, []int{own}) {
			t.Errorf("leader %d: members %d, want %d alone", leader, got, own)
		}
	}
}

// outside runs the test in a pid namespace of its own, in this session. Root needs
// no user namespace for it, which a container may well refuse.
func outside(t *testing.T) {
	unshare := needs.Program(t, "unshare")
	own := []string{"--pid", "--fork", "--kill-child", "--mount-proc"}
	why := ""
	for _, args := range [][]string{own, append([]string{"--user", "--map-root-user"}, own...)} {
		if out, err := exec.Command(unshare, append(args, "true")...).CombinedOutput(); err != nil {
			why += fmt.Sprintf("\nunshare %s: %v: %s", strings.Join(args, " "), err, out)
			continue
		}
		c := exec.Command(unshare, append(args, os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")...)
		c.Env = append(os.Environ(), "MUSTER_TEST_INSIDE=1")
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("inside: %v\n%s", err, out)
		}
		return
	}
	needs.Absent(t, "no pid namespace is to be had:"+why)
}

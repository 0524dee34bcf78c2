package systemtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const slurmStates = `campaign "states" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
PHASES`

// slurmEnds: each way in which Slurm, somebody or a job's own doing ends it is
// told in its own words, by one look from outside with muster off before.
func slurmEnds(t *testing.T) {
	const memory = `exec python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'`
	const long = `; sleep 300`
	cases := []struct{ name, command, options, output, class, says string }{
		{"timeout", `trap : TERM USR1; while :; do sleep 5; done`, "", "", "walltime", ""},
		{"memory", memory, "", "", "oom_sched", ""},
		{"device", `echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB' >&2; exit 1`, "", "", "oom_gpu", "exit 1"},
		{"node", `echo node >> RECORD` + long, `constraint = "ib"`, "", "node_failure", "NODE_FAIL"},
		{"boot", `echo boot >> RECORD`, `partition = "acloud"`, "", "node_failure", "NODE_FAIL"},
		{"reconfigured", `echo reconfigured >> RECORD`, `partition = "acloud2"`, "", "node_failure", "Slurm says BOOT_FAIL"},
		{"deadline", `echo deadline >> RECORD`, "partition = \"acloud\"\n extra = [\"--deadline=now+75seconds\"]", "", "walltime", "before its deadline"},
		{"preempted", `echo preempted >> RECORD` + long, "partition = \"aa100\"\n qos = \"spare\"\n extra = [\"--nodelist=gpu1\"]", "", "preempted", "PREEMPTED"},
		{"cancelled", `echo cancelled >> RECORD` + long, "", "", "cancelled_outside", "cancelled in Slurm by yourself"},
		{"operator", `echo operator >> RECORD` + long, "", "", "cancelled_outside", "cancelled in Slurm by alice"},
		{"requeued", `echo requeued >> RECORD` + long, "", "", "preempted", "retry.on has neither preempted nor node_failure"},
		{"half", `echo '{' > ${output.r}`, "", "half.json", "bad_output", "unexpected end"},
		{"nothing", `true`, "", "nothing.json", "bad_output", "missing"},
		{"status", `echo boom; exit 7`, "", "", "unknown", "exit 7"},
		{"special", `echo special >> RECORD` + long, "", "", "", ""},
		{"waits", `true`, `constraint = "ib"`, "", "", ""},
	}
	var phases strings.Builder
	for _, k := range cases {
		retry := ""
		if k.name == "requeued" || k.name == "special" { // Slurm requeues no others, whoever asks
			retry = "  retry {\n    on = [\"oom\"]\n    max_attempts = 2\n  }\n"
		}
		phases.WriteString("phase \"" + k.name + "\" {\n  place { candidates = [backend.slurm.lab] }\n" + retry + "  job {\n    command = <<-SH\n      " + k.command + "\n    SH\n")
		if k.options == "" {
			k.options = "partition = \"amilan\"\n extra = [\"--exclude=cpu1\"]" // which goes down
		}
		phases.WriteString("    options \"slurm\" {\n " + k.options + "\n }\n")
		if k.output != "" {
			phases.WriteString("    output \"r\" {\n      path   = \"out/" + k.output + "\"\n      verify = \"json\"\n    }\n")
		}
		walltime, cpus := "10m", "1"
		switch k.name {
		case "timeout", "deadline":
			walltime = "1m"
		case "node", "waits":
			cpus = "60"
		}
		switch k.name {
		case "preempted", "boot", "reconfigured", "deadline": // a whole node
			cpus = "64"
		}
		phases.WriteString("    resources {\n      cpus     = " + cpus + "\n      memory   = \"50MiB\"\n      walltime = \"" + walltime + "\"\n    }\n  }\n}\n")
	}
	slurmNeverBoots(t)
	c := onSlurm(t, strings.ReplaceAll(slurmStates, "PHASES", phases.String()+slurmFollows))
	if os.Getenv("SLURM_LAB_OOM") != "kernel" {
		t.Log("memory limits are polled, and not the kernel's")
	}
	c.must("apply", "-detach", "-auto-approve")
	c.bootFails("reconfigured")
	c.until("jobs that run", time.Minute, func() bool {
		r := c.ran()
		return r["node"]+r["cancelled"]+r["operator"]+r["requeued"]+r["special"]+r["preempted"] == 6
	})
	c.until("reasons", time.Minute, func() bool {
		s := c.phaseJobs()["waits"]
		return strings.Contains(s.Reason, "waits for") && !s.Start.IsZero()
	})
	if out := c.must("status", "-refresh", "phase.waits"); !strings.Contains(out, "expected to start in") {
		t.Errorf("when it starts is not told:\n%s", out)
	}
	if out := c.must("explain", "phase.waits"); !strings.Contains(out, "queued on slurm.lab, amilan as ") || !strings.Contains(out, "waits for") {
		t.Errorf("explain does not say where it stands:\n%s", out)
	}
	c.slurm("scontrol", "hold", c.id("waits"))
	c.slurm("scontrol", "requeuehold", c.id("requeued"))
	c.slurm("scontrol", "requeuehold", "State=SpecialExit", c.id("special"))
	c.until("holds", time.Minute, func() bool {
		s := c.phaseJobs()
		return strings.Contains(s["waits"].Reason, "held by an administrator") && strings.Contains(s["requeued"].Reason, "held after it was requeued") &&
			strings.Contains(s["special"].Reason, "held by Slurm after its last start")
	})
	c.slurm("scontrol", "release", c.id("waits"))
	c.slurm("scontrol", "release", c.id("requeued"))
	c.slurm("scancel", c.id("cancelled"))
	// Whoever may: an operator, who is not the user.
	c.slurm("sacctmgr", "-i", "-Q", "modify", "user", "alice", "set", "adminlevel=operator")
	t.Cleanup(func() { c.slurm("sacctmgr", "-i", "-Q", "modify", "user", "alice", "set", "adminlevel=none") })
	c.until("an operator's cancel", time.Minute, func() bool {
		return exec.Command("runuser", "-u", "alice", "--", "env", "SLURM_CONF="+os.Getenv("SLURM_CONF"), "scancel", c.id("operator")).Run() == nil
	})
	c.slurm("sbatch", "--parsable", "-q", "normal", "-p", "aa100", "-w", "gpu1", "-c", "64", "-t", "2", "-D", c.workdir, "-o", "/dev/null", "--wrap", "sleep 1")
	c.slurm("scontrol", "update", "NodeName=cpu1", "State=DOWN", "Reason=system test")
	t.Cleanup(func() { c.slurm("../lab/slurm-node", "up", "cpu1") })
	c.until("ends", 4*time.Minute, func() bool {
		s := c.phaseJobs()
		for _, k := range cases {
			if k.class != "" && s[k.name].Class == "" {
				return false
			}
		}
		return true
	})
	got := c.phaseJobs()
	for _, k := range cases {
		s := got[k.name]
		text := strings.Join(append([]string{s.Reason, exitOf(s)}, s.Tail...), "\n")
		switch {
		case k.class == "":
		case s.Class != k.class || !strings.Contains(text, k.says):
			t.Errorf("%s: %s, class %q, %q; want class %q and %q", k.name, s.Status, s.Class, text, k.class, k.says)
		}
	}
	if s := got["follows"]; s.Status != "blocked" || s.Reason != "waits for phase.half" {
		t.Errorf("what comes after %q: %+v", "half", s)
	}
	if ran := c.ran(); ran["boot"]+ran["reconfigured"]+ran["deadline"]+ran["follows"] != 0 || ran["requeued"] != 1 || ran["special"] != 1 {
		t.Errorf("ran: %v", ran)
	}
	// The state has the observation, once it is recorded.
	out, _ := c.pass()
	if !strings.Contains(flat(out), "8 failed, 2 cancelled, 1 blocked, 4 queued") { // four ends were no job's doing
		t.Errorf("%s", out)
	}
}

// slurmFollows comes after a job that leaves half of its output.
const slurmFollows = `phase "follows" {
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo follows >> RECORD; cp ${input.r} ${output.s}"
    input "r" { from = phase.half.output.r }
    output "s" { path = "out/follows.json" }
    resources {
      memory   = "50MiB"
      walltime = "10m"
    }
  }
}
`

// slurmNeverBoots opens partitions whose only nodes are powered down, and do
// not come up; see slurmLab. Only this test sees them.
func slurmNeverBoots(t *testing.T) {
	t.Helper()
	scontrol := func(args ...string) {
		if out, err := exec.Command("scontrol", args...).CombinedOutput(); err != nil {
			t.Errorf("scontrol %v: %v: %s", args, err, out)
		}
	}
	for partition, node := range map[string]string{"acloud": "cloud1", "acloud2": "cloud2"} {
		exec.Command("scontrol", "update", "NodeName="+node, "State=RESUME").Run() // in vain where it was never tried
		scontrol("create", "PartitionName="+partition, "Nodes="+node, "MaxTime=01:00:00", "State=UP")
		t.Cleanup(func() { scontrol("delete", "PartitionName="+partition) })
	}
}

// bootFails says of the job of a phase, while its node is being started, that
// the node cannot be made what it asks for. What says so on a cluster is the
// program that starts nodes, by a call of Slurm's library that no command has:
// capmc_resume.c, slurm_requeue(id, JOB_RECONFIG_FAIL). Where a node does not
// answer in time, slurmctld says NODE_FAIL.
func (c *cluster) bootFails(phase string) {
	c.t.Helper()
	id := c.id(phase)
	c.until("start of a node", time.Minute, func() bool { return c.slurm("squeue", "-h", "-j", id, "-o", "%T") == "CONFIGURING" })
	const call = `import ctypes, glob, sys
slurm = ctypes.CDLL(glob.glob("/usr/lib/*/slurm*/libslurmfull.so")[0], mode=ctypes.RTLD_GLOBAL)
slurm.slurm_requeue(ctypes.c_uint32(int(sys.argv[1])), ctypes.c_uint32(1 << 17))`
	c.slurm("python3", "-c", call, id)
	if state := c.slurm("squeue", "-h", "-t", "all", "-j", id, "-o", "%T"); state != "BOOT_FAIL" {
		c.t.Fatalf("a job whose node cannot be had is %s", state)
	}
}

// A statusJob is a job of status -json.
type statusJob struct {
	Address, Status, Class, Reason string
	Exit                           *int
	Start                          time.Time
	Tail                           []string
}

// id is Slurm's of the job of a phase.
func (c *cluster) id(phase string) string {
	c.t.Helper()
	for line := range strings.Lines(c.ours()) {
		if f := strings.Fields(line); strings.HasPrefix(f[3], phase+".") {
			return f[0]
		}
	}
	c.t.Fatalf("no job of phase.%s is with Slurm:\n%s", phase, c.ours())
	return ""
}

func exitOf(s statusJob) string {
	if s.Exit == nil {
		return ""
	}
	b, _ := json.Marshal(*s.Exit)
	return "exit " + string(b)
}

// phaseJobs is the status of each phase's only job, from one look.
func (c *cluster) phaseJobs() map[string]statusJob {
	c.t.Helper()
	cmd := c.command("status", "-refresh", "-json")
	text, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("status: %v\n%s", err, text)
	}
	var report struct{ Jobs []statusJob }
	if err := json.Unmarshal(text, &report); err != nil {
		c.t.Fatal(err)
	}
	out := map[string]statusJob{}
	for _, j := range report.Jobs {
		out[strings.TrimPrefix(j.Address, "phase.")] = j
	}
	return out
}

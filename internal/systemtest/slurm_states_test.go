package systemtest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

const slurmStates = `campaign "states" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
PHASES`

// slurmEnds: each way in which Slurm or a job's own doing ends it is told in
// its own words, by one look from outside with muster off before.
func slurmEnds(t *testing.T) {
	const memory = `exec python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'`
	oom := "oom_sched"
	cases := []struct{ name, command, options, output, class, says string }{
		{"timeout", `trap : TERM USR1; while :; do sleep 5; done`, "", "", "walltime", ""},
		{"memory", memory, "", "", oom, ""},
		{"device", `echo 'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB' >&2; exit 1`, "", "", "oom_gpu", "exit 1"},
		{"node", `echo node >> RECORD; sleep 300`, `constraint = "ib"`, "", "node_failure", "NODE_FAIL"},
		{"cancelled", `echo cancelled >> RECORD; sleep 300`, "", "", "cancelled_outside", "cancelled in Slurm"},
		{"half", `echo '{' > ${output.r}`, "", "half.json", "unknown", "unexpected end"},
		{"nothing", `true`, "", "nothing.json", "unknown", "missing"},
		{"status", `echo boom; exit 7`, "", "", "unknown", "exit 7"},
		{"waits", `true`, `constraint = "ib"`, "", "", ""},
	}
	var phases strings.Builder
	for _, k := range cases {
		phases.WriteString("phase \"" + k.name + "\" {\n  place { candidates = [backend.slurm.lab] }\n  job {\n    command = <<-SH\n      " + k.command + "\n    SH\n")
		if k.options == "" {
			k.options = `extra = ["--exclude=cpu1"]` // which goes down
		}
		phases.WriteString("    options \"slurm\" { " + k.options + " }\n")
		if k.output != "" {
			phases.WriteString("    output \"r\" {\n      path   = \"out/" + k.output + "\"\n      verify = \"json\"\n    }\n")
		}
		walltime, cpus := "1m", "1"
		if k.name != "timeout" {
			walltime = "10m"
		}
		if k.name == "node" || k.name == "waits" {
			cpus = "60"
		}
		phases.WriteString("    resources {\n      cpus     = " + cpus + "\n      memory   = \"50MiB\"\n      walltime = \"" + walltime + "\"\n    }\n  }\n}\n")
	}
	c := onSlurm(t, strings.ReplaceAll(slurmStates, "PHASES", phases.String()))
	if os.Getenv("SLURM_LAB_OOM") != "kernel" {
		t.Log("memory limits are polled, not the kernel's: how the job ends is Slurm's to say")
	}
	c.must("apply", "-detach", "-auto-approve")
	c.until("jobs that run", time.Minute, func() bool { r := c.ran(); return r["node"] == 1 && r["cancelled"] == 1 })
	c.until("reasons", time.Minute, func() bool {
		s := c.standing()["waits"]
		return strings.Contains(s.Reason, "waits for") && !s.Start.IsZero()
	})
	if out := c.must("status", "-refresh", "phase.waits"); !strings.Contains(out, "expected to start in") {
		t.Errorf("when it starts is not told:\n%s", out)
	}
	if out := c.must("explain", "phase.waits"); !strings.Contains(out, "queued on slurm.lab, amilan as ") || !strings.Contains(out, "waits for") {
		t.Errorf("explain does not say where it stands:\n%s", out)
	}
	c.slurm("scontrol", "hold", c.id("waits"))
	c.until("hold", time.Minute, func() bool { return strings.Contains(c.standing()["waits"].Reason, "held by an administrator") })
	c.slurm("scontrol", "release", c.id("waits"))
	c.slurm("scancel", c.id("cancelled"))
	c.slurm("scontrol", "update", "NodeName=cpu1", "State=DOWN", "Reason=system test")
	t.Cleanup(func() { c.slurm("../lab/slurm-node", "up", "cpu1") })
	c.until("ends", 4*time.Minute, func() bool {
		for _, s := range c.standing() {
			if s.Status == "running" {
				return false
			}
		}
		return true
	})
	got := c.standing()
	for _, k := range cases {
		s := got[k.name]
		text := strings.Join(append([]string{s.Reason, exitOf(s)}, s.Tail...), "\n")
		switch {
		case k.name == "waits":
		case s.Class != k.class || !strings.Contains(text, k.says):
			t.Errorf("%s: %s, class %q, %q; want class %q and %q", k.name, s.Status, s.Class, text, k.class, k.says)
		}
	}
	// The state is what was seen, once it is recorded.
	out, _ := c.run("apply", "-once", "-auto-approve")
	if !strings.Contains(out, "7 failed") {
		t.Errorf("%s", out)
	}
}

// A stand is how a job stands, as status -json says it.
type stand struct {
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

func exitOf(s stand) string {
	if s.Exit == nil {
		return ""
	}
	b, _ := json.Marshal(*s.Exit)
	return "exit " + string(b)
}

// standing is what one look says of each phase's only job.
func (c *cluster) standing() map[string]stand {
	c.t.Helper()
	cmd := c.command("status", "-refresh", "-json")
	text, err := cmd.Output()
	if err != nil {
		c.t.Fatalf("status: %v\n%s", err, text)
	}
	var report struct{ Jobs []stand }
	if err := json.Unmarshal(text, &report); err != nil {
		c.t.Fatal(err)
	}
	out := map[string]stand{}
	for _, j := range report.Jobs {
		out[strings.TrimPrefix(j.Address, "phase.")] = j
	}
	return out
}

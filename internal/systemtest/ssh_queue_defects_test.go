package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

// What a hand-kept queue script for GPU hosts is known to do wrong has numbers,
// Q1 to Q26; docs/guide/queues.md says of each what muster does, and which
// test holds it. Here are those that show in jobs that run.

// defectsCampaign has one phase for each defect. RECORD gets a line from
// whoever gets that far.
const defectsCampaign = `
campaign "defects" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
  cpus    = 16
}
locals {
  oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
}
phase "healthy" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "for i in 1 2 3 4; do sleep 1; done; echo healthy >> RECORD; echo done > ${output.x}"
    output "x" { path = "healthy" }
    resources { walltime = "10m" }
  }
}
phase "failing" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = ": > ${output.x}; exit 7"
    output "x" { path = "failing" }
    resources { walltime = "10m" }
  }
}
phase "after" {
  place { candidates = [backend.ssh.lab] }
  depends_on = [phase.failing]
  job {
    command = "echo after >> RECORD"
    resources { walltime = "10m" }
  }
}
phase "stale" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "sleep 2; echo stale >> RECORD; echo new > ${output.x}"
    output "x" { path = "stale" }
    resources { walltime = "10m" }
  }
}
phase "untouched" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo untouched >> RECORD; echo ${output.x}"
    output "x" { path = "untouched" }
    resources { walltime = "10m" }
  }
}
phase "recovered" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo '${local.oom}' >&2; sleep 2; echo recovered >> RECORD; echo smaller batch > ${output.x}"
    output "x" { path = "recovered" }
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
  retry { on = ["oom"] }
}
phase "wordy" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo wordy $CUDA_VISIBLE_DEVICES >> RECORD; echo '${local.oom}' >&2; yes 'and much more' | head -n 1500 >&2; exit 1"
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
  retry {
    on           = ["oom"]
    max_attempts = 2
  }
}
phase "plain" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "true"
    resources { walltime = "10m" }
  }
}
phase "hanging" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "LAB_GPU_MIB=4000 setsid sleep 1234 & echo hanging >> RECORD"
    output "x" { path = "hanging" }
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
}
phase "both" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo first $CUDA_VISIBLE_DEVICES && echo second $CUDA_VISIBLE_DEVICES"
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
}
phase "logged" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo this is attempt $MUSTER_ATTEMPT; test $MUSTER_ATTEMPT = 2 || { echo '${local.oom}' >&2; exit 1; }"
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
  retry { on = ["oom"] }
}
`

func TestSystemQueueDefects(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	h.GPUs(4)
	r := newRemote(t, []*lab.Host{h}, defectsCampaign)
	r.put("work/stale", "of a run before\n")
	r.put("work/untouched", "of a run before\n")
	began := time.Now()
	r.want(3, "Ended with work that needs you", "apply", "-auto-approve", "-allow-rerun")
	t.Logf("applied in %s", time.Since(began).Round(time.Second))
	jobs := r.report()
	ran := map[string][]string{}
	for _, line := range r.lines() {
		name, rest, _ := strings.Cut(line, " ")
		ran[name] = append(ran[name], rest)
	}
	is := func(t *testing.T, phase, status string, attempts, recorded int) {
		t.Helper()
		if j := jobs["phase."+phase]; j.Status != status || j.Attempts != attempts {
			t.Errorf("%s is %s after %d attempts, want %s after %d", phase, j.Status, j.Attempts, status, attempts)
		}
		if n := len(ran[phase]); n != recorded {
			t.Errorf("%s came to its end %d times, want %d", phase, n, recorded)
		}
	}
	t.Run("Q1 a healthy job runs to its end", func(t *testing.T) { is(t, "healthy", "completed", 1, 1) })
	t.Run("Q2 a failed job is settled, and what waits for it is blocked", func(t *testing.T) {
		is(t, "failing", "failed", 1, 0)
		r.in(t).want(0, "blocked 1 waits for phase.failing", "plan")
		if n := len(ran["after"]); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	})
	t.Run("Q7 files of a run before complete nothing", func(t *testing.T) {
		is(t, "stale", "completed", 1, 1)
		is(t, "untouched", "failed", 1, 1)
	})
	t.Run("Q10 words about memory decide nothing in a job that ended well, and are found in one that did not", func(t *testing.T) {
		is(t, "recovered", "completed", 1, 1)
		is(t, "wordy", "failed", 2, 2)
		if got := jobs["phase.wordy"].Failures; strings.Join(got, " ") != "oom_gpu oom_gpu" {
			t.Errorf("its failures are %q", got)
		}
	})
	t.Run("Q11 the exit code counts, and outputs only where they are declared", func(t *testing.T) {
		is(t, "failing", "failed", 1, 0)
		is(t, "plain", "completed", 1, 0)
	})
	t.Run("Q12 Q13 a session without its process is ended, and keeps no GPU", func(t *testing.T) {
		is(t, "hanging", "failed", 1, 1)
		if left := h.Exec("pgrep -u alice -x sleep || true"); left != "" {
			t.Errorf("it is still there: %s", left)
		}
		r.in(t).want(0, "4 of 4 GPUs free", "plan")
	})
	t.Run("Q23 the whole command has the GPU and the log", func(t *testing.T) {
		out, _ := r.run("logs", "phase.both")
		f := strings.Fields(out)
		if len(f) != 4 || f[0] != "first" || f[2] != "second" || f[1] == "" || f[1] != f[3] {
			t.Errorf("its log is %q", out)
		}
	})
	t.Run("Q26 each attempt has a log of its own", func(t *testing.T) {
		for attempt, other := range map[string]string{"1": "2", "2": "1"} {
			out, code := r.run("logs", "-attempt="+attempt, "phase.logged")
			if code != 0 || !strings.Contains(out, "this is attempt "+attempt) || strings.Contains(out, "this is attempt "+other) {
				t.Errorf("attempt %s says, with exit %d: %q", attempt, code, out)
			}
		}
	})
	t.Run("Q16 a driver that does not answer is told", func(t *testing.T) {
		gpus := h.Exec("cat /usr/games/gpus; rm /usr/games/gpus")
		defer func() { h.Exec("cat > /usr/games/gpus <<'X'\n" + gpus + "\nX") }()
		out, _ := r.run("backends")
		if !strings.Contains(flat(out), "GPUs cannot be read") {
			t.Errorf("backends says nothing about it:\n%s", out)
		}
	})
	t.Run("Q18 a changed command runs again, and a new phase starts", func(t *testing.T) {
		changed := strings.Replace(r.paths(defectsCampaign), `command = "true"`, `command = "echo changed >> `+r.folder+`/record"`, 1) + r.paths(`
phase "new" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo new >> RECORD"
    resources { walltime = "10m" }
  }
}
`)
		r.write("campaign.muster.hcl", changed)
		r.in(t).want(0, "1 to run, 1 to re-run", "plan")
		r.run("apply", "-auto-approve", "-allow-rerun")
		text := strings.Join(r.lines(), "\n")
		if strings.Count(text, "changed") != 1 || strings.Count(text, "new") != 1 || strings.Count(text, "healthy") != 1 {
			t.Errorf("the record is %q", text)
		}
	})
}

// TestSystemQueueRetriesElsewhere: on a host where nothing else runs the first free
// device is always the same one, so that only a memory of those that failed
// leads a retry to another.
func TestSystemQueueRetriesElsewhere(t *testing.T) {
	const gpus = 4
	h := lab.Hosts(t, 1)[0]
	h.GPUs(gpus)
	r := newRemote(t, []*lab.Host{h}, fmt.Sprintf(`
campaign "elsewhere" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
}
phase "p" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "echo $CUDA_VISIBLE_DEVICES >> RECORD; echo 'torch.OutOfMemoryError: CUDA out of memory' >&2; exit 1"
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
  retry {
    on           = ["oom"]
    max_attempts = %d
  }
}
`, gpus))
	r.want(3, "1 failed", "apply", "-auto-approve")
	t.Run("Q22 a retry after the device's memory was full is on another device", func(t *testing.T) {
		got := slices.Sorted(slices.Values(r.lines()))
		if want := []string{"0", "1", "2", "3"}; !slices.Equal(got, want) {
			t.Errorf("%d attempts were on GPUs %v, want each once", len(got), r.lines())
		}
	})
}

// A reported is a job in `report -json`.
type reported struct {
	Address, Status string
	Attempts        int
	Failures        []string
}

func (r *remote) report() map[string]reported {
	r.t.Helper()
	cmd := r.command("report", "-json")
	text, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var doc struct{ Jobs []reported }
	if err := json.Unmarshal(text, &doc); err != nil {
		r.t.Fatal(err)
	}
	out := map[string]reported{}
	for _, j := range doc.Jobs {
		out[j.Address] = j
	}
	return out
}

// aManifest is one that the queue script's own documentation would call
// good, and that its script runs nothing of.
const aManifest = `
project: distill
cwd: FOLDER/work
conda: base
conda_hook: FOLDER/conda
ssh: h1
gpus: [0, 1]
max_parallel: 2
gpu_free_threshold_mib: 400
oom_retry: {delay: 1, max_attempts: 2}
phases:
  - name: teachers
    grid: {N: [1, 2]}
    template:
      id: t${N}
      cmd: >
        echo teacher ${N} on $CUDA_VISIBLE_DEVICES;
        if ! test -e failed-${N}; then touch failed-${N}; echo "CUDA out of memory" >&2; exit 1; fi;
        echo x > t_${N}_a.pt
      expected_output: t_${N}_*.pt
  - name: students
    depends_on: teachers
    grid: {N: [1, 2], s: [0, 1]}
    template:
      id: s${N}-${s}
      cmd: test -s t_${N}_a.pt && echo y > s_${N}_${s}.pt
      output_check: s_${N}_${s}.pt
`

// TestSystemQueueManifestRuns converts a manifest and runs what comes of it as it
// is.
func TestSystemQueueManifestRuns(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	h.GPUs(2)
	r := newRemote(t, []*lab.Host{h}, "")
	os.Remove(r.dir + "/campaign.muster.hcl")
	r.put("conda", "#!/bin/sh\necho 'conda() { CONDA_DEFAULT_ENV=$2; }'\n")
	r.write("manifest.yaml", r.paths(aManifest))
	r.want(0, "", "convert", "-out=campaign.muster.hcl", "manifest.yaml")
	r.want(0, "6 of 6 jobs done and verified", "apply", "-auto-approve")
	jobs := r.report()
	for _, N := range []string{"1", "2"} {
		address := `phase.teachers["N=` + N + `"]`
		t.Run("Q3 Q8 Q9 a glob, a folded command and its log, N="+N, func(t *testing.T) {
			if j := jobs[address]; j.Status != "completed" || strings.Join(j.Failures, " ") != "oom_gpu" {
				t.Errorf("%+v", j)
			}
			r.in(t).want(0, "teacher "+N+" on ", "logs", address)
		})
	}
	t.Run("Q4 a phase that depends on one by name runs after it", func(t *testing.T) {
		if j := jobs[`phase.students["N=2,s=1"]`]; j.Status != "completed" {
			t.Errorf("%+v", j)
		}
	})
	t.Run("Q21 the threshold and the hook are carried over", func(t *testing.T) {
		text, _ := os.ReadFile(r.dir + "/campaign.muster.hcl")
		for _, want := range []string{`gpu_free_max = "400MiB"`, r.folder + "/conda"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s is missing in\n%s", want, text)
			}
		}
	})
}

// TestSystemQueueManifestsThatAreRefused: what the script dropped without a word.
func TestSystemQueueManifestsThatAreRefused(t *testing.T) {
	w := newWorld(t, "")
	w.write("flat.yaml", "project: flat\ncwd: /tmp\nssh: h1\ngpus: [0]\njobs:\n"+
		"  - {id: a, cmd: echo a > a, expected_output: a}\n  - {id: b, cmd: echo b > b, expected_output: b}\n")
	t.Run("Q6 jobs at the top level are jobs", func(t *testing.T) {
		w.in(t).want(0, `{ key = "b", arg = "b" }`, "convert", "flat.yaml")
	})
	w.write("odd.yaml", "project: odd\ncwd: /tmp\nssh: h1\ngpus: [0]\nfrobnicate: 3\njobs:\n"+
		"  - {id: a, cmd: echo a}\n  - {id: a, cmd: echo b}\n  - {id: \"x;touch y\", cmd: \"echo ${nope}\"}\n")
	for name, want := range map[string]string{
		"Q17 an id that comes twice": "Duplicate id", "Q19 an id that a shell would run": "unsafe characters", "Q20 a variable that nothing gives": "Unresolved variable", "Q21 a key that is not known": `no key "frobnicate"`,
	} {
		t.Run(name, func(t *testing.T) { w.in(t).want(1, want, "convert", "odd.yaml") })
	}
}

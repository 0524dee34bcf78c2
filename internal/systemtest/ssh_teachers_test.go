package systemtest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// teachersCampaign is the grid of a distillation study at its real size: 3
// teachers, 12 cells of 21 seeds, one host of 8 GPUs.
const teachersCampaign = `
campaign "distill" {}
backend "ssh" "lab" {
  host         = "h1"
  workdir      = "FOLDER/work"
  gpus         = [0, 1, 2, 3, 4, 5, 6, 7]
  gpu_free_max = "500MiB"
}
grid "teachers" { axes = { N = [64, 128, 256] } }
grid "students" {
  axes = {
    N    = [64, 128, 256]
    n    = [1, 2, 3, 4]
    seed = range(21)
  }
}
phase "teachers" {
  grid = grid.teachers
  place { candidates = [backend.ssh.lab] }
  job {
    command = "FOLDER/train teacher-${cell.N} ${output.model}"
    output "model" {
      path   = "teacher_N${cell.N}.pt"
      verify = "nonempty"
    }
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
}
phase "students" {
  grid = grid.students
  place { candidates = [backend.ssh.lab] }
  job {
    command = "test -s ${input.teacher} && FOLDER/train student-${cell.N}-${cell.n}-${cell.seed} ${output.model}"
    input "teacher" { from = phase.teachers.output.model }
    output "model" {
      path   = "students/${cell.N}-${cell.n}-${cell.seed}.pt"
      verify = "nonempty"
    }
    resources {
      gpus     = 1
      walltime = "10m"
    }
  }
  retry {
    on           = ["oom"]
    max_attempts = 3
    delay        = "3s"
  }
}
`

// train is the program of a job: it records when it holds which GPU, and fails
// as FOLDER/inject/NAME says. It says "shared" if somebody else is on its GPU.
const train = `#!/bin/sh
name=$1 out=$2
say() { echo "$1 $name $CUDA_VISIBLE_DEVICES $(date +%s.%N) $MUSTER_TOKEN/$MUSTER_RESTART $$" >> RECORD; }
nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv,noheader | grep -q "$(printf '%012d,' "$CUDA_VISIBLE_DEVICES")" && say shared
say start
case $name in student-64-1-[0-5]) until [ $(grep -c '^start student' RECORD) -ge 6 ]; do sleep 0.1; done;; esac
LAB_GPU_MIB=4000 sleep 0.1
how=$(cat FOLDER/inject/$name 2>/dev/null)
case $how in
once) rm FOLDER/inject/$name; echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; say end; exit 1;;
always) echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" >&2; say end; exit 1;;
silent) say end; exit 0;;
hang) echo model > "$out"; LAB_GPU_MIB=4000 setsid sleep 1000 & say end; exit 0;;
esac
echo model > "$out"
say end
`

// The injections, by the name of the job: the students with the numbers 17,
// 40 and 90 in the grid's order.
var injections = map[string]string{
	"student-64-1-17": "once", "student-64-2-19": "always", "student-128-1-6": "hang", "teacher-256": "silent",
}

func TestSystemSSHTeachersAndStudents(t *testing.T) {
	// Requirement: GRD-05
	hosts := lab.Hosts(t, 1)
	h := hosts[0]
	h.GPUs(8)
	strangers := []int{}
	for _, gpu := range []int{6, 7} {
		pid, _ := h.Hold(gpu, 9000)
		strangers = append(strangers, pid)
	}
	r := newRemote(t, hosts, teachersCampaign)
	r.put("train", train)
	for name, how := range injections {
		r.put("inject/"+name, how)
	}

	r.want(0, "6 of 8 GPUs free, 2 held by others", "plan")
	r.want(0, "Plan: 255 to run, 0 to re-run, 0 to cancel, 0 unchanged.", "plan")
	r.want(3, "169 of 255 jobs done and verified, 2 failed, 84 blocked", "apply", "-auto-approve")

	all := r.trainings()
	r.alone(all, 6)
	r.counts(all)
	r.retries(all["student-64-1-17"], 2)
	r.retries(all["student-64-2-19"], 3)
	if left := h.Exec("pgrep -u alice -x sleep || true"); left != "" {
		t.Errorf("a process of a job that ended is still there: %s", left)
	}

	r.want(0, "Plan: 0 to run, 0 to re-run, 0 to cancel, 169 unchanged, 2 held, 84 blocked.", "plan")
	r.want(0, `waits for phase.teachers["N=256"]`, "plan")
	before := len(r.lines())
	r.want(3, "84 blocked", "apply", "-auto-approve")
	if n := len(r.lines()); n != before {
		t.Errorf("a second apply ran something: %v", r.lines()[before:])
	}
	r.want(0, "| students | 252 | 167 | 2 | 1 |", "report")

	h.Exec("rm -r " + r.folder + "/inject")
	r.want(0, "", "resume")
	r.want(0, "255 of 255 jobs done and verified", "apply", "-auto-approve")
	r.alone(r.trainings(), 6)
	before = len(r.lines())
	r.want(0, "", "plan", "-detailed-exitcode")
	r.want(0, "", "apply", "-auto-approve")
	if n := len(r.lines()); n != before {
		t.Errorf("an apply of finished work ran something: %v", r.lines()[before:])
	}
	for _, pid := range strangers {
		if user := h.Exec(fmt.Sprintf("stat -c %%U /proc/%d", pid)); user != "bob" {
			t.Errorf("a stranger's process is gone: %s", user)
		}
	}
}

// A training is one start of train, as it wrote it down itself.
type training struct {
	name, gpu  string
	start, end float64 // seconds; the end of one that was killed is 0
	order      int     // of its first line in the record
}

// trainings reads the record, and holds that nobody had company on a GPU: no
// process of whatever kind was there at the start, and starts and ends on one
// GPU take turns.
func (r *remote) trainings() map[string][]*training {
	r.t.Helper()
	all, holder := map[string][]*training{}, map[string]*training{}
	for i, line := range r.lines() {
		f := strings.Fields(line)
		if len(f) != 6 {
			r.t.Fatalf("a torn line in the record: %q", line)
		}
		at, err := strconv.ParseFloat(f[3], 64)
		if err != nil {
			r.t.Fatal(err)
		}
		name, gpu := f[1], f[2]
		other := holder[gpu]
		switch f[0] {
		case "shared":
			r.t.Errorf("%s found company on GPU %s", name, gpu)
		case "start":
			if other != nil {
				r.t.Errorf("%s and %s ran together on GPU %s", name, other.name, gpu)
			}
			holder[gpu] = &training{name: name, gpu: gpu, start: at, order: i}
			all[name] = append(all[name], holder[gpu])
		case "end":
			if other == nil || other.name != name {
				r.t.Fatalf("%s ended on GPU %s and had not started", name, gpu)
			}
			other.end = at
			delete(holder, gpu)
		}
	}
	return all
}

// alone holds that only the first GPUs were used.
func (r *remote) alone(all map[string][]*training, gpus int) {
	r.t.Helper()
	for name, starts := range all {
		for _, s := range starts {
			if index, err := strconv.Atoi(s.gpu); err != nil || index >= gpus {
				r.t.Errorf("%s ran on GPU %q", name, s.gpu)
			}
		}
	}
}

// counts holds how often each job started: once, but for the injections, and
// not at all without its teacher.
func (r *remote) counts(all map[string][]*training) {
	r.t.Helper()
	for _, N := range []int{64, 128, 256} {
		if n := len(all[fmt.Sprintf("teacher-%d", N)]); n != 1 {
			r.t.Errorf("teacher %d started %d times", N, n)
		}
		for n := 1; n <= 4; n++ {
			for seed := range 21 {
				name, want := fmt.Sprintf("student-%d-%d-%d", N, n, seed), 1
				switch {
				case N == 256:
					want = 0
				case injections[name] == "once":
					want = 2
				case injections[name] == "always":
					want = 3
				}
				if got := len(all[name]); got != want {
					r.t.Errorf("%s started %d times, want %d", name, got, want)
				}
			}
		}
	}
}

// retries holds that a job started again after the delay, on another GPU each
// time.
func (r *remote) retries(starts []*training, want int) {
	r.t.Helper()
	const delay = 3 // seconds; the campaign's
	for i := 1; i < len(starts); i++ {
		if waited := starts[i].start - starts[i-1].end; waited < delay {
			r.t.Errorf("%s started again after %.2f s", starts[i].name, waited)
		}
		for _, before := range starts[:i] {
			if before.gpu == starts[i].gpu {
				r.t.Errorf("%s ran out of memory on GPU %s and was put there again", starts[i].name, before.gpu)
			}
		}
	}
	if len(starts) != want {
		r.t.Errorf("%d starts, want %d", len(starts), want)
	}
}

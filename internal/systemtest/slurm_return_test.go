package systemtest

import (
	"strings"
	"testing"
	"time"
)

// slurmReturning is four teachers and their students: one teacher needs more
// memory, which Slurm gives it where it is, one more cores, which takes a new
// id, and one fails for good.
const slurmReturning = `campaign "returning" {}
backend "slurm" "lab" { workdir = "WORKDIR" }
grid "g" { axes = { seed = range(0, 4) } }
failure "cramped" { match = "CRAMPED" }
phase "teachers" {
  grid = grid.g
  place { candidates = [backend.slurm.lab] }
  retry {
    on           = ["oom", "cramped"]
    max_attempts = 3
    delay        = "1s"
    scale "oom" { memory = 2 }
    scale "cramped" { cpus = 2 }
  }
  job {
    command = <<-END
      echo teacher ${cell.seed} $SLURM_MEM_PER_NODE $SLURM_CPUS_PER_TASK >> RECORD
      if [ ${cell.seed} = 1 ] && [ $SLURM_MEM_PER_NODE = 50 ]; then echo 'torch.cuda.OutOfMemoryError: CUDA out of memory' >&2; exit 1; fi
      if [ ${cell.seed} = 2 ] && [ $SLURM_CPUS_PER_TASK = 1 ]; then echo CRAMPED >&2; exit 1; fi
      if [ ${cell.seed} = 3 ]; then exit 3; fi
      echo '{"a": 1}' > ${output.r}
    END
    output "r" {
      path   = "out/t${cell.seed}.json"
      verify = "json"
    }
    resources {
      cpus     = 1
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
phase "students" {
  grid = grid.g
  place { candidates = [backend.slurm.lab] }
  job {
    command = "echo student ${cell.seed} $SLURM_ARRAY_JOB_ID >> RECORD; cp ${input.t} ${output.r}"
    input "t" { from = phase.teachers.output.r }
    output "r" { path = "out/s${cell.seed}.json" }
    resources {
      memory   = "50MiB"
      walltime = "5m"
    }
  }
}
`

// slurmReturns: with muster off, a teacher that needs more memory is requeued
// with it and releases its student. One that needs a new id gets it from the
// next muster; its student, which waited, goes on under its own. That of one
// that failed for good does not wait.
func slurmReturns(t *testing.T) {
	c := onSlurm(t, slurmReturning)
	c.must("apply", "-detach", "-auto-approve")
	c.until("student of the teacher that grew", 3*time.Minute, func() bool {
		ran := strings.Join(keys(c.ran()), "\n")
		return strings.Contains(ran, "teacher 1 100 1") && strings.Contains(ran, "student 1 ") && strings.Contains(ran, "student 0 ")
	})
	c.until("failure of the teacher that cannot grow", time.Minute, func() bool { return strings.Contains(c.ours(), "PENDING") && strings.Count(c.ours(), "\n") == 0 })
	waits := strings.Fields(c.ours())[0]
	if out, code := c.run("apply", "-auto-approve"); code != 3 || !strings.Contains(out, "6 of 8 jobs done") || !strings.Contains(out, "1 failed, 1 blocked") {
		t.Errorf("apply: exit %d\n%s", code, out)
	}
	c.idle(time.Minute)
	ran := c.ran()
	for key, n := range ran {
		if n != 1 {
			t.Errorf("%q ran %d times", key, n)
		}
	}
	array, _, _ := strings.Cut(waits, "_")
	for _, want := range []string{"teacher 0 50 1", "teacher 1 50 1", "teacher 1 100 1", "teacher 2 50 1", "teacher 2 50 2", "teacher 3 50 1", "student 0 " + array, "student 1 " + array, "student 2 " + array} {
		if ran[want] != 1 {
			t.Errorf("%q ran %d times; the record is %q", want, ran[want], keys(ran))
		}
	}
	if len(ran) != 9 {
		t.Errorf("the record is %q", keys(ran))
	}
}

func keys(m map[string]int) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}

package systemtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab/vm"
)

const day = 24 * time.Hour

// timely is a campaign whose jobs write down when they start and end by the
// time since boot, which no setting of the clock changes: `note what who`.
const timely = `
campaign "timely" {}
backend "ssh" "lab" {
  host    = "vm"
  workdir = "FOLDER/work"
  cpus    = 16
}
locals {
  note = "note() { read -r up rest < /proc/uptime; echo $1 $2 $up >> RECORD; }; "
}
grid "g" { axes = { i = range(4) } }
phase "quick" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start quick${cell.i}; echo ${cell.i} > ${output.x}; note end quick${cell.i}"
    output "x" {
      path   = "quick/${cell.i}"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
phase "gated" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start gated; until [ -e FOLDER/gate ]; do sleep 0.1; done; echo x > ${output.x}; note end gated"
    output "x" {
      path   = "gated"
      verify = "nonempty"
    }
    resources { walltime = "30m" }
  }
}
phase "limited" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} trap 'note end limited; exit 1' TERM; note start limited; for i in $(seq 3000); do sleep 0.1; done"
    resources { walltime = "30s" }
  }
}
phase "again" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start again; [ $(grep -c 'start again' RECORD) -ge 2 ] || exit 75; echo x > ${output.x}"
    output "x" {
      path   = "again"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
  retry {
    on           = ["unknown"]
    max_attempts = 3
    delay        = "25s"
  }
}
phase "stale" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start stale"
    output "x" {
      path   = "stale"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
phase "rewritten" {
  place { candidates = [backend.ssh.lab] }
  job {
    command = "${local.note} note start rewritten; echo new > ${output.x}"
    output "x" {
      path   = "rewritten"
      verify = "nonempty"
    }
    resources { walltime = "10m" }
  }
}
`

// TestSystemSSHClock: a host's clock is three days behind, or ahead, or is set while
// jobs run, while their retries wait, and while the host's queue is dead. Each
// job runs once; limits and delays last as long as they are to; what was
// written is told from what was not; and every time that muster tells is a
// time at which it happened.
func TestSystemSSHClock(t *testing.T) {
	m := vm.Boot(t, vm.Options{Name: "vm", Arch: "amd64", Skew: -3 * day})
	for _, c := range []struct {
		name string
		set  time.Duration // before the campaign, so that clocks differ from case to case
		jump time.Duration // while its jobs run
		kill bool          // the host's queue, too
	}{
		{"behind", 0, 0, false},
		{"ahead", 6 * day, 0, false},
		{"set back", 0, -2 * day, true},
		{"set on", 0, 40 * day, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := m.In(t)
			if c.set != 0 {
				m.Turn(c.set)
			}
			runTimely(t, m, c.jump, c.kill)
		})
	}
}

func runTimely(t *testing.T, m *vm.Machine, jump time.Duration, kill bool) {
	r := onMachine(t, m, timely)
	// The files there were written at another time than any the clock will show.
	m.Exec(fmt.Sprintf("cd %s/work && echo old > stale && echo old > rewritten && touch -d @$(( $(date +%%s) + 500000 )) stale rewritten && chown alice: *", r.folder))
	r.want(0, "slots free", "backends") // the first copy of muster's program may take longer than an apply waits
	r.answered()
	began := time.Now()
	f := r.follow("apply", "-auto-approve", "-allow-rerun")
	for _, job := range []string{"gated", "limited", "again", "stale", "rewritten"} {
		r.await(f, "start", job, 1)
	}
	if kill {
		r.until("the failure of the one that is tried again", func() bool { return strings.Contains(f.said(), "retrying") })
		m.Exec("kill -9 $(ps | grep '[m]uster-host.* queue ' | while read -r pid rest; do echo $pid; done)")
	}
	if jump != 0 {
		m.Turn(jump)
	}
	r.end() // kills whatever is muster's here, without a word
	f.Wait()
	r.ages(began)

	f = r.follow("apply", "-auto-approve")
	r.await(f, "end", "limited", 1)
	r.await(f, "start", "again", 2)
	m.Exec("touch " + r.folder + "/gate")
	out, code := f.end()
	if code != 3 || !strings.Contains(out, "7 of 9 jobs done") {
		t.Errorf("apply ended with %d:\n%s", code, out)
	}
	r.want(0, "it was not written", "status", "phase.stale") // what was there is moved aside
	for _, job := range []string{"quick0", "quick1", "quick2", "quick3", "gated", "limited", "stale", "rewritten"} {
		if n := len(r.recorded("start", job)); n != 1 {
			t.Errorf("%s started %d times, want once", job, n)
		}
	}
	r.lasted("limited", r.recorded("start", "limited")[0], r.recorded("end", "limited")[0], 30)
	if s := r.recorded("start", "again"); len(s) != 2 {
		t.Errorf("the one that is tried again started %d times, want 2", len(s))
	} else {
		r.lasted("the delay", s[0], s[1], 25)
	}
	r.told(began)
	r.want(0, "", "plan", "-detailed-exitcode")
}

// slow is how many seconds longer a thing may last on a machine that is busy.
const slow = 60

func (r *machined) lasted(what string, from, to, want float64) {
	r.t.Helper()
	if d := to - from; d < want/2 || d > want+slow { // the limit counts from the launch; nine at once take an emulated machine ten seconds
		r.t.Errorf("%s lasted %.1f s, want %v s", what, d, want)
	}
}

// ages holds what status says of jobs that run: since when.
func (r *machined) ages(began time.Time) {
	r.t.Helper()
	text, err := r.command("status", "-json").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var doc struct {
		Jobs []struct {
			Address, Status     string
			Since, Retry, Start time.Time
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		r.t.Fatal(err)
	}
	for _, j := range doc.Jobs {
		for what, at := range map[string]time.Time{"since": j.Since, "retry": j.Retry, "start": j.Start} {
			r.within(j.Address+" "+j.Status+" "+what, at, began)
		}
	}
}

// within holds that a time that is told, if it is, is one of this test.
func (r *machined) within(what string, at, began time.Time) {
	r.t.Helper()
	if !at.IsZero() && (at.Before(began.Add(-5*time.Second)) || time.Until(at) > time.Minute) {
		r.t.Errorf("%s: %v is told, and this test began at %v", what, at, began)
	}
}

// told holds what the report says of when jobs ran, and for how long.
func (r *machined) told(began time.Time) {
	r.t.Helper()
	text, err := r.command("report", "-json").Output()
	if err != nil {
		r.t.Fatal(err)
	}
	var doc struct {
		Phases []struct {
			Phase   string
			Longest float64 `json:"longest_seconds"`
			Queued  float64 `json:"queue_seconds"`
		}
		Jobs []struct {
			Address, Status, Class string
			Failures               []string
			Seconds                float64
			Started, Ended         time.Time
		}
		Began, Ended time.Time
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		r.t.Fatal(err)
	}
	took := time.Since(began).Seconds() + 5
	want := map[string]string{"phase.limited": "failed walltime", "phase.stale": "failed bad_output"}
	for _, j := range doc.Jobs {
		if s := strings.TrimSpace(j.Status + " " + j.Class); s != cmp.Or(want[j.Address], "completed") {
			r.t.Errorf("%s is %s", j.Address, s)
		}
		if j.Started.IsZero() || j.Ended.IsZero() || j.Seconds < 0 || j.Seconds > took {
			r.t.Errorf("%s is told to have run for %v s, from %v to %v", j.Address, j.Seconds, j.Started, j.Ended)
		}
		r.within(j.Address+" started", j.Started, began)
		r.within(j.Address+" ended", j.Ended, began)
	}
	for _, p := range doc.Phases {
		if p.Longest > took || p.Queued > took {
			r.t.Errorf("phase %s is told to have run for %v s and to have waited for %v s", p.Phase, p.Longest, p.Queued)
		}
	}
	r.within("the campaign began", doc.Began, began)
	r.within("the campaign ended", doc.Ended, began)
}

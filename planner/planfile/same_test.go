package planfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// TestSamePlanSameBytes: a plan made again, from the campaign read again, is the same
// bytes, with history that runtimes, turns and failures are from, many phases,
// pools and budgets, and several made beside one another.
func TestSamePlanSameBytes(t *testing.T) {
	t.Parallel()
	const times = 12
	text := `
campaign "c" {}
variable "token" { type = string }
backend "ssh" "lab" {}
backend "ssh" "paid" {}
budget "all" { limits = { usd = 900 } }
budget "hours" { limits = { gpu_hours = 9000 } }
`
	for k := range 6 {
		after := ""
		if k > 0 {
			after = fmt.Sprintf("  depends_on = [phase.p%d]\n", k-1)
		}
		text += fmt.Sprintf(`
phase "p%d" {
  grid {
    axes = {
      N = [1, 2, 4, 8]
      r = range(6)
    }
    repeat = ["r"]
  }
  place { candidates = [backend.ssh.lab, backend.ssh.paid] }
%s  job {
    command = "train ${cell.N} ${output.o}"
    output "o" { path = "o/%d/${cell.key}" }
    resources {
      gpus     = 1
      walltime = "%dh"
    }
  }
  retry {
    on           = ["node_failure"]
    max_attempts = 3
  }
}
`, k, after, k, 1+k)
	}
	pools := []offer.Pool{
		{Backend: "ssh.lab", Kind: offer.MachinePool, Word: "machine", CPUs: 64, GPUs: 3, Idle: 3, Total: 3, Price: offer.Price{Known: true}},
		{Backend: "ssh.paid", Kind: offer.MachinePool, Word: "machine", CPUs: 64, GPUs: 8, Idle: 8, Total: 8, Price: offer.Price{Known: true, USDPerGPUHour: "1.5"}},
	}
	bytesOf := func(c *lang.Campaign) (string, error) {
		in := planner.Input{Campaign: c, Pools: pools, Now: now}
		first, diags := planner.Make(in)
		if diags.HasErrors() {
			return "", fmt.Errorf("%v", diags)
		}
		in.State = past(first)
		p, diags := planner.Make(in)
		if diags.HasErrors() {
			return "", fmt.Errorf("%v", diags)
		}
		b := &bytes.Buffer{}
		if err := encode(b, p, Meta{Muster: "test", Input: in}); err != nil {
			return "", err
		}
		if err := WriteJSON(b, p, "test", nil); err != nil {
			return "", err
		}
		return b.String(), nil
	}
	type made struct {
		text string
		err  error
	}
	all := make(chan made, times)
	for range times {
		c := load(t, text)
		go func() {
			text, err := bytesOf(c)
			all <- made{text, err}
		}()
	}
	want := ""
	for range times {
		m := <-all
		switch {
		case m.err != nil:
			t.Error(m.err)
		case want == "":
			want = m.text
		case m.text != want:
			t.Fatal("a plan made twice is not the same bytes")
		}
	}
	if !strings.Contains(want, "fitted as ") {
		t.Error("nothing of the history is in the plan")
	}
}

// past has a half of the first two phases done, one launch in four after a failure.
func past(p *planner.Plan) *state.State {
	st := completed(p)
	for _, pp := range p.Phases[:2] {
		for i := 0; i < pp.Phase.Len(); i += 2 {
			n := int(pp.Phase.Grid.Coord(i, 0))
			took := time.Duration(1+n)*20*time.Minute + time.Duration(i)*time.Minute
			began := now.Add(-100 * time.Hour).Add(time.Duration(i) * time.Hour)
			job := &state.Job{Address: pp.Phase.Address(i), Phase: pp.Phase.Name, Axes: state.TextsOf(pp.Phase.Axes(i)), Scheme: planner.Scheme, Result: pp.Result[i].String(), Status: state.Completed}
			if i%8 == 0 {
				job.Attempts = append(job.Attempts, state.Attempt{N: 1, Backend: "ssh.lab", Queued: began.Add(-time.Hour), Started: began.Add(-time.Hour), Ended: began, Class: "node_failure"})
			}
			job.Attempts = append(job.Attempts, state.Attempt{N: len(job.Attempts) + 1, Backend: "ssh.lab", Queued: began, Started: began.Add(time.Minute), Ended: began.Add(time.Minute + took)})
			st.Jobs[job.Address] = job
		}
	}
	return st
}

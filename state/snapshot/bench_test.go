package snapshot

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// campaign is a state with n attempted jobs as they are after a real run: two
// attempts, two outputs with digests, metrics, usage, and a ledger.
func campaign(n int) *state.State {
	s := state.New("distill")
	s.Lineage, s.Seq, s.Fence, s.Serial = "4f1c0f6e2b9d4c5aa1b2c3d4e5f60718", uint64(4*n), 7, 3
	at := time.Date(2026, 10, 1, 9, 0, 0, 123456789, time.UTC)
	for i := range n {
		lr, seed := fmt.Sprintf("%de-5", i%1000), fmt.Sprint(i/1000)
		j := &state.Job{
			Address: fmt.Sprintf(`phase.students["lr=%s,seed=%s"]`, lr, seed), Phase: "students", Axes: state.TextsOf(map[string]string{"lr": lr, "seed": seed}),
			Name: "student-" + lr + "-" + seed, Definition: hash(1), Scheme: 1, Result: hash(i), Request: hash(i / 7), Source: hash(2),
			Inputs: state.TextsOf(map[string]string{"teacher": hash(i % 10)}), InputBytes: state.TextsOf(map[string]string{"teacher": hash(i % 11)}),
			Status: state.Completed, Metrics: map[string]string{"accuracy": fmt.Sprintf("0.%d", 900000+i%99999), "loss": "0.0312"},
			Updated: at.Add(time.Duration(i) * time.Second),
		}
		for k := range 2 {
			exit := 1 - k
			a := state.Attempt{
				N: k + 1, Token: hash(i)[:32], Backend: "local", Pool: "local", Handle: fmt.Sprint("q-", i), Plan: "9a3b4c5d6e7f8091", Fence: 7,
				Ceiling: state.Amounts{"cpu_hours": "0.5"}, Intent: at, Queued: at, Started: at.Add(time.Second), Ended: at.Add(time.Minute),
				Node: "node17", Exit: &exit, Usage: &state.Usage{Elapsed: 59.25, CPU: 58.125, MaxRSS: 1 << 28, GPUSeconds: 0},
			}
			if k == 0 {
				a.Class, a.Tail = "oom_host", []string{"epoch 3 loss 0.31", "Killed"}
			}
			j.Attempts = append(j.Attempts, a)
			s.Ledger = append(s.Ledger, state.Entry{Address: j.Address, Attempt: k + 1, Backend: "local", Pool: "local", Phase: "students", At: at, Spent: state.TextsOf(state.Amounts{"cpu_hours": "0.0164"})})
		}
		for _, name := range []string{"checkpoint", "metrics"} {
			j.Outputs = append(j.Outputs, state.Output{Name: name, Backend: "local", Path: "out/students/" + j.Name + "/" + name, Workdir: "/home/ada/distill",
				Size: int64(1000 + i), Digest: "sha256:" + hash(i+9), MTime: at.UnixNano(), Inode: uint64(1e6 + i), Files: 1})
		}
		s.Jobs[j.Address] = j
	}
	return s
}

func hash(i int) string {
	return fmt.Sprintf("%016x%016x%016x%016x", uint64(i)*0x9e3779b97f4a7c15, i, uint64(i)*0xc2b2ae3d27d4eb4f, ^uint64(i))
}

func BenchmarkDecode100k(b *testing.B) {
	data, err := Bytes(campaign(100_000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode("s", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode100k(b *testing.B) {
	s := campaign(100_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := Encode(io.Discard, s); err != nil {
			b.Fatal(err)
		}
	}
}

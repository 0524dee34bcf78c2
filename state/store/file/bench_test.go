package file

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// events of one job's life as the engine records them: intent, handle, a
// failed launch, the launch that its queue made, and the end.
func lifeOf(i int) []state.Event {
	at := time.Date(2026, 10, 1, 9, 0, 0, 123456789, time.UTC)
	lr, seed := fmt.Sprintf("%de-5", i%1000), fmt.Sprint(i/1000)
	address, token := fmt.Sprintf(`phase.students["lr=%s,seed=%s"]`, lr, seed), hash(i)[:32]
	one, zero := 1, 0
	usage := &state.Usage{Elapsed: 59.25, CPU: 58.125, MaxRSS: 1 << 28}
	spent := func(n int) *state.Entry {
		return &state.Entry{Address: address, Attempt: n, Backend: "local", Pool: "local", Phase: "students", At: at, Spent: state.TextsOf(state.Amounts{"cpu_hours": "0.0164"})}
	}
	var outputs []state.Output
	for _, name := range []string{"checkpoint", "metrics"} {
		outputs = append(outputs, state.Output{Name: name, Backend: "local", Path: "out/students/" + lr + "-" + seed + "/" + name, Workdir: "/home/ada/distill",
			Size: int64(1000 + i), Digest: "sha256:" + hash(i+9), MTime: at.UnixNano(), Inode: uint64(1e6 + i), Files: 1})
	}
	return []state.Event{
		state.Intended{Job: state.Job{
			Address: address, Phase: "students", Axes: state.TextsOf(map[string]string{"lr": lr, "seed": seed}), Name: "student-" + lr + "-" + seed,
			Definition: hash(1), Scheme: 1, Result: hash(i), Request: hash(i / 7), Source: hash(2),
			Inputs: state.TextsOf(map[string]string{"teacher": hash(i % 10)}), InputBytes: state.TextsOf(map[string]string{"teacher": hash(i % 11)}),
		}, Attempt: state.Attempt{N: 1, Token: token, Backend: "local", Pool: "local", Plan: "9a3b4c5d6e7f8091", Fence: 7, Ceiling: state.Amounts{"cpu_hours": "0.5"}}, Fresh: true, At: at},
		state.Submitted{Address: address, Token: token, Handle: fmt.Sprint("q-", i), At: at},
		state.Observed{Address: address, Token: token, Status: state.Waiting, At: at, Spent: spent(1), Attempt: state.Attempt{
			N: 1, Token: token, Backend: "local", Node: "node17", Started: at, Ended: at.Add(time.Minute), Exit: &one, Class: "oom_host", Tail: []string{"epoch 3 loss 0.31", "Killed"}, Usage: usage}},
		state.Observed{Address: address, Token: token, Status: state.Completed, At: at, Spent: spent(2), Attempt: state.Attempt{
			N: 2, Token: token + "/2", Backend: "local", Node: "node17", Started: at, Ended: at.Add(time.Minute), Exit: &zero, Usage: usage},
			Outputs: outputs, Metrics: map[string]string{"accuracy": fmt.Sprintf("0.%d", 900000+i%99999), "loss": "0.0312"}},
	}
}

func hash(i int) string {
	return fmt.Sprintf("%016x%016x%016x%016x", uint64(i)*0x9e3779b97f4a7c15, i, uint64(i)*0xc2b2ae3d27d4eb4f, ^uint64(i))
}

// attempted makes a state of n jobs, each attempted twice; folded into the
// snapshot, or in the journal of a holder that died.
func attempted(b *testing.B, n int, folded bool) (s *Store, size int64) {
	dir := b.TempDir()
	s = mortal(b, dir)
	s.opt.FoldAbove = 1 << 40
	got, err := s.Acquire(ctx, "bench", 0)
	if err != nil {
		b.Fatal(err)
	}
	err = got.Append(state.Began{Lineage: "5e1f", Campaign: "distill", At: time.Now()})
	for i := range n {
		err = errors.Join(err, got.Append(lifeOf(i)...))
		if i%1000 == 999 {
			err = errors.Join(err, got.Sync(ctx))
		}
	}
	if err = errors.Join(err, got.Sync(ctx)); err != nil {
		b.Fatal(err)
	}
	if folded {
		err = got.Close(ctx)
	} else {
		die(got.(*session))
	}
	if err != nil {
		b.Fatal(err)
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && (e.Name() == DefaultName || strings.Contains(e.Name(), ".journal.")) {
			size += info.Size()
		}
	}
	return s, size
}

func benchmarkOpen(b *testing.B, n int, folded bool) {
	s, size := attempted(b, n, folded)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		st, err := s.Read(ctx)
		if err != nil || len(st.Jobs) != n {
			b.Fatalf("%d jobs, %v", len(st.Jobs), err)
		}
	}
}

func BenchmarkOpen10k(b *testing.B)         { benchmarkOpen(b, 10_000, true) }
func BenchmarkOpen100k(b *testing.B)        { benchmarkOpen(b, 100_000, true) }
func BenchmarkOpen100kJournal(b *testing.B) { benchmarkOpen(b, 100_000, false) }

func BenchmarkOpen1M(b *testing.B) {
	if testing.Short() || os.Getenv("MUSTER_BENCH_LARGE") == "" {
		b.Skip("2.6 GB of state; set MUSTER_BENCH_LARGE=1")
	}
	benchmarkOpen(b, 1_000_000, true)
}

// BenchmarkSession is the engine's cost of one durable event: the journal's
// fsync, the look at the lease, the number acknowledged.
func BenchmarkSession(b *testing.B) {
	s := open(b, b.TempDir())
	n, err := s.Acquire(ctx, "bench", 0)
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		if err := errors.Join(n.Append(lifeOf(i)[0]), n.Sync(ctx)); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.StopTimer()
	if err := n.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

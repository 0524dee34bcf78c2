package state_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/muster-run/muster/state"
)

// BenchmarkRecord measures the memory that a completed job takes in a state.
func BenchmarkRecord(b *testing.B) {
	const n = 10_000
	for b.Loop() {
		b.StopTimer()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		st := state.New("c")
		for i := range n {
			address, token := fmt.Sprintf("phase.p[\"i=%d\"]", i), fmt.Sprintf("%032x", i)
			st.Apply(state.Intended{Job: state.Job{Address: address, Phase: "p", Axes: state.TextsOf(map[string]string{"i": fmt.Sprint(i)}), Result: fmt.Sprintf("%064x", i)},
				Attempt: state.Attempt{N: 1, Token: token, Backend: "local.local", Ceiling: state.Amounts{"cpu_hours": "1"}, Rates: map[string]string{"cores": "1", "cpus": "1"}}, At: at})
			st.Apply(state.Observed{Address: address, Token: token, Status: state.Completed, Attempt: state.Attempt{N: 1, Started: at, Ended: at.Add(time.Second)},
				Outputs: []state.Output{{Name: "x", Backend: "local.local", Path: fmt.Sprintf("out/%d", i), Size: 1}},
				Spent:   &state.Entry{Address: address, Attempt: 1, Backend: "local.local", Phase: "p", At: at, Spent: state.TextsOf(state.Amounts{"cpu_hours": fmt.Sprintf("0.%06d", i)})}, At: at})
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "kept-B/job")
		runtime.KeepAlive(st)
		b.StartTimer()
	}
}

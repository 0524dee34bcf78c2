package apply

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// BenchmarkEngine drives 10,000 jobs that end at once through a world in
// memory: what is measured is the engine, the fold and the plan's shell.
func BenchmarkEngine(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := newStage(b, fmt.Sprintf(`
phase "a" {
  grid { axes = { n = range(%d) } }
  job {
    command = "true ${cell.n} > ${output.o}"
    output "o" { path = "a${cell.n}" }
  }
}`, n))
				s.world.can = offer.Capabilities{HostQueue: true, Dependencies: true, Retries: true}
				s.world.slots = n
				f := &fake{world: s.world}
				m := s.disk.open(nil)
				c := s.load()
				plan := s.plan(c, m.st, f)
				conf := s.config(plan, c, m, f)
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				began := time.Now()
				b.StartTimer()
				o, err := Run(b.Context(), conf)
				b.StopTimer()
				runtime.ReadMemStats(&after)
				if err != nil || o.Done != n {
					b.Fatalf("%+v %v", o, err)
				}
				b.ReportMetric(float64(time.Since(began).Microseconds())/float64(n), "µs/job")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B/job")
				b.StartTimer()
			}
		})
	}
}

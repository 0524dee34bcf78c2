package queue

import (
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
)

func TestBreakerJudges(t *testing.T) {
	t.Parallel()
	v := failure.Verdict{Class: "nan", Signature: "nan", Line: "loss is nan"}
	for _, c := range []struct {
		name     string
		finished int
		failed   int
		policy   providers.Breaker
		kind     string
	}{
		{"3 of 20 is 15 %", 20, 3, providers.Breaker{Share: 0.15}, "breaker"},
		{"3 of 19 is too few to tell", 19, 3, providers.Breaker{Share: 0.15}, ""},
		{"2 of 20 is worth a word", 20, 2, providers.Breaker{Share: 0.15}, "info"},
		{"1 of 20 is not", 20, 1, providers.Breaker{Share: 0.15}, ""},
		{"off", 20, 20, providers.Breaker{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := breaker{Finished: c.finished, Causes: map[string]int{"nan": c.failed}, Last: "nan", Same: c.failed}
			if kind, _ := b.judge(c.policy, v); kind != c.kind {
				t.Errorf("said %q, want %q", kind, c.kind)
			}
		})
	}
}

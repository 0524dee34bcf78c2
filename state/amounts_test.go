package state

import (
	"maps"
	"testing"
)

func TestAmountsAdd(t *testing.T) {
	sum := Amounts{"usd": "1.10"}
	sum.Add(Amounts{"usd": "0.2", "gpu_hours": "3", "cpu_hours": "not a number"})
	if want := (Amounts{"usd": "1.3", "gpu_hours": "3"}); !maps.Equal(sum, want) {
		t.Errorf("got %v, want %v", sum, want)
	}
}

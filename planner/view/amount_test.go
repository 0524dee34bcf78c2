package view

import "testing"

func TestAmounts(t *testing.T) {
	for _, test := range []struct {
		amounts map[string]string
		also    string
		want    string
	}{
		{nil, "", ""},
		{map[string]string{"usd": "0"}, "", ""},
		{map[string]string{"node_hours": "2", "usd": "1.5", "gpu_hours": "0", "cpu_hours": "12"}, "node_hours", "$1.50, 12.0 CPU-hours, 2.0 node-hours"},
		{map[string]string{"node_hours": "2", "usd": "1.5"}, "", "$1.50"},
	} {
		if got := Amounts(test.amounts, test.also); got != test.want {
			t.Errorf("%v: %q, want %q", test.amounts, got, test.want)
		}
	}
}

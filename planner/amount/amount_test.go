package amount

import "testing"

// TestWordsTellApart: what passes a small limit does not read like it.
func TestWordsTellApart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0 CPU-hours", "0.02": "0.02 CPU-hours", "0.0234": "0.023 CPU-hours", "0.96": "0.96 CPU-hours", "1": "1 CPU-hours",
		"1.04": "1 CPU-hours", "12.26": "12.3 CPU-hours", "0.00004": "0.00004 CPU-hours", "-0.55": "-0.55 CPU-hours", "0.5": "0.5 CPU-hours",
	} {
		if got := Words("cpu_hours", text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"0": "$0", "0.0042": "$0.0042", "0.00999": "$0.01", "0.01": "$0.01", "-0.004": "$-0.004", "0.35": "$0.35", "2": "$2", "1.999": "$2"} {
		if got := Words("usd", text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{"0": "0 service units", "0.42": "0.42 service units", "1.2": "1 service units", "324.6": "325 service units"} {
		if got := Words("service_units", text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestApart: a limit that is passed never reads as what passes it.
func TestApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ unit, a, limit, want, of string }{
		{"cpu_hours", "4.1", "4.09", "4.1 CPU-hours", "4.09 CPU-hours"},
		{"cpu_hours", "4.3391666667", "4.339", "4.3392 CPU-hours", "4.339 CPU-hours"},
		{"cpu_hours", "5", "4", "5 CPU-hours", "4 CPU-hours"},
		{"cpu_hours", "4.1", "4.1", "4.1 CPU-hours", "4.1 CPU-hours"},
		{"usd", "10.001", "10", "$10.001", "$10"},
		{"service_units", "1200.4", "1200", "1,200.4 service units", "1,200 service units"},
		{"usd", "0.3333333333333333", "0.333333333333333", "$0.33", "$0.33"},
	} {
		a, of := Apart(c.unit, Of(c.a), Of(c.limit))
		if a != c.want || of != c.of {
			t.Errorf("%s %s of %s: %q of %q, want %q of %q", c.unit, c.a, c.limit, a, of, c.want, c.of)
		}
	}
}

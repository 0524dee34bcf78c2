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

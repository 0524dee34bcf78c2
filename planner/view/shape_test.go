package view

import (
	"testing"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
)

// TestShapeSaysInHowManySegments work is cut, whether it asks for GPUs or not.
func TestShapeSaysInHowManySegments(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]place.Decision{
		"":                   {Segments: 1},
		"5 segments":         {Segments: 5},
		"2×A100":             {Segments: 1, Shape: offer.Shape{GPUs: 2}, GPUClass: "A100"},
		"1×GPU, 17 segments": {Segments: 17, Shape: offer.Shape{GPUs: 1}},
	} {
		if got := shape(d); got != want {
			t.Errorf("%q, and not %q", got, want)
		}
	}
}

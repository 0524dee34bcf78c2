package wrapper

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// TestDevices: a job sees the devices that it was given. Where nobody names them, as PBS
// on whole nodes, it sees those of its node: an empty list would hide them all.
func TestDevices(t *testing.T) {
	t.Parallel()
	j := &providers.Job{Shape: offer.Shape{CPUs: 1, GPUs: 1}}
	of := func(gpus ...string) string {
		env := Environ(j, nil, Start{GPUs: gpus})
		i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "CUDA_VISIBLE_DEVICES=") })
		if i < 0 {
			return "none"
		}
		return env[i]
	}
	if got := of("2", "3"); got != "CUDA_VISIBLE_DEVICES=2,3" {
		t.Error(got)
	}
	if got := of(); got != "none" {
		t.Error(got)
	}
}

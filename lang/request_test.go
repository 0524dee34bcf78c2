package lang

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// The texts are those of the first version: states hold hashes of them, and a
// job whose request hash differs is placed again.
func TestHashedTextStays(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		s          offer.Shape
		options    map[string]json.RawMessage
		candidates []string
	}{
		`{"V":1,"CPUs":1,"Memory":0,"GPUs":0,"Disk":0,"Nodes":1,"Walltime":"0s","Models":null,"GPUMemory":0,"Smoke":false,"Options":null,"Candidates":null}`: {s: offer.Shape{CPUs: 1, Nodes: 1}},
		`{"V":1,"CPUs":8,"Memory":1024,"GPUs":2,"Disk":5,"Nodes":2,"Walltime":"1h30m0s","Models":["A100","<H&>"],"GPUMemory":7,"Smoke":true,"Options":{"slurm":{"account":"a"}},"Candidates":["slurm.a"]}`: {
			s:       offer.Shape{CPUs: 8, Memory: 1024, GPUs: 2, Disk: 5, Nodes: 2, Walltime: 90 * time.Minute, GPU: offer.GPU{Models: []string{"A100", "<H&>"}, Memory: 7}, Smoke: true},
			options: map[string]json.RawMessage{"slurm": json.RawMessage(`{"account":"a"}`)}, candidates: []string{"slurm.a"}},
	} {
		if got := string(hashedRequest(c.s, nil, c.options, c.candidates)); got != want {
			t.Errorf("%s\nis not %s", got, want)
		}
	}
}

package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/offer"
)

// TestSnapshotFoldsToTheSame: a compacted log makes the same queue.
func TestSnapshotFoldsToTheSame(t *testing.T) {
	q, p := inside(t, gpu.None{})
	for i := range 3 {
		j := gpuJob(p, fmt.Sprintf("exit %d", i))
		j.Shape.GPUs = 0
		submitInside(t, q, p, j)
		eventually(t, q, j.Token, func(o offer.Observation) bool { return o.Status == offer.Completed || o.Status == offer.Failed })
	}
	late := gpuJob(p, "true")
	late.After = []string{"waitsforever"}
	q.do(t.Context(), func() {
		q.tombstones["waitsforever"] = tombstoneEntry{Token: "waitsforever", tombstone: tombstone{Status: offer.Failed}}
	})
	submitInside(t, q, p, late)
	var before, after bytes.Buffer
	q.do(t.Context(), func() {
		again := newQueue()
		again.starts.environs = q.starts.environs
		q.compaction.snapshot(func(e *entry) {
			b, _ := json.Marshal(e)
			before.Write(append(b, '\n'))
			var back entry
			json.Unmarshal(b, &back)
			if err := again.loader.fold(back); err != nil {
				t.Error(err)
			}
		})
		again.compaction.snapshot(func(e *entry) {
			b, _ := json.Marshal(e)
			after.Write(append(b, '\n'))
		})
	})
	if before.String() != after.String() {
		t.Errorf("before:\n%s\nafter:\n%s", before.String(), after.String())
	}
}

package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// A plan says who copies the checkpoints of jobs on rented machines, and what happens
// with muster off.
func TestNoteCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		checkpoint *lang.Checkpoint
		can        offer.Capabilities
		says       string
	}{
		{&lang.Checkpoint{Auto: true, MTBF: 3 * time.Hour, WriteTime: 30 * time.Second}, offer.Capabilities{Rents: true, KeepsFiles: true}, "phase.a: muster copies its checkpoints from local.local, each 13m 25s, while it runs. With muster off nothing does"},
		{&lang.Checkpoint{CopyTo: "s3://b", Interval: time.Hour}, offer.Capabilities{Rents: true, KeepsFiles: true}, "phase.a: each machine of local.local copies its checkpoints to s3://b, each 1h, also with muster off"},
		{&lang.Checkpoint{CopyTo: "s3://b"}, offer.Capabilities{HostQueue: true}, "copies its checkpoints to s3://b, each minute"},
		{&lang.Checkpoint{CopyTo: "s3://b"}, offer.Capabilities{Arrays: true}, "phase.a: copy_to has no effect on local.local"},
		{&lang.Checkpoint{}, offer.Capabilities{Rents: true, KeepsFiles: true}, "each minute"},
		{nil, offer.Capabilities{Rents: true, KeepsFiles: true}, ""},
		{&lang.Checkpoint{Interval: time.Hour}, offer.Capabilities{}, ""},
	} {
		in := input(load(t, nil, phaseSpec{name: "a", lr: "1", wall: "5h", mod: func(p *lang.Phase) { p.Checkpoint = c.checkpoint }}), nil)
		in.Can = map[string]offer.Capabilities{"local": c.can}
		notes := strings.Join(planned(t, in).Notes, "\n")
		if copies := strings.Contains(notes, "copies its checkpoints") || strings.Contains(notes, "copy_to"); copies != (c.says != "") || !strings.Contains(notes, c.says) {
			t.Errorf("%+v, %+v: %s", c.checkpoint, c.can, notes)
		}
	}
}

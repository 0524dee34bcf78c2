package devices

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers/host/gpu"
	"github.com/muster-run/muster/providers/host/machine"
	"github.com/muster-run/muster/providers/offer"
)

// fixedDevices is a reader of devices that do not change.
type fixedDevices struct {
	list []gpu.Device
	err  error
}

func (s *fixedDevices) Devices(context.Context) ([]gpu.Device, error) {
	return slices.Clone(s.list), s.err
}
func (s *fixedDevices) Close() error { return nil }

// allocatorOf has so many idle devices of names of their own, read once.
func allocatorOf(n int) (*Allocator, *fixedDevices) {
	s := &fixedDevices{}
	for i := range n {
		s.list = append(s.list, gpu.Device{Index: i, UUID: "GPU-" + rand.Text(), Model: "A100", Memory: 40 << 30, Healthy: true})
	}
	r := &Allocator{Reader: s}
	r.Update(r.Look()())
	return r, s
}

var (
	mine  = machine.Tenant{Lineage: "1", Campaign: "mine"}
	other = machine.Tenant{Lineage: "2", Campaign: "other"}
)

func ask(n int, avoid ...string) Demand {
	return Demand{Shape: offer.Shape{GPUs: n}, Avoid: avoid, Place: mine}
}

// Why a job gets no devices, and who could change that.
func TestWhyNothingIsGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Allocator, *fixedDevices)
		ask    Demand
		want   string
		ours   bool
		alien  bool
	}{
		"more than there are":      {nil, ask(3), "this machine has 2 GPUs that suit, and the job asks for 3", false, true},
		"of another model":         {nil, Demand{Shape: offer.Shape{GPUs: 1, GPU: offer.GPU{Models: []string{"H100"}}}}, "this machine has 0 GPUs that suit, and the job asks for 1", false, true},
		"held by jobs of ours":     {func(r *Allocator, _ *fixedDevices) { r.Hold([]string{"0", "1"}, mine) }, ask(1), "our own jobs run on GPU 0, 1", true, false},
		"held by another campaign": {func(r *Allocator, _ *fixedDevices) { r.Hold([]string{"0"}, mine); r.Hold([]string{"1"}, other) }, ask(1), `our own jobs run on GPU 0; your campaign "other" runs on GPU 1`, true, false},
		"one of two held":          {func(r *Allocator, _ *fixedDevices) { r.Hold([]string{"0"}, mine) }, ask(2), "1 of 2 GPUs are free; our own jobs run on GPU 0", true, false},
		"one of a stranger's":      {func(r *Allocator, s *fixedDevices) { s.list[0].Used = 9 << 30; r.Update(r.Look()()) }, ask(2), "1 of 2 GPUs are free; GPU 0 has 9216 MiB in use by no process that can be seen: left behind by one that died, or of another container", false, true},
		"a stranger's, and ours suffice": {func(r *Allocator, s *fixedDevices) {
			s.list[0].Used = 9 << 30
			r.Update(r.Look()())
			r.Hold([]string{"1"}, mine)
		}, ask(1), "GPU 0 has 9216 MiB in use by no process that can be seen: left behind by one that died, or of another container; our own jobs run on GPU 1", true, true},
		"the other than failed it":   {func(r *Allocator, _ *fixedDevices) { r.Hold([]string{"1"}, mine) }, ask(1, "0"), "it failed on GPU 0; our own jobs run on GPU 1", true, false},
		"a driver that says nothing": {func(r *Allocator, s *fixedDevices) { s.err = errors.New("no answer"); r.Update(r.Look()()) }, ask(1), "the GPUs cannot be read: no answer", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := allocatorOf(2)
			if c.change != nil {
				c.change(r, s)
			}
			got, w := r.Give(c.ask)
			if len(got.Names)+len(got.Locks) > 0 {
				t.Errorf("it was given %v", got.Names)
			}
			if w != (Shortage{Why: c.want, Ours: c.ours, Foreign: c.alien}) {
				t.Errorf("%+v, want %q", w, c.want)
			}
		})
	}
}

// Devices that failed a job come last, and it gets them where there are no others.
func TestDevicesThatFailedComeLast(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]Demand{"0": ask(1), "1": ask(1, "0"), "1 0": ask(2, "0"), "0 1": ask(2, "0", "1")} {
		r, _ := allocatorOf(2)
		got, w := r.Give(a)
		if w.Why != "" || strings.Join(got.Names, " ") != want || len(got.Locks) != len(got.Names) {
			t.Errorf("avoiding %v: %v (%q), want %s", a.Avoid, got.Names, w.Why, want)
		}
		got.giveBack()
	}
}

// A job gets all its devices or none: what others locked is theirs, and what
// was free of it is so again.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	r, s := allocatorOf(2)
	other, err := gpu.Lock(s.list[1].UUID)
	if err != nil {
		t.Fatal(err)
	}
	_, w := r.Give(ask(2))
	if !strings.HasPrefix(w.Why, "1 of 2 GPUs are free; GPU 1 is held by another muster on this machine") || !w.Foreign || w.Ours {
		t.Errorf("%+v", w)
	}
	free, err := gpu.Lock(s.list[0].UUID)
	if err != nil {
		t.Fatalf("the other one was not given back: %v", err)
	}
	free.Close()
	other.Close()
	if got, w := r.Give(ask(2)); len(got.Names) != 2 {
		t.Errorf("%v (%q)", got.Names, w.Why)
	}
}

// A reading that began before devices came back says nothing of what is free.
func TestAReadingFromBeforeARelease(t *testing.T) {
	t.Parallel()
	r, _ := allocatorOf(1)
	look := r.Look()
	if r.Look() != nil {
		t.Error("two readings at a time")
	}
	r.Hold([]string{"0"}, mine)
	r.Release([]string{"0"})
	if r.Update(look()); r.at != 0 {
		t.Error("it counts")
	}
	if r.Update(r.Look()()); r.at == 0 || len(r.Held()) != 0 {
		t.Errorf("the next does not: %v", r.Held())
	}
}

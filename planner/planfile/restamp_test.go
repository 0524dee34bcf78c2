package planfile

import (
	"bytes"
	"testing"
	"time"

	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
)

// TestRestamp: a plan given another time is, byte for byte, the plan made then,
// in a file and as JSON.
func TestRestamp(t *testing.T) {
	t.Parallel()
	c := load(t, source)
	made := func(at time.Time) *File {
		t.Helper()
		in := planner.Input{Campaign: c, Pools: []offer.Pool{pool()}, Now: at}
		p, diags := planner.Make(in)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		data, err := Encode(p, Meta{Muster: "test", Input: in})
		if err != nil {
			t.Fatal(err)
		}
		f, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	forms := func(f *File) string {
		t.Helper()
		var b bytes.Buffer
		if err := f.encode(&b); err != nil {
			t.Fatal(err)
		}
		if err := f.WriteJSON(&b, nil); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	f, then := made(now), made(now.Add(time.Hour))
	if f.Head.ID == then.Head.ID {
		t.Error("two plans, one id")
	}
	f.Restamp(now.Add(time.Hour))
	if got, want := forms(f), forms(then); got != want {
		t.Errorf("restamped is\n%s\nand made is\n%s", got, want)
	}
}

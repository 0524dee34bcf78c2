package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func usd(text string) Amounts { return Parse(map[string]string{"usd": text}) }

func TestNothingIsAffordedBeyondALimit(t *testing.T) {
	t.Parallel()
	var b Books
	b.Budget(&lang.Budget{Name: "b", Limits: map[string]string{"usd": "10"}, AppliesTo: []string{"phase.a"}, WarnAt: 0.8})
	b.Ceiling("plan", state.Amounts{"usd": "5"})
	it, now := Item{Phase: "a", Backend: "x.y", Plan: "plan"}, time.Now()
	b.Enter(it, usd("3"), usd("3"))
	if !b.Afford(it, "phase.a", usd("2"), now) {
		t.Errorf("2 of what is left: %s", b.Why)
	}
	if b.Afford(it, "phase.a", usd("2.000000001"), now) || !strings.Contains(b.Why, "the approved ceiling does not cover phase.a") {
		t.Errorf("a billionth too much is afforded: %q", b.Why)
	}
	other := Item{Phase: "a", Plan: "another"}
	b.Fly(other, usd("6"), 1)
	if b.Afford(other, "phase.a", usd("2"), now) || !strings.Contains(b.Why, `budget "b"`) {
		t.Errorf("what flies does not count: %q", b.Why)
	}
	if w := b.Warnings(); len(w) != 1 || len(b.Warnings()) != 0 {
		t.Errorf("warnings %v", w)
	}
	b.Fly(other, usd("6"), -1)
	if !b.Afford(other, "phase.a", usd("2"), now) {
		t.Errorf("what landed counts: %s", b.Why)
	}
	if !b.Afford(Item{Phase: "z"}, "phase.z", usd("1000"), now) {
		t.Errorf("a phase that no budget names: %s", b.Why)
	}
}

func TestDeadlineStopsStarts(t *testing.T) {
	t.Parallel()
	var b Books
	now := time.Date(2026, 10, 1, 9, 0, 0, 0, time.UTC)
	b.Budget(&lang.Budget{Name: "b", Deadline: now})
	if !b.Afford(Item{}, "phase.a", Amounts{}, now) || b.Afford(Item{}, "phase.a", Amounts{}, now.Add(time.Second)) {
		t.Errorf("at the deadline and after it: %q", b.Why)
	}
}

func TestLaunchesThatScaleAreDueOneByOne(t *testing.T) {
	t.Parallel()
	d := Dues{Each: usd("1"), Left: 3, Steps: []Amounts{usd("1"), usd("2"), usd("4")}}
	if d.Rest() != usd("7") || d.Next() != usd("1") {
		t.Errorf("rest %v, next %v", d.Rest(), d.Next())
	}
	d.Left = 1
	if d.Rest() != usd("4") || d.Next() != usd("4") {
		t.Errorf("of the last: rest %v, next %v", d.Rest(), d.Next())
	}
}

func TestWholeNodesArePaidByTheNode(t *testing.T) {
	t.Parallel()
	tariff := Tariff{Price: offer.Price{Known: true, SUPerNodeHour: "3"}, WholeNode: true}
	got, known := tariff.Cost(offer.Shape{GPUs: 1, CPUs: 2, Nodes: 2}, 90*time.Minute)
	want := Parse(map[string]string{"service_units": "9", "node_hours": "3", "gpu_hours": "1.5", "cpu_hours": "3"})
	if got != want || !known {
		t.Errorf("%v, want %v", got.Text(), want.Text())
	}
}

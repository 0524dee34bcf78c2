package staging

import (
	"testing"

	"github.com/muster-run/muster/planner/place"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

// A gigabyte is 1e9 bytes where traffic is billed; what leaves a place without a
// price for it is free.
func TestFare(t *testing.T) {
	t.Parallel()
	billed := offer.Pool{Price: offer.Price{Known: true, USDPerGBOut: "0.09"}}
	f := Charge{Phase: "a", Address: "phase.a", Output: "o", Digest: "sha256:1", Backend: "cloud.x", Pool: "p", To: "local", Bytes: 2_500_000_000}
	en, ok := f.Entry(nil, billed)
	if !ok || en.Spent.Get(place.USD) != "0.225" || en.Address != "phase.a" || en.Backend != "cloud.x" || en.Attempt != 0 {
		t.Errorf("%v %+v", ok, en)
	}
	if _, ok := f.Entry(nil, offer.Pool{}); ok {
		t.Error("a place without a price bills")
	}

	launch := en
	launch.Attempt = 1
	if !Paid([]state.Entry{launch, en}, en) || Paid([]state.Entry{launch}, en) || Paid(nil, en) {
		t.Error("a charge is known by its entry, and by no launch")
	}
	seen := map[string]bool{en.Token: true}
	for name, other := range map[string]Charge{
		"made anew":      {Output: f.Output, Digest: "sha256:2", Backend: f.Backend, To: f.To},
		"another output": {Output: "x", Digest: f.Digest, Backend: f.Backend, To: f.To},
		"another way":    {Output: f.Output, Digest: f.Digest, Backend: f.Backend, To: "ssh.x"},
		"from elsewhere": {Output: f.Output, Digest: f.Digest, Backend: "cloud.y", To: f.To},
	} {
		if token := other.token(); seen[token] {
			t.Errorf("%s goes for one that is paid", name)
		} else {
			seen[token] = true
		}
	}
}

package batch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/command"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/offer"
)

// TestCapOverArrays: a phase's limit holds over the arrays that it takes, and
// all of them are submitted.
func TestCapOverArrays(t *testing.T) {
	// Requirement: ARR-01
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 20, nil)
	for i := range jobs {
		jobs[i].Cap = 6
		jobs[i].Shape.CPUs = 1 + i%2
	}
	jobs = append(jobs, k.jobs("b", 20, func(i int) []string { return []string{fmt.Sprintf("a%d", i)} })...)
	k.submit("batch0123456789", jobs...)
	var got []string
	for _, s := range k.f.scripts {
		got = append(got, directive(s, "array")+" "+directive(s, "dependency"))
	}
	// The second phase goes in two arrays, too, each after its like elements.
	if want := []string{"0-9%3 ", "0-9%3 ", "0-9 aftercorr:1", "0-9 aftercorr:2"}; !slices.Equal(got, want) {
		t.Errorf("arrays are %q, want %q", got, want)
	}
	for _, c := range k.f.told() {
		if strings.HasPrefix(c, "scontrol update") {
			t.Errorf("an element was told on its own: %s", c)
		}
	}
}

// TestLanes: more arrays than may run at once wait for one another.
func TestLanes(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 3, nil)
	for i := range jobs {
		jobs[i].Cap = 2
		jobs[i].Shape.CPUs = 1 + i
	}
	k.submit("batch0123456789", jobs...)
	var got []string
	for _, s := range k.f.scripts {
		got = append(got, directive(s, "dependency"))
	}
	if want := []string{"", "", "afterany:1"}; !slices.Equal(got, want) || !strings.Contains(k.f.sent()[0], "--hold") {
		t.Errorf("dependencies are %q, want %q; sent %q", got, want, k.f.sent())
	}
}

// TestCapChanged: another limit reaches the arrays that Slurm has, once; a muster
// that comes later knows of it. Where fewer may run than there are arrays, one
// comes behind the other.
func TestCapChanged(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	jobs := k.jobs("a", 20, nil)
	for i := range jobs {
		jobs[i].Cap = 6
		jobs[i].Shape.CPUs = 1 + i%2
	}
	k.submit("batch0123456789", append(jobs, k.jobs("b", 3, nil)...)...)
	const throttle = "scontrol update JobId=%d ArrayTaskThrottle=%d"
	for _, tt := range []struct {
		limit int
		want  []string
	}{
		{6, nil},
		{4, []string{fmt.Sprintf(throttle, 1, 2), fmt.Sprintf(throttle, 2, 2)}},
		{4, nil},
		{10, []string{fmt.Sprintf(throttle, 1, 5), fmt.Sprintf(throttle, 2, 5)}},
		{1, []string{fmt.Sprintf(throttle, 1, 1), fmt.Sprintf(throttle, 2, 1), "scontrol update JobId=2 Dependency=afterany:1"}},
		{-1, []string{fmt.Sprintf(throttle, 1, 0), fmt.Sprintf(throttle, 2, 0), "scontrol update JobId=2 Dependency="}},
		{-1, nil},
	} {
		k.f.calls = nil
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Phases: map[string]int{"a": tt.limit, "b": -1, "none": 3}}); err != nil {
			t.Fatal(err)
		}
		if got := k.f.told(); !slices.Equal(got, tt.want) {
			t.Errorf("with a limit of %d Slurm is told %q, want %q", tt.limit, got, tt.want)
		}
		k.restart()
	}
}

// TestCapChangedOfACutArray: what there was no room for takes nothing of another
// limit from what Slurm has, and has all of it when its turn comes.
func TestCapChangedOfACutArray(t *testing.T) {
	t.Parallel()
	k := newBench(t)
	k.f.answer = func(argv []string) *command.Result {
		switch line := strings.Join(argv, " "); {
		case strings.Contains(line, "show qos"):
			return &command.Result{Out: []byte("normal|0||||12||||\n")}
		case strings.Contains(line, "show assoc"):
			return &command.Result{Out: []byte("c|ucb|me||normal|normal|||||\n")}
		}
		return nil
	}
	k.restart()
	jobs := k.jobs("a", 20, nil)
	for i := range jobs {
		jobs[i].Cap = 4
	}
	k.submit("batch0123456789", jobs...)
	if len(k.f.scripts) != 1 || directive(k.f.scripts[0], "array") != "0-11%4" {
		t.Fatalf("sent: %q", k.f.scripts)
	}
	for _, limit := range []int{6, 3} {
		k.f.calls = nil
		k.restart()
		if err := k.s.Control(t.Context(), providers.ControlRequest{Backend: k.b.Name, Fence: 1, Phases: map[string]int{"a": limit}}); err != nil {
			t.Fatal(err)
		}
		if got, want := k.f.told(), []string{fmt.Sprintf("scontrol update JobId=1 ArrayTaskThrottle=%d", limit)}; !slices.Equal(got, want) {
			t.Errorf("with a limit of %d Slurm is told %q, want %q", limit, got, want)
		}
	}
	now := time.Now()
	for i := range 12 {
		token, id := fmt.Sprintf("a%d", i), fmt.Sprintf("1_%d", i)
		k.record(token, node.End{Begin: node.Begin{Token: token, ID: id, At: now}, Final: true, Seen: offer.Observation{Token: token, Presence: offer.Found, Handle: id,
			Status: offer.Completed, Attempt: 1, Started: now, Ended: now}})
	}
	k.restart()
	k.found("a0")
	k.submit("more0123456789", k.jobs("b", 1, nil)...)
	if len(k.f.scripts) < 2 || directive(k.f.scripts[1], "array") != "12-19%3" {
		t.Errorf("sent: %q", k.f.scripts)
	}
}

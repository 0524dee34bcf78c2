package login

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCapOverArrays: a phase's limit holds over the arrays that it takes, and
// all of them are handed over.
func TestCapOverArrays(t *testing.T) {
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
	for _, c := range k.f.calls {
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

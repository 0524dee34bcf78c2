package node

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/offer"
)

// TestGrowth: more memory and time are had in place, up to what the partition
// has; more of anything else takes a new Slurm job.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const gib = int64(1) << 30
	most := scheduler.Bounds{Memory: 6 * gib, Walltime: 90 * time.Minute}
	for name, tt := range map[string]struct {
		scale  map[string]providers.Scale
		class  string
		before *Growth // what the first start was given more of; nil: this is the first
		want   *Growth
		cannot bool
	}{
		"nothing scales":         {nil, failure.OOMHost, nil, nil, false},
		"another class":          {map[string]providers.Scale{"walltime": {Walltime: 2}}, failure.OOMHost, nil, nil, false},
		"memory":                 {map[string]providers.Scale{"oom": {Memory: 1.25}}, failure.OOMHost, nil, &Growth{Memory: 5 * gib}, false},
		"bounded":                {map[string]providers.Scale{"oom": {Memory: 2}}, failure.OOMHost, nil, &Growth{Memory: 6 * gib}, false},
		"no larger node":         {map[string]providers.Scale{"oom": {Memory: 2}}, failure.OOMHost, &Growth{Memory: 6 * gib, Granted: true}, nil, true},
		"again, from what it is": {map[string]providers.Scale{"oom": {Memory: 1.25}}, failure.OOMHost, &Growth{Memory: gib, Granted: true}, &Growth{Memory: gib * 5 / 4}, false},
		"memory and time":        {map[string]providers.Scale{"oom": {Memory: 1.25, Walltime: 2}}, failure.OOMSched, nil, &Growth{Memory: 5 * gib, Walltime: 90 * time.Minute}, false},
		"GPUs":                   {map[string]providers.Scale{"oom": {GPUs: 2}}, failure.OOMGPU, nil, nil, true},
		"memory and cores":       {map[string]providers.Scale{"oom": {Memory: 2, CPUs: 2}}, failure.OOMHost, nil, nil, true},
		"by one":                 {map[string]providers.Scale{"oom": {Memory: 1, CPUs: 1}}, failure.OOMHost, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("true")
			j.Shape.Memory, j.Shape.GPUs, j.Shape.Walltime = 4*gib, 1, time.Hour
			j.Retry = providers.Retry{On: []string{failure.OOM}, Max: 3, Scale: tt.scale}
			if err := w.batch.WriteBounds(most); err != nil {
				t.Fatal(err)
			}
			s := &conclusion{start: &start{spool: w.spool, batch: w.batch, job: &j, begin: Begin{Token: j.Token}}}
			if tt.before != nil {
				s.begin.Restart = 1
				if err := writeJSON(w.spool.path("ends", RecordName(j.Token, 0)), End{Growth: tt.before}); err != nil {
					t.Fatal(err)
				}
			}
			e := End{}
			again := s.retries(&e, failure.Verdict{Class: tt.class})
			if diff := cmp.Diff(tt.want, e.Growth); diff != "" || again == tt.cannot || s.elsewhere != tt.cannot {
				t.Errorf("again %v, elsewhere %v: %s", again, s.elsewhere, diff)
			}
		})
	}
}

// TestWithheld: a start that was not given what the one before it lacked does
// not run, and ends the job as that one ended.
func TestWithheld(t *testing.T) {
	t.Parallel()
	for name, granted := range map[string]bool{"granted": true, "not granted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("echo >> ran")
			j.Retry = providers.Retry{On: []string{failure.OOM}, Max: 3}
			if _, err := w.spool.take(Begin{Token: j.Token, ID: "5"}); err != nil {
				t.Fatal(err)
			}
			exit := 137
			first := End{Begin: Begin{Token: j.Token, ID: "5"}, Growth: &Growth{Memory: 1 << 30, Granted: granted},
				Seen: offer.Observation{Token: j.Token, Status: offer.Waiting, Class: failure.OOMHost, Attempt: 1, Exit: &exit}}
			if err := w.spool.made(first); err != nil {
				t.Fatal(err)
			}
			code, e := w.run(j, allocation{job: "5", restart: 1})
			if granted {
				if code != 0 || w.ran() != 1 || !e.Completed() {
					t.Errorf("status %d, ran %d times: %+v", code, w.ran(), e)
				}
				return
			}
			if code != ExitRefused || w.ran() != 0 || e.Seen.Class != failure.OOMHost || e.Seen.Attempt != 1 || e.Seen.Status != offer.Failed || !e.Final ||
				!strings.Contains(e.Seen.Reason, "more") {
				t.Errorf("status %d, ran %d times: %+v", code, w.ran(), e)
			}
			if _, err := os.Stat(w.spool.path("starts", RecordName(j.Token, 1))); err == nil {
				t.Error("it has a record of a start")
			}
		})
	}
}

// made writes the record of an end.
func (s Spool) made(e End) error { return writeJSON(s.path("ends", RecordName(e.Token, e.Restart)), e) }

// TestCores: what Slurm says of each node adds up; what cannot be read is not
// known.
func TestCores(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{"": 0, "8": 8, "72(x2),36": 180, "4,x": 0, "4(x-1)": 0} {
		if n := cores(list); n != want {
			t.Errorf("%q: %d, want %d", list, n, want)
		}
	}
}

// TestGot: a launch says what it was given where that is not what its job asks
// for.
func TestGot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	j := w.job("true")
	j.Shape.CPUs = 2
	for cores, want := range map[int]int{0: 0, 2: 0, 4: 4} {
		if got := w.spool.Got(&j, Grant{Cores: cores}); want == 0 && got != nil || want > 0 && (got == nil || got.CPUs != want) {
			t.Errorf("%d cores: %+v", cores, got)
		}
	}
}

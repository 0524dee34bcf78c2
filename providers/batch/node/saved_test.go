package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/failure"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// TestSavedAtTheSignal: a command that writes its checkpoint when it is sent the
// signal for it, and ends with that, has come to its walltime: it goes on from
// there. What it ended for otherwise, or without a checkpoint, stays what it was.
func TestSavedAtTheSignal(t *testing.T) {
	// Requirement: SPT-06, WT-04
	t.Parallel()
	for name, c := range map[string]struct {
		warned, writes, output bool
		exit                   int
		log                    string
		class                  string
		again                  bool
	}{
		"saved":               {warned: true, writes: true, exit: 85, class: failure.Walltime, again: true},
		"saved, and ended 0":  {warned: true, writes: true, output: true, exit: 0, class: failure.Walltime, again: true},
		"done in time":        {warned: true, writes: true, exit: 0, class: ""},
		"began without one":   {warned: true, writes: true, exit: 1, log: "cat: ck: No such file or directory\n", class: failure.Walltime, again: true},
		"a file is not there": {warned: true, exit: 1, log: "cat: data: No such file or directory\n", class: failure.MissingFile},
		"nothing written":     {warned: true, exit: 85, class: failure.Unknown},
		"no signal":           {writes: true, exit: 85, class: failure.Unknown},
		"out of memory by it": {warned: true, writes: true, exit: 1, log: "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", class: failure.OOMGPU},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			j := w.job("true")
			if c.output {
				j = w.job("true", "r.json")
			}
			j.Checkpoint = providers.Checkpoint{Path: "ck", Signal: "USR1"}
			j.Retry = providers.Retry{On: []string{failure.Walltime}, Max: 3}
			s := &command{start: &start{spool: w.spool, batch: w.batch, job: &j, allocation: allocation{scheduler: cluster.Node{}}, begin: Begin{Token: j.Token, ID: "5"}}, warned: c.warned, checked: attempt.CheckpointMark(&j)}
			if c.writes {
				if err := os.WriteFile(filepath.Join(w.dir, "ck"), []byte("step 7"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if c.log != "" {
				log := attempt.LogPath(j.Workdir, j.Token, s.number(), true)
				if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(log, []byte(c.log), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e, v := s.verdict(&c.exit, "")
			if v.Class != c.class {
				t.Errorf("class %q, want %q", v.Class, c.class)
			}
			if v.Class != "" && (&conclusion{start: s.start, moved: s.moved()}).retries(&e, v) != c.again {
				t.Errorf("starts again: %v", !c.again)
			}
		})
	}
}

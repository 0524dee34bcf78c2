package batch_test

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch"
)

// TestMaxWait: the longest waits of a backend block are those of its pools; a
// duration that is none and a pool that is not there are refused.
func TestMaxWait(t *testing.T) {
	// Requirement: DT-13
	t.Parallel()
	for config, want := range map[string]string{
		`{"max_wait": {"all": "4h"}}`:   "",
		`{"max_wait": {}}`:              "",
		`{"max_wait": {"all": "soon"}}`: `max_wait of all: "soon" is not a duration above zero, such as "4h"`,
		`{"max_wait": {"all": "0s"}}`:   `max_wait of all: "0s" is not a duration above zero, such as "4h"`,
		`{"max_wait": {"gpu": "4h"}}`:   `max_wait of toy.c names "gpu", but jobs are placed on: all`,
	} {
		s := batch.New(batch.Options{Type: &toy{}})
		err := s.Configure(t.Context(), providers.Backend{Name: "toy.c", Workdir: t.TempDir(), Config: []byte(config)})
		wait := time.Duration(0)
		if err == nil {
			pools, asked := s.Pools(t.Context(), "toy.c")
			if err = asked; err == nil {
				wait = pools[0].MaxWait
			}
		}
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", config, err, want)
			}
		case err != nil || (wait == 4*time.Hour) != strings.Contains(config, "4h"):
			t.Errorf("%s: %v %v", config, wait, err)
		}
	}
}

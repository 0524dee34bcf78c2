package apply

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// An archive answers Find without tokens.
type archive struct {
	*fake
	seen []offer.Observation
	err  error
}

func (b archive) Find(context.Context, string, []string) ([]offer.Observation, error) {
	return b.seen, b.err
}

// TestRecall: of each address the latest job counts; a backend that keeps no records, does not
// answer, has lost them, or shows a damaged one has not been asked.
func TestRecall(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	token := func(c string) string { return strings.Repeat(c, 32) }
	job := func(c string, status offer.Status, hours int, change func(*offer.Observation)) offer.Observation {
		o := offer.Observation{Token: token(c), Presence: offer.Found, Status: status, Record: &offer.JobRecord{Address: "phase.a", Result: "r", First: 1, Fence: 3}}
		if hours > 0 {
			o.Ended = at.Add(time.Duration(hours) * time.Hour)
		}
		if change != nil {
			change(&o)
		}
		return o
	}
	gone := providers.Errorf(providers.NotFound, "no record of this campaign")
	for name, c := range map[string]struct {
		seen    []offer.Observation
		err     error
		can     offer.Capabilities
		signed  bool
		want    []string // first digits of tokens
		unasked bool
	}{
		"none":               {},
		"one":                {seen: []offer.Observation{job("a", offer.Running, 0, nil)}, want: []string{"a"}},
		"the last that ran":  {seen: []offer.Observation{job("a", offer.Failed, 2, nil), job("b", offer.Completed, 3, nil), job("c", offer.Failed, 1, nil)}, want: []string{"b"}},
		"one that runs":      {seen: []offer.Observation{job("a", offer.Queued, 0, nil), job("b", offer.Completed, 3, nil)}, want: []string{"a"}},
		"the later launch":   {seen: []offer.Observation{job("a", offer.Running, 0, nil), job("b", offer.Queued, 0, func(o *offer.Observation) { o.Record.First = 2 })}, want: []string{"b"}},
		"a smoke beside it":  {seen: []offer.Observation{job("a", offer.Running, 0, func(o *offer.Observation) { o.Record.Smoke = true }), job("b", offer.Running, 0, nil)}, want: []string{"b", "a"}},
		"no answer":          {err: errors.New("away"), unasked: true},
		"never used":         {err: gone},
		"records lost":       {err: gone, signed: true, unasked: true},
		"machines somewhere": {err: gone, can: offer.Capabilities{Rents: true}, unasked: true},
		"no token":           {seen: []offer.Observation{job("a", offer.Running, 0, func(o *offer.Observation) { o.Token = "../../etc" })}, unasked: true},
		"a fence of no use":  {seen: []offer.Observation{job("a", offer.Running, 0, func(o *offer.Observation) { o.Record.Fence = math.MaxUint64 })}, unasked: true},
		"no launch":          {seen: []offer.Observation{job("a", offer.Running, 0, func(o *offer.Observation) { o.Record.First = 0 })}, unasked: true},
		"no record":          {seen: []offer.Observation{job("a", offer.Running, 0, func(o *offer.Observation) { o.Record = nil })}, unasked: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			can := c.can
			can.Recalls = true
			jobs, unasked := Recall(t.Context(), []string{"local.local"}, map[string]bool{"local.local": c.signed}, func(string) offer.Capabilities { return can },
				func(string) (providers.Provider, error) { return archive{&fake{}, c.seen, c.err}, nil })
			var got []string
			for _, j := range jobs {
				got = append(got, j.Token[:1])
			}
			if !slices.Equal(got, c.want) || (len(unasked) > 0) != c.unasked {
				t.Errorf("%q, and not asked: %v", got, unasked)
			}
		})
	}
	if _, unasked := Recall(t.Context(), []string{"local.local"}, nil, func(string) offer.Capabilities { return offer.Capabilities{} }, nil); len(unasked) != 1 {
		t.Errorf("a backend without records: %v", unasked)
	}
}

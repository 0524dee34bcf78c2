package planner

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

func TestSummary(t *testing.T) {
	for want, p := range map[string]offer.Pool{
		"6 of 8 GPUs free, 2 held by others":       {GPUs: 8, GPUModel: "A100", Idle: 6, Total: 8, Others: 2},
		"4 of 4 slots free":                        {Idle: 4},
		"12 A100 idle on aa100, about 25m wait":    {Name: "aa100", GPUs: 3, GPUModel: "A100", Idle: 12, Wait: 25 * time.Minute},
		"3 GPUs idle on a":                         {Name: "a", GPUs: 3, Idle: 3},
		"2 slots idle on cpu":                      {Name: "cpu", Idle: 2},
		"all: idle devices unknown, about 1h wait": {Idle: -1, Wait: time.Hour},
		"a: idle devices unknown":                  {Name: "a", Idle: -1},
		"":                                         {Idle: -1, Wait: -1},
	} {
		if got := poolSummary(p); got != want {
			t.Errorf("%+v: %q, not %q", p, got, want)
		}
	}
}

// TestOf: the line is about the pools that work goes to; it names a testing pool only if there
// is no other.
func TestOf(t *testing.T) {
	pools := []offer.Pool{
		{Backend: "slurm.x", Name: "a", Idle: 1, Verified: "2026-05"}, {Backend: "slurm.x", Name: "b", Idle: 2},
		{Backend: "slurm.x", Name: "t", Idle: 3, Testing: true, Verified: "2026-04"}, {Backend: "ssh.y", Name: "a", Idle: 4},
	}
	for _, c := range []struct {
		goes, summary, facts, months string
	}{
		{"", "1 slot idle on a; 2 slots idle on b", "facts of 2026-05", "2026-05"},
		{"b", "2 slots idle on b", "", ""},
		{"a t", "1 slot idle on a", "facts of 2026-05", "2026-05"},
		{"t", "3 slots idle on t", "facts of 2026-04", "2026-04"},
	} {
		goes := map[string]bool{}
		for _, name := range strings.Fields(c.goes) {
			goes[name] = true
		}
		v, months := summarize("slurm.x", pools, goes)
		if v.Name != "slurm.x" || v.Summary != c.summary || v.Facts != c.facts || strings.Join(months, " ") != c.months {
			t.Errorf("to %q: %+v, %v", c.goes, v, months)
		}
	}
}

// TestOld: facts are told to be old once stale_after is over, with their age
// and where the backend is declared.
func TestOld(t *testing.T) {
	policy := &lang.Policy{StaleAfter: 30 * 24 * time.Hour}
	declared := []*lang.Backend{{Type: "slurm", Name: "x", Range: hcl.Range{Filename: "c.muster.hcl"}}, {Type: "local", Name: "local", Implied: true}}
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if d := oldFacts(policy, declared, "slurm.x", "2026-05", day("2026-06-30")); d != nil {
		t.Errorf("30 days after the month: %+v", d)
	}
	for now, age := range map[string]string{"2026-07-01": "2 months ago", "2027-05-01": "12 months ago"} {
		d := oldFacts(policy, declared, "slurm.x", "2026-05", day(now))
		if d == nil || !strings.Contains(d.Detail, "verified in 2026-05, "+age) || d.Subject == nil || d.Subject.Filename != "c.muster.hcl" {
			t.Errorf("%s: %+v", now, d)
		}
	}
	if d := oldFacts(policy, declared, "local.local", "2026-05", day("2027-05-01")); d == nil || d.Subject != nil {
		t.Errorf("nobody declared it: %+v", d)
	}
}

// TestStated: the month of a backend's own block counts beside those of its pools.
func TestStated(t *testing.T) {
	declared := []*lang.Backend{{Type: "ssh", Name: "x", Verified: "2026-03"}, {Type: "ssh", Name: "y"}}
	v := BackendView{Name: "ssh.x"}
	if months := v.Stated(declared, nil); strings.Join(months, " ") != "2026-03" || v.Facts != "facts of 2026-03" {
		t.Errorf("%v, %+v", months, v)
	}
	v = BackendView{Name: "ssh.x", Facts: "facts of 2026-05"}
	if months := v.Stated(declared, []string{"2026-05"}); strings.Join(months, " ") != "2026-05 2026-03" || v.Facts != "facts of 2026-05" {
		t.Errorf("%v, %+v", months, v)
	}
	v = BackendView{Name: "ssh.y"}
	if months := v.Stated(declared, nil); len(months) != 0 || v.Facts != "" {
		t.Errorf("%v, %+v", months, v)
	}
}

// TestUnasked: what is known of a place since long is not relied on for deleting
// what is there, unless it was just looked at.
func TestUnasked(t *testing.T) {
	policy := &lang.Policy{StaleAfter: 180 * 24 * time.Hour}
	declared := []*lang.Backend{{Type: "ssh", Name: "old", Verified: "2026-03"}, {Type: "ssh", Name: "new", Verified: "2026-10"}, {Type: "ssh", Name: "none"}}
	pools := []offer.Pool{{Backend: "slurm.old", Verified: "2026-03"}}
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		doomed, asked string
		refused       bool
	}{
		{"ssh.old", "", true},
		{"ssh.old", "ssh.old", false},
		{"slurm.old", "", true},
		{"slurm.old", "slurm.old", false},
		{"ssh.new", "", false},
		{"ssh.none", "", false},
	} {
		found := unaskedDeletion(policy, declared, pools, map[string]bool{c.doomed: true}, func(b string) bool { return b == c.asked }, now)
		if found.HasErrors() != c.refused {
			t.Errorf("on %s, asked %q: %v", c.doomed, c.asked, found)
		}
		if c.refused && !strings.Contains(found[0].Detail, "verified in 2026-03, 8 months ago, and muster did not ask it now") {
			t.Errorf("on %s: %s", c.doomed, found[0].Detail)
		}
	}
}

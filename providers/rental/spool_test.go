package rental

import "testing"

// A queue's records are where the files of its jobs survive a stop.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		facts Facts
		want  string
	}{
		{Facts{Home: "/root"}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/", Stop: true}}}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}}}, ""},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}, {Name: "volume", Path: "/workspace", Stop: true}}}, "/workspace/.muster/queue"},
		{Facts{Home: "/root", Tiers: []Tier{{Name: "disk", Path: "/"}, {Name: "volume", Path: "/root", Stop: true}}}, ""},
	} {
		if got := c.facts.spool(); got != c.want {
			t.Errorf("%+v: %q, not %q", c.facts.Tiers, got, c.want)
		}
	}
}

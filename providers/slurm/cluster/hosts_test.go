package cluster

import (
	"testing"
)

func TestHostIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list, host string
		want       bool
	}{
		{"cpu1", "cpu1", true}, {"cpu1", "cpu10", false}, {"cpu10", "cpu1", false}, {"login[1-3]", "login2", true}, {"login[1-3]", "login4", false}, {"login[1-3]", "login", false},
		{"login[1-3]", "login02", true}, {"login[01-12]", "login02", true}, {"login[01-12]", "login2", false}, {"a,login[1,7-9],b", "login8", true}, {"a,login[1,7-9],b", "b", true},
		{"rack[1-2]n[01-16]", "rack2n16", true}, {"rack[1-2]n[01-16]", "rack3n16", false}, {"rack[1-2]n[01-16]", "rack2n17", false}, {"rack[1-2]-ib", "rack1-ib", true},
		{"rack[1-2]-ib", "rack1", false}, {"", "cpu1", false}, {"[", "cpu1", false}, {"cpu[", "cpu1", false}, {"cpu[x-3]", "cpu1", false},
	} {
		if got := hostIn(c.list, c.host); got != c.want {
			t.Errorf("%q in %q: %v", c.host, c.list, got)
		}
	}
}

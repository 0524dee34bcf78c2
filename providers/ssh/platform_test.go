package ssh

import (
	"slices"
	"strings"
	"testing"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A workdir that ends with a rented machine is warned of, with where files survive.
func TestWorkdirsThatEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ profile, workdir, warns string }{
		{"autodl", "/root/autodl-tmp/w", "A release at AutoDL deletes the workdir of backend.ssh.box"},
		{"autodl", "~/w", "A release at AutoDL"},
		{"autodl", "~/autodl-fs/w", ""},
		{"gpushare", "~/w", "A stop at Gpushare deletes"},
		{"", "~/w", ""},
	} {
		s := New()
		if err := s.Configure(t.Context(), providers.Backend{Name: "ssh.box", Type: "ssh", Profile: c.profile, Workdir: c.workdir, Config: []byte(`{"host":"192.0.2.1"}`)}); err != nil {
			t.Fatal(err)
		}
		b, err := s.backend("ssh.box")
		if err != nil {
			t.Fatal(err)
		}
		found := b.lost()
		if (len(found) > 0) != (c.warns != "") || len(found) > 0 && (!found[0].Warning || !strings.HasPrefix(found[0].Summary, c.warns) || !strings.Contains(found[0].Detail, "choose a workdir below /")) {
			t.Errorf("%+v: %+v", c, found)
		}
		pools := []offer.Pool{{Name: "box"}}
		b.platform(pools)
		if got := slices.ContainsFunc(pools[0].Notes, func(n string) bool { return strings.HasPrefix(n, "workdir is in /") }); got != (c.profile != "") {
			t.Errorf("%+v: %q", c, pools[0].Notes)
		}
	}
	if err := New().Configure(t.Context(), providers.Backend{Name: "ssh.box", Profile: "nowhere", Config: []byte(`{"host":"a"}`)}); err == nil || !strings.Contains(err.Error(), `no ssh profile "nowhere"`) {
		t.Errorf("%v", err)
	}
}

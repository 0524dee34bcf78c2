package hosts

import (
	"testing"
	"time"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestWhoSeesWhat: hosts of one backend see the same files unless their
// filesystems differ, and all that is local is this machine.
func TestWhoSeesWhat(t *testing.T) {
	spots := NewSpots([]offer.Pool{
		{Backend: "ssh.lab", Name: "x", Filesystem: "x"}, {Backend: "ssh.lab", Name: "y", Filesystem: "y"},
		{Backend: "slurm.a", Name: "p", Filesystem: "home"}, {Backend: "slurm.a", Name: "q", Filesystem: "home"},
		{Backend: "slurm.b", Name: "p", Filesystem: "home"}, {Backend: "slurm.c", Name: "p", Filesystem: "home"},
	}, []*lang.Backend{{Type: "slurm", Name: "c", Workdir: "/elsewhere"}})
	for _, c := range []struct {
		a, b [2]string
		want bool
	}{
		{[2]string{"ssh.lab", "x"}, [2]string{"ssh.lab", "y"}, false},
		{[2]string{"slurm.a", "p"}, [2]string{"slurm.a", "q"}, true},
		{[2]string{"slurm.a", "p"}, [2]string{"slurm.b", "p"}, true},
		{[2]string{"slurm.b", "p"}, [2]string{"slurm.c", "p"}, false}, // another workdir
		{[2]string{"local.here", ""}, [2]string{"local.other", ""}, true},
	} {
		a, b := spots.Of(c.a[0], c.a[1]), spots.Of(c.b[0], c.b[1])
		if a.Sees(b) != c.want || b.Sees(a) != c.want {
			t.Errorf("%s and %s: %v", a.Name(), b.Name(), !c.want)
		}
		if spots.Named(a.Name()) != a && a.Pool != "" {
			t.Errorf("%s is another spot by its name", a.Name())
		}
	}
}

// TestChoose: the host that is through first, and of equal ones the first; one
// that has the inputs before one that has not.
func TestChoose(t *testing.T) {
	l := NewLoad()
	of := []Host{{Backend: "ssh.lab", Pool: "x", Share: 1, Bit: l.Bit("x")}, {Backend: "ssh.lab", Pool: "y", Share: 0.5, Bit: l.Bit("y")}}
	var got string
	for range 6 {
		h := l.Choose(of, time.Hour, &Near{}, 0)
		l.Put(h, time.Hour)
		got += h.Pool
	}
	if got != "yxyyxy" {
		t.Errorf("%s", got)
	}
	l.Begin(of[0], time.Hour)
	if h := l.Choose(of, time.Hour, &Near{}, 0); h.Pool != "y" {
		t.Errorf("a wait begins anew on a host that is known: %s", h.Pool)
	}
}

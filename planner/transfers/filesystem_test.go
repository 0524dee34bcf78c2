package transfers

import (
	"testing"

	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/offer"
)

// TestWhoSeesWhat: hosts of one backend see the same files unless their
// filesystems differ, and all that is local is this machine.
func TestWhoSeesWhat(t *testing.T) {
	filesystems := NewFilesystems([]offer.Pool{
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
		a, b := filesystems.Of(c.a[0], c.a[1]), filesystems.Of(c.b[0], c.b[1])
		if a.Sees(b) != c.want || b.Sees(a) != c.want {
			t.Errorf("%s and %s: %v", a.Name(), b.Name(), !c.want)
		}
		if filesystems.Named(a.Name()) != a && a.Pool != "" {
			t.Errorf("%s is another filesystem by its name", a.Name())
		}
	}
}

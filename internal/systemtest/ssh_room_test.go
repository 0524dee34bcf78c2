package systemtest

import (
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHNoRoom: a disk without the room that jobs declare, and a home where
// nothing can be kept are told before anything starts, and what is said to do
// about it is enough.
func TestSystemSSHNoRoom(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	same := strings.NewReplacer()
	for _, c := range []struct {
		name     string
		campaign *strings.Replacer
		prepare  string // on the host, as root
		says     string
		mend     string
		mended   *strings.Replacer
	}{
		{"home read-only", same,
			"mount --bind /home/alice /home/alice; mount -o remount,ro,bind /home/alice",
			"Set install_dir in the backend to a folder of yours on h1", "true",
			strings.NewReplacer("/home/alice", "/srv/home", `host    = "h1"`, "host = \"h1\"\n  install_dir = \"/var/tmp/alice\"")},
		{"less than is declared", strings.NewReplacer(`walltime = "10m"`, "\n      walltime = \"10m\"\n      disk = \"40MiB\"\n   "),
			"mkdir -p FOLDER/work; mount -t tmpfs -o size=16m,mode=777 tmpfs FOLDER/work",
			"16 MiB free of 120 MiB needed by the remaining jobs; make room, or let workdir be on a larger volume. 3 jobs of phase.p run there at once, and each asks for 40MiB", "mount -o remount,size=400m FOLDER/work", same},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRemote(t, []*lab.Host{h}, c.campaign.Replace(gated(3, 3)))
			h.Exec(r.paths(c.prepare))
			r.want(1, r.paths(c.says), "apply", "-auto-approve")
			if n := r.count("start"); n != 0 {
				t.Errorf("%d jobs started", n)
			}
			h.Exec(r.paths(c.mend))
			r.write("campaign.muster.hcl", c.mended.Replace(r.paths(c.campaign.Replace(gated(3, 3)))))
			if c.mended != same { // everything of the test's is elsewhere from here on
				r.folder = c.mended.Replace(r.folder)
				h.Exec("mkdir -p " + r.folder + "; chmod 777 " + r.folder)
				defer h.Exec("umount -l /home/alice") // the agent of the muster that ended may still leave
			}
			r.want(0, "3 of 3 jobs done", "apply", "-auto-approve")
			r.onceEach(3)
		})
	}
}

// TestSystemSSHUnwritableWorkdir: a workdir that cannot be written to any more
// pauses launches, which is said once; no job fails, and the rest runs when it can
// be written to again.
func TestSystemSSHUnwritableWorkdir(t *testing.T) {
	const n = 8
	h := lab.Hosts(t, 1)[0]
	r := newRemote(t, []*lab.Host{h}, strings.Replace(gated(n, 0), "cpus    = 64", "cpus    = 2", 1))
	h.Exec("mkfifo -m 666 " + r.folder + "/gate")
	f := r.follow("apply", "-auto-approve")
	r.until("two starts", func() bool { return r.count("start") == 2 })
	h.Exec("chmod 555 " + r.folder + "/work")
	r.until("word of the workdir", func() bool { return strings.Contains(f.said(), "cannot be written to") })
	r.open()
	r.until("the ends of what ran", func() bool { return r.count("end") == 2 })
	time.Sleep(5 * time.Second) // what would start has started
	if c := r.count("start"); c != 2 {
		t.Errorf("%d starts while nothing can be written:\n%s", c, f.text())
	}
	h.Exec("chmod 755 " + r.folder + "/work")
	out, code := f.end()
	if code != 0 || !strings.Contains(out, "8 of 8 jobs done") || strings.Count(out, "until its workdir takes files") != 1 || strings.Count(out, "takes files again") != 1 {
		t.Errorf("exit %d:\n%s", code, out)
	}
	for line := range strings.Lines(f.text()) {
		if strings.Count(line, "cannot be written to") > 1 {
			t.Errorf("twice in a line: %s", line)
		}
	}
	r.onceEach(n)
}

package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-run/muster/internal/lab"
)

// TestSystemSSHMovedName: the name of a host leads to another machine while jobs
// run on the first. They are unknown, the plan says why before anything starts,
// and nothing runs there a second time. Another name of the first machine is as
// good as its own.
func TestSystemSSHMovedName(t *testing.T) {
	hosts := lab.Hosts(t, 2)
	for title, c := range map[string]struct{ block, name string }{
		"host":  {`host    = "h1"`, `host = "again"`},
		"hosts": {`hosts   = ["h1"]`, `hosts = ["again"]`},
	} {
		t.Run(title, func(t *testing.T) {
			const n = 3
			text := strings.Replace(gated(n, 0), `host    = "h1"`, c.block, 1)
			r := newRemote(t, hosts, text)
			there := *r
			there.host = hosts[1]
			r.host.Exec("mkfifo -m 666 " + r.folder + "/gate")
			r.want(0, "", "apply", "-auto-approve", "-detach")
			r.until("the jobs to run", func() bool { return r.count("start") == n })

			file := filepath.Join(os.Getenv("HOME"), ".ssh", "config")
			config, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lead := func(name, to string) {
				t.Helper()
				text := "Host " + name + "\n HostName " + to + "\n HostKeyAlias " + to + "\n" + string(config)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			lead("h1", hosts[1].Addr)
			out, _ := r.run("plan")
			if said := flat(out); !strings.Contains(said, "h1 leads to") && !strings.Contains(said, "h1 has another queue") || !strings.Contains(said, "3 unknown") {
				t.Errorf("the plan says\n%s", out)
			}
			r.want(3, "muster state rm", "apply", "-auto-approve")
			if s := there.lines(); len(s) > 0 {
				t.Errorf("on the other machine started %q", s)
			}

			lead("again", hosts[0].Addr)
			r.write("campaign.muster.hcl", r.paths(strings.Replace(text, c.block, c.name, 1)))
			r.open()
			r.want(0, "3 of 3 jobs done", "apply", "-auto-approve")
			r.onceEach(n)
			if s := there.lines(); len(s) > 0 {
				t.Errorf("on the other machine started %q", s)
			}
		})
	}
}

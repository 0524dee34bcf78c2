package ssh

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// several is a backend of hosts h1, h2, … with one workdir.
func several(t *testing.T, n int) (*SSH, providers.Backend, []*testHost) {
	t.Helper()
	var hosts []*testHost
	var names []string
	var conf strings.Builder
	for i := range n {
		h := newTestHost(t)
		_, port, err := net.SplitHostPort(h.addr)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("h%d", i+1))
		fmt.Fprintf(&conf, "Host %s\n  HostName 127.0.0.1\n  Port %s\n  IdentityFile %s\n  UserKnownHostsFile %s\n", names[i], port, h.ours("id"), h.ours("known_hosts"))
		hosts = append(hosts, h)
	}
	if err := os.WriteFile(hosts[0].ours("config"), []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := json.Marshal(config{Hosts: names, InstallDir: shared})
	if err != nil {
		t.Fatal(err)
	}
	s := provider(t, hosts[0])
	b := providers.Backend{Name: "ssh.lab", Type: "ssh", Workdir: t.TempDir(), Config: c, Campaign: "test", Lineage: "lineage"}
	if err := s.Configure(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return s, b, hosts
}

// tokenOf is the token of a test's job n. Tokens are unlike those of other
// tests: what carries a token ends with its job, wherever on the machine.
func tokenOf(b providers.Backend, n int) string {
	return fmt.Sprintf("%08x%024x", crc32.ChecksumIEEE([]byte(b.Workdir)), n)
}

func jobOn(b providers.Backend, pool string, n int, command string) providers.Job {
	return providers.Job{Token: tokenOf(b, n), Address: fmt.Sprintf("phase.p[%d]", n), Phase: "p", Name: "p", Attempt: 1, Pool: pool, Shell: command,
		Workdir: b.Workdir, Dir: b.Workdir, ResultHash: fmt.Sprint(n), Shape: offer.Shape{CPUs: 1, Nodes: 1}}
}

func submitAll(t *testing.T, s *SSH, jobs ...providers.Job) []providers.Submitted {
	t.Helper()
	return submitTo(t, s, "ssh.lab", jobs...)
}

func submitTo(t *testing.T, s *SSH, backend string, jobs ...providers.Job) []providers.Submitted {
	t.Helper()
	out, err := s.Submit(t.Context(), providers.SubmitRequest{Backend: backend, Fence: 1, Jobs: jobs})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ends watches from a cursor until n jobs have ended.
func ends(t *testing.T, s *SSH, cursor string, n int) (seen map[string]offer.Observation, at string, notes []string) {
	t.Helper()
	seen = map[string]offer.Observation{}
	enough := errors.New("enough")
	err := s.Watch(t.Context(), providers.WatchRequest{Backend: "ssh.lab", Cursor: cursor}, func(b providers.Batch) error {
		at = b.Cursor
		for _, o := range b.Events {
			if o.Status == offer.Completed || o.Status == offer.Failed {
				seen[o.Token] = o
			}
		}
		for _, note := range b.Notes {
			notes = append(notes, note.Text)
		}
		if len(seen) >= n {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatalf("%v; seen %v", err, seen)
	}
	return seen, at, notes
}

func TestHostsArePools(t *testing.T) {
	t.Parallel()
	s, b, _ := several(t, 2)
	pools, err := s.Pools(t.Context(), b.Name)
	if err != nil || len(pools) != 2 || pools[0].Name != "h1" || pools[1].Name != "h2" || pools[0].Filesystem == pools[1].Filesystem {
		t.Errorf("%+v, %v", pools, err)
	}
	quotes, err := s.Quote(t.Context(), b.Name, []offer.Shape{{CPUs: 1, Nodes: 1, Options: `{"host":"h2"}`}})
	if err != nil || len(quotes) != 2 || quotes[0].Fits || !quotes[1].Fits || quotes[0].Pool != "h1" {
		t.Errorf("%+v, %v", quotes, err)
	}
}

// TestOneMachineByTwoNames: its queue would tell of each job twice, and the
// second looks like one to end.
func TestOneMachineByTwoNames(t *testing.T) {
	t.Parallel()
	s, b, hosts := several(t, 2)
	conf, err := os.ReadFile(hosts[0].ours("config"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(conf), "Host h1\n", "Host h1 box\n", 1)
	if err := os.WriteFile(hosts[0].ours("config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if pools, err := s.Pools(t.Context(), b.Name); err != nil || len(pools) != 2 {
		t.Fatalf("two machines: %+v, %v", pools, err)
	}
	b.Config = json.RawMessage(strings.Replace(string(b.Config), `"h2"`, `"h2","box"`, 1))
	if err := s.Configure(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	_, err = s.Pools(t.Context(), b.Name)
	wantFault(t, err, providers.Invalid, "h1 and box of backend.ssh.lab are one machine", "Name it once in hosts")
}

func TestJobsGoToTheirHosts(t *testing.T) {
	t.Parallel()
	s, b, _ := several(t, 2)
	one, two := jobOn(b, "h1", 1, "true"), jobOn(b, "h2", 2, "true")
	follows := jobOn(b, "", 3, "true")
	follows.After = []string{two.Token}
	asks := jobOn(b, "", 4, "true")
	asks.Options = json.RawMessage(`{"host":"h1"}`)
	out := submitAll(t, s, one, two, follows, asks)
	for i, want := range []string{"h1/", "h2/", "h2/", "h1/"} {
		if out[i].Err != nil || !strings.HasPrefix(out[i].Handle, want) {
			t.Errorf("%d: %+v, want %s", i, out[i], want)
		}
	}
	seen, cursor, _ := ends(t, s, "", 4)
	for i, want := range []string{"h1", "h2", "h2", "h1"} {
		if o := seen[tokenOf(b, i+1)]; o.Pool != want || !strings.HasPrefix(o.Handle, want+"/") {
			t.Errorf("%d ran on %q as %q, want %s", i+1, o.Pool, o.Handle, want)
		}
	}
	// What has been told is not told again, on any host.
	submitAll(t, s, jobOn(b, "h1", 5, "true"), jobOn(b, "h2", 6, "true"))
	if again, _, _ := ends(t, s, cursor, 2); len(again) != 2 || again[one.Token].Token != "" {
		t.Errorf("%v", again)
	}
}

// A token that came to run on two hosts goes on where it is not named.
func TestSecondJobOfATokenIsEnded(t *testing.T) {
	t.Parallel()
	s, b, _ := several(t, 2)
	wait := "while [ ! -e go ]; do sleep 0.1; done"
	submitAll(t, s, jobOn(b, "h1", 1, wait))
	second := submitAll(t, s, jobOn(b, "h2", 1, wait))[0]
	if !strings.HasPrefix(second.Handle, "h2/") {
		t.Fatalf("%+v", second)
	}
	if _, err := s.Cancel(t.Context(), providers.CancelRequest{Backend: "ssh.lab", Fence: 1, Handles: []string{second.Handle}, Grace: time.Second}); err != nil {
		t.Fatal(err)
	}
	statuses := map[string]offer.Status{}
	enough := errors.New("enough")
	err := s.Watch(t.Context(), providers.WatchRequest{Backend: "ssh.lab"}, func(batch providers.Batch) error {
		for _, o := range batch.Events {
			if o.Status == offer.Completed || o.Status == offer.Failed || o.Status == offer.Cancelled {
				statuses[o.Pool] = o.Status
			}
		}
		if statuses["h2"] != "" {
			os.WriteFile(filepath.Join(b.Workdir, "go"), nil, 0o644)
		}
		if len(statuses) == 2 {
			return enough
		}
		return nil
	})
	// On this one machine the end of the second takes the first's processes, too.
	if err != enough || statuses["h1"] == offer.Cancelled || statuses["h2"] != offer.Cancelled {
		t.Errorf("%v, %v", statuses, err)
	}
}

func TestJobsThatHaveNoHost(t *testing.T) {
	t.Parallel()
	s, b, _ := several(t, 2)
	first := jobOn(b, "h1", 1, "true")
	across := jobOn(b, "h2", 2, "true")
	across.After = []string{first.Token}
	out := submitAll(t, s, first, across, jobOn(b, "h9", 3, "true"), jobOn(b, "", 4, "true"))
	for i, want := range []string{"", "comes after a job on h1", `no host "h9"; it has h1, h2`, "names no host"} {
		switch {
		case want == "" && out[i].Err != nil:
			t.Error(out[i].Err)
		case want != "" && (out[i].Err == nil || out[i].Err.Class != providers.Invalid || !strings.Contains(out[i].Err.Error(), want)):
			t.Errorf("%d: %v, want %s", i, out[i].Err, want)
		}
	}
	ends(t, s, "", 1) // before its folder is removed
}

// TestOneHostAway: its jobs are unknown, and the other goes on.
func TestOneHostAway(t *testing.T) {
	t.Parallel()
	s, b, hosts := several(t, 2)
	for _, j := range submitAll(t, s, jobOn(b, "h1", 1, "while [ ! -e go ]; do sleep 0.1; done"), jobOn(b, "h2", 2, "while [ ! -e go ]; do sleep 0.1; done")) {
		if j.Err != nil {
			t.Fatal(j.Err) // what follows would wait for it without end
		}
	}
	tokens := []string{tokenOf(b, 1), tokenOf(b, 2), tokenOf(b, 3)}
	presences := func() (out [3]offer.Presence, why string) {
		seen, err := s.Find(t.Context(), b.Name, tokens)
		if err != nil {
			t.Fatal(err)
		}
		for i := range seen {
			out[i] = seen[i].Presence
		}
		return out, seen[2].Reason
	}
	if got, _ := presences(); got != [3]offer.Presence{offer.Found, offer.Found, offer.Absent} {
		t.Errorf("with both: %v", got)
	}
	addr := hosts[1].addr
	reopen := sync.OnceFunc(func() { hosts[1].Listen(addr) })
	hosts[1].Stop()
	if got, why := presences(); got != [3]offer.Presence{offer.Found, offer.Unknown, offer.Unknown} || !strings.Contains(why, "h2") {
		t.Errorf("without h2: %v, %q", got, why)
	}
	if out := submitAll(t, s, jobOn(b, "h2", 4, "true"), jobOn(b, "h1", 5, "true")); out[0].Err == nil || out[0].Err.Class != providers.Unreachable || out[1].Err != nil {
		t.Errorf("%+v", out)
	}
	if pools, err := s.Pools(t.Context(), b.Name); err != nil || len(pools) != 1 || !strings.Contains(strings.Join(pools[0].Notes, " "), "h2") {
		t.Errorf("%+v, %v", pools, err)
	}
	if err := os.WriteFile(b.Workdir+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var first, second, away, back bool
	var cursor string
	enough := errors.New("enough")
	watch := func(done func() bool) {
		t.Helper()
		if err := s.Watch(t.Context(), providers.WatchRequest{Backend: b.Name, Cursor: cursor}, func(batch providers.Batch) error {
			cursor = batch.Cursor
			for _, o := range batch.Events {
				first = first || o.Token == tokens[0] && o.Status == offer.Completed
				second = second || o.Token == tokens[1] && o.Status == offer.Completed
			}
			for _, n := range batch.Notes {
				away, back = away || strings.Contains(n.Text, "h2 cannot be reached"), back || strings.Contains(n.Text, "h2 answers again")
				if away && !back && second {
					t.Error("it was heard of a host that is away")
				}
				if away {
					reopen()
				}
			}
			if done() {
				return enough
			}
			return nil
		}); !errors.Is(err, enough) {
			t.Fatal(err)
		}
	}
	watch(func() bool { return first && second && away && back })
}

// TestFilesOfAHost: BACKEND/HOST are one host's files.
func TestFilesOfAHost(t *testing.T) {
	t.Parallel()
	s, b, hosts := several(t, 2)
	one := providers.At(b.Name, "h1")
	if err := s.Push(t.Context(), one, "~/f", 3, "", strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(hosts[0].dir + "/f"); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(hosts[1].dir + "/f"); err == nil {
		t.Error("it is on h2, too")
	}
	var text strings.Builder
	if err := s.Pull(t.Context(), b.Name, "~/f", 1, &text); err != nil || text.String() != "bc" {
		t.Errorf("%q, %v", text.String(), err)
	}
	wantFault(t, s.Pull(t.Context(), providers.At(b.Name, "h2"), "~/f", 0, &text), providers.NotFound)
	wantFault(t, s.Pull(t.Context(), providers.At(b.Name, "h3"), "~/f", 0, &text), providers.Invalid, "no host")
}

// TestAllHostsAway: then nothing is known, and that is the error.
func TestAllHostsAway(t *testing.T) {
	t.Parallel()
	s, b, hosts := several(t, 2)
	for _, h := range hosts {
		h.Stop()
	}
	_, err := s.Find(t.Context(), b.Name, []string{tokenOf(b, 1)})
	wantFault(t, err, providers.Unreachable)
	err = s.Watch(t.Context(), providers.WatchRequest{Backend: b.Name}, func(providers.Batch) error { return nil })
	wantFault(t, err, providers.Unreachable)
}

func TestCursors(t *testing.T) {
	t.Parallel()
	in := map[string]string{"h1": "a.1", "user@h 2": "b=&.2"}
	if got := readCursor(writeCursor(in)); len(got) != 2 || got["h1"] != "a.1" || got["user@h 2"] != "b=&.2" {
		t.Errorf("%v", got)
	}
	if got := readCursor("abc.12"); got["h1"] != "" {
		t.Errorf("%v", got)
	}
}

// TestHomesThatDiffer holds that only hosts which are said to share the workdir
// have to mean one folder by `~`.
func TestHomesThatDiffer(t *testing.T) {
	t.Parallel()
	pools := []offer.Pool{{Name: "a", Home: "/home/me"}, {Name: "b", Home: "/u/me"}}
	for _, c := range []struct {
		workdir, shared string
		ok              bool
	}{{"~/w", "", true}, {"w", "", true}, {"~/w", "nfs", false}, {"w", "nfs", false}, {"", "nfs", false}, {"/w", "nfs", true}} {
		b := &backend{Backend: providers.Backend{Workdir: c.workdir}, config: config{SharedFS: c.shared}}
		if err := sameHome(b, pools); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

package launch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-run/muster/internal/kernel"
	"github.com/muster-run/muster/providers"
)

func provider(t testing.TB, l *Launcher, typ string) providers.Provider {
	t.Helper()
	p, err := l.Provider(t.Context(), typ)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func configured(t testing.TB, p providers.Provider) (backend, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := p.Configure(t.Context(), providers.Backend{Name: "fake.one", Type: "fake", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return "fake.one", dir
}

func submit(t testing.TB, p providers.Provider, backend string, n int) []providers.Submitted {
	t.Helper()
	r := providers.SubmitRequest{Backend: backend, Fence: 1}
	for i := range n {
		r.Jobs = append(r.Jobs, providers.Job{Token: fmt.Sprint("token-", i), Shell: strings.Repeat("x", 400)})
	}
	out, err := p.Submit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range out {
		if s.Token != r.Jobs[i].Token {
			t.Fatalf("result %d has token %s, want %s", i, s.Token, r.Jobs[i].Token)
		}
	}
	return out
}

func TestProviderIsOneProcessPerType(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{})
	provider(t, l, "fake")
	provider(t, l, "fake")
	provider(t, l, "other")
	pids := l.PIDs()
	if len(pids) != 2 || pids["fake"] == pids["other"] {
		t.Fatalf("processes are %v, want two", pids)
	}
	l.Close()
	for typ, pid := range pids {
		if kernel.Identify(pid).Start != 0 {
			t.Errorf("%s is still there after Close", typ)
		}
	}
	if _, err := l.Provider(t.Context(), "fake"); err == nil {
		t.Error("a closed launcher started a provider")
	}
}

func TestSubmitOf100000Jobs(t *testing.T) {
	t.Parallel()
	p := provider(t, newLauncher(t, Options{}), "fake")
	backend, _ := configured(t, p)
	jobs := 100_000
	if testing.Short() {
		jobs = 20_000
	}
	if got := len(submit(t, p, backend, jobs)); got != jobs {
		t.Fatalf("%d results", got)
	}
}

func TestCrashInSubmitIsRepeatedAndConfiguredAgain(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{})
	p := provider(t, l, "fake")
	backend, dir := configured(t, p)
	before := submit(t, p, backend, 1)[0].Handle
	touch(t, dir, "crash")
	after := submit(t, p, backend, 1)[0].Handle
	if before == after {
		t.Fatal("the same process answered; it was to crash")
	}
}

func TestKilledWhileIdleIsStartedAgain(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{})
	p := provider(t, l, "fake")
	backend, _ := configured(t, p)
	for range 3 {
		if err := syscall.Kill(l.PIDs()["fake"], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		submit(t, p, backend, 1)
	}
}

func TestWatchGoesOnFromItsCursor(t *testing.T) {
	t.Parallel()
	p := provider(t, newLauncher(t, Options{}), "fake")
	backend, dir := configured(t, p)
	touch(t, dir, "crash")
	var seen []string
	stop := errors.New("enough")
	err := p.Watch(t.Context(), providers.WatchRequest{Backend: backend}, func(b providers.Batch) error {
		for _, e := range b.Events {
			seen = append(seen, e.Token)
		}
		if len(seen) == 20 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	for i, token := range seen {
		if token != fmt.Sprint(i+1) {
			t.Fatalf("events are %v: lost or doubled", seen)
		}
	}
}

func TestLogsGoOnWhereTheyStopped(t *testing.T) {
	t.Parallel()
	p := provider(t, newLauncher(t, Options{}), "fake")
	backend, dir := configured(t, p)
	touch(t, dir, "crash")
	var b strings.Builder
	if err := p.Logs(t.Context(), providers.LogRequest{Backend: backend}, &b); err != nil {
		t.Fatal(err)
	}
	if b.String() != strings.Repeat("0123456789", 100) {
		t.Fatalf("the log has %d bytes or another order", b.Len())
	}
}

func TestCallThatAlwaysCrashesGivesUp(t *testing.T) {
	t.Parallel()
	p := provider(t, newLauncher(t, Options{}), "fake")
	backend, _ := configured(t, p)
	_, err := p.Preflight(t.Context(), backend, nil)
	wantError(t, err, providers.Unreachable, "keeps crashing", "preflight always crashes here")
	submit(t, p, backend, 1) // and it is back for other calls
}

func TestErrorsKeepTheirClass(t *testing.T) {
	t.Parallel()
	p := provider(t, newLauncher(t, Options{}), "fake")
	_, err := p.Cancel(t.Context(), providers.CancelRequest{Backend: "fake.one"})
	var e *providers.Error
	if !errors.As(err, &e) || *e != (providers.Error{Class: providers.StaleFence, Summary: "Too late", Detail: "d", Hint: "h"}) {
		t.Fatalf("error is %#v", err)
	}
}

func TestStartsThatComeToNothing(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string][]string{
		"chatty":    {"does not start", "printed something before the handshake", "Loading model weights"},
		"stillborn": {"does not start", "exit status 7", "no licence found"},
		"mute":      {"does not start", "did not say hello in time"},
		"nowhere":   {`no provider for backends of type "nowhere"`, "muster-provider-nowhere"},
		"../etc":    {"cannot be the name of a provider"},
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			o := Options{}
			if typ == "mute" {
				o.StartTimeout = 300 * time.Millisecond
			}
			_, err := newLauncher(t, o).Provider(t.Context(), typ)
			wantError(t, err, "", want...)
		})
	}
}

// TestKilledWhileItStarts: somebody else's kill costs one start, and not the backend.
func TestKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{"shot": "xx", "doomed": "xx"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			_, err := newLauncher(t, Options{Environ: []string{"HOME=" + home}}).Provider(t.Context(), typ)
			if typ == "doomed" {
				wantError(t, err, providers.Internal, "does not start", "killed by signal 9")
			} else if err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(filepath.Join(home, "started")); string(got) != want {
				t.Errorf("it was started %d times", len(got))
			}
		})
	}
}

func TestEnvironmentIsBare(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{Environ: []string{
		"HOME=/h", "USER=u", "PATH=/bin", "LANG=C", "TZ=UTC", "TMPDIR=/tmp", "XDG_CACHE_HOME=/c", "SSH_AUTH_SOCK=/s", "SLURM_CONF=/c",
		"https_proxy=p", "NO_PROXY=n", "AWS_SECRET_ACCESS_KEY=hush", "MUSTER_TOKEN=hush", "LD_PRELOAD=/x.so",
	}})
	pools, err := provider(t, l, "fake").Pools(t.Context(), "fake.one")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range pools[0].Notes {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "PLUGIN_") {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{
		"HOME", "LANG", "MUSTER_PARENT", "MUSTER_PROVIDER", "NO_PROXY", "PATH", "SLURM_CONF", "SSH_AUTH_SOCK", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME", "https_proxy",
	}
	if !slices.Equal(got, want) {
		t.Errorf("variables are %v\nwant %v", got, want)
	}
}

func TestProviderIsNotInTheTerminalsGroup(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, Options{})
	provider(t, l, "fake")
	pid := l.PIDs()["fake"]
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Fatalf("group of %d is %d (%v)", pid, group, err)
	}
}

// TestNoOrphans kills a host the hard way: once with the provider as its
// child, which the parent-death signal ends, and once with a shell between
// them, where only the provider's own watch is left.
func TestNoOrphans(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"child", "behind-a-script"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			runtime := shortDir(t)
			host := exec.Command(os.Args[0], "host", how)
			host.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime)
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var told struct {
				PID int
				Err string
			}
			if err := json.Unmarshal(line, &told); err != nil || told.PID == 0 {
				t.Fatalf("host said %s (%v)", line, err)
			}
			child := kernel.Identify(told.PID)
			if !child.Alive() {
				t.Fatal("the provider does not run")
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			for child.Alive() {
				time.Sleep(5 * time.Millisecond) // the test's own time limit is the bound
			}
			if _, err := newLauncher(t, Options{Environ: []string{"XDG_RUNTIME_DIR=" + runtime}}).socketDir(); err != nil { // sweeps, if the provider did not clean up itself
				t.Fatal(err)
			}
		})
	}
}

func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func touch(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantError checks the class ("" = any) and that all texts are in what the
// user would see.
func wantError(t testing.TB, err error, class providers.ErrorClass, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	said := err.Error()
	var e *providers.Error
	if errors.As(err, &e) {
		said += "\n" + e.Hint
		if class != "" && e.Class != class {
			t.Errorf("class is %s, want %s", e.Class, class)
		}
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("error lacks %q:\n%s", text, said)
		}
	}
}

func BenchmarkLaunch(b *testing.B) {
	for b.Loop() {
		l := New(Options{Builtin: []string{"fake"}, Dir: b.TempDir()})
		if _, err := l.Provider(context.Background(), "fake"); err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}

func BenchmarkUnaryRoundTrip(b *testing.B) {
	p := provider(b, newLauncher(b, Options{}), "fake")
	for b.Loop() {
		if err := p.Control(b.Context(), providers.ControlRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSubmit10000(b *testing.B) {
	p := provider(b, newLauncher(b, Options{}), "fake")
	backend, _ := configured(b, p)
	for b.Loop() {
		submit(b, p, backend, 10_000)
	}
}

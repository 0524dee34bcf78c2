package systemtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/muster-run/muster/internal/lab"
	"github.com/muster-run/muster/internal/pbssim"
	"github.com/muster-run/muster/internal/program"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// liarVar, set, makes this test's program answer on a host in the place of muster's.
const liarVar = "MUSTER_TEST_LIAR"

func TestMain(m *testing.M) {
	pbssim.Main()
	if filepath.Base(os.Args[0]) == "liar" && len(os.Args) > 1 && os.Args[1] == "queue" {
		os.Exit(agent.Command(os.Args[1:]))
	}
	if mode := os.Getenv(liarVar); mode != "" {
		if err := lie(mode); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(withOwnHome(m.Run))
}

// evil is a text that would clear the screen, forge a line and run a command.
const evil = "\x1b[2J\x1b]0;owned\x07\r\nDone: 2 of 2 jobs $(touch /tmp/owned) `touch /tmp/owned` \u202e"

// lie answers as muster's program does, in a way of its own.
func lie(mode string) error {
	in := bufio.NewReader(os.Stdin)
	for range 6 { // the folder of the program, its names and digests
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
	}
	stream := rest{Reader: in}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
	defer stop()
	self, _ := os.Executable()
	home, _ := os.UserHomeDir()
	real := agent.New(agent.Options{Queue: host.Options{Command: []string{self, "queue"}}, Home: home,
		Environ: func() ([]providers.EnvVar, string) {
			return []providers.EnvVar{{Name: "PATH", Value: os.Getenv("PATH")}, {Name: "HOME", Value: home}}, evil
		}})
	switch mode {
	case "absurd numbers":
		return agent.Serve(ctx, stream, absurd{real, false})
	case "absurd indexes":
		return agent.Serve(ctx, stream, absurd{real, true})
	}
	if _, err := fmt.Printf("\n%s %d /%s\n", agent.Magic, time.Now().UnixNano(), "w"); err != nil {
		return err
	}
	server := grpc.NewServer(append(protocol.ServerOptions(), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))...)
	pb.RegisterProviderServer(server, &endless{mute: mode == "mute"})
	return server.Serve(&once{conn: &pipeConn{ReadWriteCloser: stream}})
}

// rest is standard input from where it was read to, and standard output.
type rest struct{ io.Reader }

func (rest) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (rest) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// An absurd host answers in order, and nothing that it says can be.
type absurd struct {
	*agent.Server
	indexes bool // what it says is about things that nobody asked about
}

func (a absurd) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	pools, err := a.Server.Pools(ctx, name)
	for i := range pools {
		p := &pools[i]
		p.Idle, p.Others, p.MaxNodes, p.GPUModel, p.Word = math.MinInt64, math.MinInt64, -7, evil, evil
		p.Wait, p.Notes = math.MinInt64, []string{evil, strings.Repeat("x", 1<<20)}
		p.Facts = []offer.Fact{{Name: evil, Value: evil, Source: evil}}
		p.Price = offer.Price{Known: true, USDPerHour: "-1e300", USDPerGPUHour: "NaN", Granularity: math.MinInt64, Minimum: -time.Hour}
		p.Clocks = []offer.Clock{{What: evil, After: math.MinInt64, At: time.Unix(0, math.MaxInt64)}}
	}
	return pools, err
}

func (a absurd) Quote(ctx context.Context, name string, shapes []offer.Shape) ([]offer.Quote, error) {
	quotes, err := a.Server.Quote(ctx, name, shapes)
	for i := range quotes {
		q := &quotes[i]
		q.Wait, q.Boot, q.MaxTime, q.Expires = math.MinInt64, math.MinInt64, math.MinInt64, time.Unix(0, math.MinInt64)
		q.Price = offer.Price{Known: true, USDPerHour: "-1e300", Granularity: math.MinInt64}
		q.MaxJobs, q.MaxSubmit, q.SubmitBy, q.Why, q.Would = math.MinInt64, math.MinInt64, evil, evil, evil
	}
	if a.indexes {
		quotes = append(quotes, offer.Quote{Shape: math.MaxInt64, Fits: true}, offer.Quote{Shape: -1, Fits: true})
	}
	return quotes, err
}

func (a absurd) Preflight(ctx context.Context, name string, checks []providers.Check) ([]providers.Finding, error) {
	found, err := a.Server.Preflight(ctx, name, checks)
	if a.indexes {
		found = append(found, providers.Finding{Check: math.MaxInt64, Warning: true, Summary: evil})
	}
	return append(found, providers.Finding{Check: -1, Warning: true, Summary: evil, Detail: evil}), err
}

func (a absurd) Find(ctx context.Context, name string, tokens []string) ([]offer.Observation, error) {
	out, err := a.Server.Find(ctx, name, tokens)
	return distort(out), err
}

func (a absurd) Watch(ctx context.Context, r providers.WatchRequest, fn func(providers.Batch) error) error {
	return a.Server.Watch(ctx, r, func(b providers.Batch) error {
		distort(b.Events)
		b.Events = append(b.Events, offer.Observation{Token: evil, Presence: offer.Found, Status: offer.Status(evil), Attempt: math.MaxInt64})
		b.Notes = append(b.Notes, providers.Note{Kind: evil, Phase: evil, Text: evil})
		return fn(b)
	})
}

func distort(list []offer.Observation) []offer.Observation {
	for i := range list {
		o := &list[i]
		o.Started, o.Ended, o.Expected = time.Unix(0, math.MaxInt64), time.Unix(0, math.MinInt64), time.Unix(0, math.MinInt64)
		o.Reason, o.Node, o.Signal, o.Tail, o.GPUs = evil, evil, "", []string{evil}, []string{evil}
		o.Usage = &offer.Usage{Elapsed: math.MinInt64, CPU: math.MinInt64, MaxRSS: math.MinInt64, GPUSeconds: math.Inf(-1), Billed: "-1e300 usd"}
		if o.Got != nil {
			o.Got.CPUs, o.Got.GPUs, o.Got.Nodes, o.Got.Memory, o.Got.Walltime = math.MinInt64, -9, -9, math.MinInt64, math.MinInt64
		}
		for k := range o.Outputs {
			o.Outputs[k].Size, o.Outputs[k].Files, o.Outputs[k].Verdict = math.MinInt64, math.MinInt64, evil
		}
		o.Metrics = map[string]offer.Metric{"m": {Text: evil}, evil: {Text: "1", Error: evil}}
	}
	return list
}

// List is the files, of sizes that no file has, and names out of the workdir.
func (a absurd) List(ctx context.Context, name string, patterns []string) ([]providers.FileInfo, error) {
	out, err := a.Server.List(ctx, name, patterns)
	for i := range out {
		out[i].Size, out[i].MTime = math.MinInt64, math.MinInt64
	}
	return append(out, providers.FileInfo{Path: "/tmp/owned", Size: 4}, providers.FileInfo{Path: "../../owned", Size: math.MaxInt64}, providers.FileInfo{Path: evil, Size: 4}), err
}

// An endless host never comes to the end of an answer; a mute one never begins.
type endless struct {
	pb.UnimplementedProviderServer
	mute bool
}

// pour sends until who asked is gone.
func pour[M any](e *endless, ctx context.Context, send func(*M) error, m *M) error {
	if e.mute {
		<-ctx.Done()
		return ctx.Err()
	}
	for {
		if err := send(m); err != nil {
			return err
		}
	}
}

func many[T any](n int, one func() T) (out []T) {
	for range n {
		out = append(out, one())
	}
	return out
}

func (e *endless) Configure(context.Context, *pb.ConfigureRequest) (*pb.ConfigureReply, error) {
	return &pb.ConfigureReply{}, nil
}

func (e *endless) Pools(_ *pb.PoolsRequest, to grpc.ServerStreamingServer[pb.PoolsReply]) error {
	return pour(e, to.Context(), to.Send, &pb.PoolsReply{Pools: many(1000, func() *pb.Pool { return &pb.Pool{Name: "p", Notes: []string{strings.Repeat("n", 500)}} })})
}

func (e *endless) Quote(st grpc.BidiStreamingServer[pb.QuoteRequest, pb.QuoteReply]) error {
	return pour(e, st.Context(), st.Send, &pb.QuoteReply{Quotes: many(1000, func() *pb.Quote { return &pb.Quote{Fits: true, Why: strings.Repeat("w", 500)} })})
}

func (e *endless) Preflight(st grpc.BidiStreamingServer[pb.PreflightRequest, pb.PreflightReply]) error {
	return pour(e, st.Context(), st.Send, &pb.PreflightReply{Findings: many(1000, func() *pb.Finding { return &pb.Finding{Summary: strings.Repeat("f", 500)} })})
}

func (e *endless) Find(st grpc.BidiStreamingServer[pb.FindRequest, pb.FindReply]) error {
	return pour(e, st.Context(), st.Send, &pb.FindReply{Observations: many(1000, func() *pb.Observation { return &pb.Observation{Reason: strings.Repeat("r", 500)} })})
}

func (e *endless) Watch(st grpc.BidiStreamingServer[pb.WatchRequest, pb.WatchReply]) error {
	return pour(e, st.Context(), st.Send, &pb.WatchReply{More: true, Events: many(1000, func() *pb.Observation { return &pb.Observation{Reason: strings.Repeat("r", 500)} })})
}

func (e *endless) Verify(st grpc.BidiStreamingServer[pb.VerifyRequest, pb.VerifyReply]) error {
	return pour(e, st.Context(), st.Send, &pb.VerifyReply{Outputs: many(1000, func() *pb.OutputFound { return &pb.OutputFound{Verdict: strings.Repeat("v", 500)} })})
}

func (e *endless) List(st grpc.BidiStreamingServer[pb.ListRequest, pb.ListReply]) error {
	return pour(e, st.Context(), st.Send, &pb.ListReply{Files: many(1000, func() *pb.FileInfo { return &pb.FileInfo{Path: []byte("/w/out/" + strings.Repeat("n", 100)), Size: 1} })})
}

// A once is a listener with one connection.
type once struct {
	mu   sync.Mutex
	conn *pipeConn
}

func (l *once) Accept() (net.Conn, error) {
	l.mu.Lock()
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	if c == nil {
		select {} // the process ends with its connection
	}
	return c, nil
}
func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return &net.UnixAddr{} }

type pipeConn struct{ io.ReadWriteCloser }

func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if err != nil {
		os.Exit(0)
	}
	return n, nil
}
func (c *pipeConn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *pipeConn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *pipeConn) SetDeadline(time.Time) error      { return nil }
func (c *pipeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *pipeConn) SetWriteDeadline(time.Time) error { return nil }

const liarCampaign = `
campaign "liar" {}
backend "ssh" "lab" {
  host    = "h1"
  workdir = "FOLDER/work"
  price   = { usd_per_hour = 1 }
}
grid "g" { axes = { i = [0, 1] } }
phase "p" {
  grid = grid.g
  place { candidates = [backend.ssh.lab] }
  job {
    command = "mkdir -p ${output.d}/s; echo ${cell.i} > ${output.x}; echo ${cell.i} > ${output.d}/s/f; echo '{\"m\": 1}' > ${output.j}"
    output "x" { path = "out/${cell.i}.txt" }
    output "d" { dir = "dir/${cell.i}" }
    output "j" { path = "out/${cell.i}.json" }
    metric "m" {
      output = "j"
      json   = "/m"
    }
    resources { walltime = "10m" }
  }
}
phase "here" {
  place { candidates = [backend.local.local] }
  job {
    command = "cat ${input_file.all} > ${output.y}"
    input "all" { from_all = phase.p.output.d }
    output "y" { path = "here.txt" }
    resources { walltime = "10m" }
  }
}
`

// raw are characters of control that no terminal should be sent, but for the ends of
// lines and tabs.
var raw = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069]")

// A bound limits a command's use of this machine under a dishonest host.
const (
	boundMemory = 1 << 30 // bytes, of the largest process
	boundTime   = 4 * time.Minute
)

// bounded runs muster under a dishonest host: within bounds of time and memory, and
// without control characters.
func (r *remote) bounded(args ...string) (string, int) {
	r.t.Helper()
	cmd := r.command(args...)
	out, err := os.CreateTemp(r.t.TempDir(), "said-")
	if err != nil {
		r.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.After(boundTime)
	var most int64
	for {
		select {
		case err = <-ended:
		case <-limit:
			cmd.Process.Kill()
			r.t.Errorf("muster %v does not end within %v", args, boundTime)
			continue
		case <-time.After(200 * time.Millisecond):
			for _, p := range r.processes() {
				most = max(most, resident(p.pid))
			}
			continue
		}
		break
	}
	text, _ := os.ReadFile(out.Name())
	r.t.Logf("muster %v: %v, %d MiB, exit %d\n%.3000s", args, time.Since(began).Round(time.Millisecond), most>>20, exitCode(err), text)
	if most > boundMemory {
		r.t.Errorf("muster %v took %d MiB", args, most>>20)
	}
	if len(text) > 1<<20 {
		r.t.Errorf("muster %v prints %d bytes", args, len(text))
	}
	if bad := raw.FindIndex(text); bad != nil {
		r.t.Errorf("muster %v prints %q", args, text[max(0, bad[0]-60):min(len(text), bad[1]+60)])
	}
	if strings.Contains(string(text), "goroutine ") || strings.Contains(string(text), "panic:") {
		r.t.Errorf("muster %v: a dump\n%s", args, text)
	}
	return string(text), exitCode(err)
}

// resident is the memory of a process, in bytes.
func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kib int64
	fmt.Sscan(after, &kib)
	return kib << 10
}

// liar has another program answer on the host in the place of muster's.
func (r *remote) liar(mode string) {
	r.t.Helper()
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	path := r.host.Path(r.folder + "/liar")
	if _, err := os.Stat(path); err != nil {
		program.Copy(r.t, self, path)
	}
	r.profile("export " + liarVar + "='" + mode + "'; exec FOLDER/liar")
}

// profile sets the commands that the login shell runs first.
func (r *remote) profile(text string) {
	r.t.Helper()
	if err := os.WriteFile(r.host.Path("/home/alice/.bashrc"), []byte(r.paths(text)+"\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// untouched holds that nothing was written where no job and no command may.
func (r *remote) untouched() {
	r.t.Helper()
	for _, h := range []string{"/tmp/owned", filepath.Join(filepath.Dir(r.dir), "owned"), filepath.Join(r.dir, "..", "..", "owned")} {
		if _, err := os.Lstat(h); err == nil {
			r.t.Errorf("%s is there", h)
		}
	}
	if found := r.host.Exec("find / -xdev -name 'owned*' 2>/dev/null; true"); found != "" {
		r.t.Errorf("something ran as code: %s", found)
	}
}

// TestSystemSSHHostileShell: a host that is somebody else's, by its login shell. muster
// takes bounded time and memory, sends no control characters to the terminal, runs
// nothing that it is told, and says what is wrong.
func TestSystemSSHHostileShell(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	for name, text := range map[string]string{
		"a profile that prints for ever":       "while :; do printf 'noise \\033[2J noise %0900d\\n' 0; done",
		"a profile that prints no line ends":   "exec tr '\\000' '\\033' < /dev/zero",
		"a profile that prints to stderr":      "while :; do printf '\\033[2J%0900d\\n' 0 >&2; done",
		"a profile that never ends":            "exec sleep 100000",
		"a profile that ends":                  "printf '\\033[2Jgo away\\n'; exit 3",
		"a profile that speaks the first line": "printf '\\nmuster-door 2 99999999999999999999 \\033[2J\\n'; exec cat /dev/zero",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRemote(t, []*lab.Host{h}, liarCampaign)
			r.profile(text)
			out, code := r.bounded("plan")
			if code == 0 && !strings.Contains(out, "ssh.lab") || !strings.Contains(flat(out), "h1") {
				t.Errorf("exit %d, and the host is not named:\n%s", code, out)
			}
			r.untouched()
		})
	}
}

// TestSystemSSHHostileSilence: the same of a program in the place of muster's whose
// answers have no end, or never come.
func TestSystemSSHHostileSilence(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	for _, mode := range []string{"endless", "mute"} {
		hostileAnswers(t, h, mode, true, []string{"plan"}, []string{"backends"})
	}
}

// TestSystemSSHHostileNumbers: the same of one whose answers hold control characters,
// negative amounts and impossible times.
func TestSystemSSHHostileNumbers(t *testing.T) {
	h := lab.Hosts(t, 1)[0]
	for _, mode := range []string{"absurd indexes", "absurd numbers"} {
		hostileAnswers(t, h, mode, false, []string{"plan"}, []string{"backends"}, []string{"apply", "-auto-approve"}, []string{"status"}, []string{"status", "-refresh"}, []string{"cost"},
			[]string{"report"}, []string{"outputs"}, []string{"explain", "i=0"}, []string{"pull"}, []string{"plan"}, []string{"advise"})
	}
}

// hostileAnswers runs commands against a program that answers in the place of muster's,
// and holds that they name the backend at fault where they cannot use it.
func hostileAnswers(t *testing.T, h *lab.Host, mode string, named bool, commands ...[]string) {
	t.Run(mode, func(t *testing.T) {
		r := newRemote(t, []*lab.Host{h}, liarCampaign)
		r.liar(mode)
		for _, args := range commands {
			if out, _ := r.bounded(args...); named && !strings.Contains(flat(out), "ssh.lab") {
				t.Errorf("muster %v does not name the backend:\n%s", args, out)
			}
		}
		r.untouched()
	})
}

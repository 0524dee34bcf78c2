// Command muster-cloudsim serves a simulated GPU cloud, so that campaigns on
// rented machines can be tried, and tested, without an account and for nothing.
// It is never part of muster itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/internal/cloudsim"
	"github.com/muster-run/muster/internal/cloudsim/box"
	"github.com/muster-run/muster/internal/cloudsim/lambda"
	"github.com/muster-run/muster/internal/cloudsim/paperspace"
	"github.com/muster-run/muster/internal/cloudsim/runpod"
	"github.com/muster-run/muster/internal/cloudsim/vastai"
)

// A cloud is one that can be simulated.
type cloud struct {
	name     string
	simulate func(*cloudsim.World) cloudsim.Cloud
}

var clouds = map[string]cloud{
	"lambda":     {"Lambda", func(w *cloudsim.World) cloudsim.Cloud { return lambda.New(w) }},
	"paperspace": {"Paperspace", func(w *cloudsim.World) cloudsim.Cloud { return paperspace.New(w) }},
	"runpod":     {"RunPod", func(w *cloudsim.World) cloudsim.Cloud { return runpod.New(w) }},
	"vastai":     {"Vast.ai", func(w *cloudsim.World) cloudsim.Cloud { return vastai.New(w) }},
}

const usage = `Usage: muster-cloudsim [flags] CLOUD

Serves a simulated GPU cloud, by its published documentation: lambda is Lambda
Cloud of April 2025, paperspace is Paperspace of February 2026, runpod is RunPod
and vastai is Vast.ai of August 2026. None of them has met its live service.
Behind each rented instance is a real sshd in Linux namespaces where
muster-cloudsim runs as root; elsewhere instances boot and no ssh server answers.
It says which.

  muster-cloudsim -keys=keys.txt vastai
  export VAST_URL=http://127.0.0.1:8900

GET /_sim/state shows what really is, with exact bills. POST /_sim/clock,
/_sim/faults and /_sim/happen change it. docs/reference/cloudsim.md has the list.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	addr, keys, faults string
	speed              float64
	latency            time.Duration
	noLimit, noSSH     bool
}

func command(ctx context.Context, args []string, out, errs io.Writer) int {
	var s settings
	flags := flag.NewFlagSet("muster-cloudsim", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { fmt.Fprint(errs, usage); flags.PrintDefaults() }
	flags.StringVar(&s.addr, "addr", "127.0.0.1:8900", "`address` to listen on; port 0 takes a free one")
	flags.StringVar(&s.keys, "keys", "", "`file` of API keys, one on a line: KEY [account=NAME] [credit=DOLLARS] [card] [scopes=A,B] [expires=TIME] (default: the key \"test\", with $25)")
	flags.Float64Var(&s.speed, "clock", 1, "seconds of the cloud that pass in one real `second`; 0 stops its clock")
	flags.StringVar(&s.faults, "faults", "", "`file` of faults from the start, a JSON list")
	flags.DurationVar(&s.latency, "latency", 0, "real `time` that every answer takes")
	flags.BoolVar(&s.noLimit, "no-limits", false, "no rate limits")
	flags.BoolVar(&s.noSSH, "no-ssh", false, "no ssh server behind instances, even as root")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() != 1 || clouds[flags.Arg(0)].simulate == nil:
		fmt.Fprintln(errs, "muster-cloudsim: name the cloud to simulate:", strings.Join(slices.Sorted(maps.Keys(clouds)), ", "))
		return 2
	case s.speed < 0:
		fmt.Fprintln(errs, "muster-cloudsim: -clock is at least 0")
		return 2
	}
	if err := s.serve(ctx, clouds[flags.Arg(0)], out, errs); err != nil {
		fmt.Fprintln(errs, "muster-cloudsim:", err)
		return 1
	}
	return 0
}

// serve simulates until ctx ends.
func (s settings) serve(ctx context.Context, which cloud, out, errs io.Writer) error {
	world := &cloudsim.World{
		Clock: cloudsim.NewClock(time.Now(), s.speed), Machines: cloudsim.NoMachines{Why: "-no-ssh"},
		Trouble: func(err error) { fmt.Fprintln(errs, "muster-cloudsim:", err) },
	}
	var err error
	if s.keys == "" {
		world.Accounts, err = cloudsim.NewAccounts("test")
	} else {
		world.Accounts, err = cloudsim.ReadAccounts(s.keys)
	}
	if err != nil {
		return err
	}
	var faults []cloudsim.Fault
	if s.faults != "" {
		text, err := os.ReadFile(s.faults)
		if err != nil {
			return err
		}
		if faults, err = cloudsim.ParseFaults(text); err != nil {
			return fmt.Errorf("%s: %w", s.faults, err)
		}
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return err
	}
	if !s.noSSH {
		if world.Machines, err = box.New(); err != nil {
			return err
		}
	}
	simulated := which.simulate(world)
	defer simulated.Close()
	for _, f := range faults {
		if err := world.Faults.Add(f); err != nil {
			return fmt.Errorf("%s: %w", s.faults, err)
		}
	}
	server := cloudsim.NewServer(world, simulated)
	server.Latency, server.NoLimit = s.latency, s.noLimit
	fmt.Fprintf(out, "Simulated %s on http://%s\n", which.name, l.Addr())
	if ok, why := world.Machines.Reachable(); ok {
		fmt.Fprintln(out, "Instances have a real ssh server.")
	} else {
		fmt.Fprintf(out, "Instances boot, but have no ssh server: %s.\n", why)
	}
	go world.Clock.Run(ctx)
	web := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute}
	go func() {
		<-ctx.Done()
		web.Close()
	}()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

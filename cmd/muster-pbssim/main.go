// Command muster-pbssim serves a stand-in for an OpenPBS server, so that campaigns
// on PBS can be tried, and tested, without one. It is never part of muster itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/muster-run/muster/internal/pbssim"
)

const usage = `Usage: muster-pbssim [-qmgr=FILE] DIR

Serves a stand-in for an OpenPBS server in the folder DIR, with qsub, qstat and the
other commands in DIR/bin. Jobs are real processes of this machine; they run on when
muster-pbssim ends, and it finds them again when it starts in the same folder.

  muster-pbssim /tmp/pbs &
  export PATH=/tmp/pbs/bin:$PATH
  qsub -l select=1:ncpus=2 job.sh

DIR/bin/pbssim makes something happen: node-down pbs1, node-up pbs1, purge, fault
JSON. docs/reference/pbssim.md has the list.

Flags:
`

func main() {
	pbssim.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(command(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func command(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("muster-pbssim", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { fmt.Fprint(errs, usage); flags.PrintDefaults() }
	file := flags.String("qmgr", "", "`file` of qmgr statements: the queues, nodes and limits of the server (default: a small cluster with a node of 64 cores and 4 GPUs)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() != 1 {
		fmt.Fprintln(errs, "muster-pbssim: name the folder that the server keeps its jobs in")
		return 2
	}
	if err := serve(ctx, flags.Arg(0), *file, out); err != nil {
		fmt.Fprintln(errs, "muster-pbssim:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, dir, file string, out io.Writer) error {
	var c pbssim.Config
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		c.Qmgr = string(text)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	s, err := pbssim.Open(dir, c)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(out, "Stand-in for OpenPBS in %s. Its commands: export PATH=%s:$PATH\n", dir, s.Bin)
	<-ctx.Done()
	return nil
}

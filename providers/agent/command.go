package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/muster-run/muster/internal/ulimit"
	"github.com/muster-run/muster/providers/batch/node"
	"github.com/muster-run/muster/providers/host"
	"github.com/muster-run/muster/providers/host/verifier"
	"github.com/muster-run/muster/providers/schedulers"
)

const usage = `muster-host is the part of muster that runs jobs on a host; muster starts it over ssh.

  muster-host agent            serve this host to the muster at the other end of stdin and stdout
  muster-host queue [FLAG…]    run jobs, until none is left
  muster-host node -batch DIR  run one element of an array of a batch scheduler, in its job
  muster-host digest FILE      print the sha256 of a file
`

// nodeMode is the mode in which a batch scheduler's job starts this binary.
const nodeMode = "node"

// Command runs muster-host with its arguments; it returns the exit status.
func Command(args []string) int {
	if err := ulimit.Check(); err != nil {
		return report(err)
	}
	mode := ""
	if len(args) > 0 {
		mode = args[0]
	}
	verifier.Enable()
	switch {
	case slices.Equal(args, verifier.Mode):
		return verifier.Main()
	case mode == "queue":
		return host.Main(context.Background(), args[1:])
	case mode == "agent" && len(args) == 1:
		return report(serveHost(context.Background()))
	case mode == nodeMode:
		return node.Main(args[1:], schedulers.Nodes()...)
	case mode == EnvironMode && len(args) == 2:
		return report(printEnviron(os.Stdout, args[1]))
	case mode == "digest" && len(args) == 2:
		return report(digest(args[1]))
	}
	fmt.Fprint(os.Stderr, usage)
	return 2
}

func report(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "muster-host:", err)
		return 1
	}
	return 0
}

func digest(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	fmt.Println(hex.EncodeToString(sum.Sum(nil)))
	return nil
}

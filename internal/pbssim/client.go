package pbssim

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Main is a command, where the environment says that this process is one; it
// then does not return. Call it first in TestMain.
func Main() {
	name := os.Getenv("PBSSIM_PROGRAM")
	if name == "" {
		return
	}
	r := ask(name, os.Args[1:])
	io.WriteString(os.Stderr, r.Err) //nolint:errcheck // nobody reads it
	io.WriteString(os.Stdout, r.Out) //nolint:errcheck // nobody reads it
	os.Exit(r.RC)
}

// refused is the reply of a command that reaches no server.
func refused(q request, why, server string, errno int) reply {
	r := reply{Err: fmt.Sprintf("%s\n%s: cannot connect to server %s (errno=%d)\n", why, q.Program, server, errno), RC: errno % 256}
	switch q.Program {
	case "qstat":
		r.RC = 255
		opts, _, _ := getopt(q.Args, qstatLetters)
		if format, _ := last(opts, 'F'); format == "json" {
			s := Server{version: "23.06.06", host: server, now: time.Now}
			r.Out = s.asJSON("Jobs", nil)
		}
	case "qdel":
		r.Err = fmt.Sprintf("%s\nCouldn't connect to cluster: %s\n", why, server)
	case "pbsnodes":
		r.RC = 1
		r.Err = fmt.Sprintf("%s\npbsnodes: cannot connect to server %s, error=%d\n", why, server, errno)
	}
	return r
}

// brokenOff is the reply of a command whose server ends while it is asked: for a
// qsub, which may have submitted, another text than when it could not begin.
func brokenOff(q request) reply {
	if q.Program == "qsub" {
		return reply{Err: "qsub: Premature end of message\n", RC: 15031 % 256}
	}
	return refused(q, "Communication failure.", "pbs1", 15031)
}

// ask has the server carry out a command.
func ask(name string, args []string) reply {
	q := request{Program: name, Args: args, Env: os.Environ(), User: clientUser()}
	q.Cwd, _ = os.Getwd()
	if server := os.Getenv("PBS_SERVER"); server != "" && server != "pbs1" {
		return refused(q, "Unknown Host.", server, 15008)
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 && name != "qstat" && needsStdin(name, args) {
		q.Stdin, _ = io.ReadAll(os.Stdin)
	}
	down := refused(q, "Connection refused", "pbs1", 15010)
	address, err := os.ReadFile(filepath.Join(os.Getenv("PBSSIM_DIR"), "address"))
	if err != nil || os.Getenv("PBS_BATCH_SERVICE_PORT") != "" {
		return down
	}
	c, err := net.Dial("unix", string(address))
	if err != nil {
		return down
	}
	defer c.Close()
	var r reply
	if json.NewEncoder(c).Encode(q) != nil || json.NewDecoder(c).Decode(&r) != nil {
		return brokenOff(q)
	}
	return r
}

// needsStdin reports whether a command reads its standard input: qsub without a
// script, and qmgr without a statement.
func needsStdin(name string, args []string) bool {
	switch name {
	case "qsub":
		if slices.Contains(args, "--") {
			return false
		}
		_, rest, _ := getopt(args, qsubLetters)
		return len(rest) == 0
	case "qmgr":
		return !slices.ContainsFunc(args, func(a string) bool { return len(a) > 1 && a[:2] == "-c" })
	}
	return false
}

// Command muster-host is the program that muster copies to a host that it
// reaches over ssh: the queue that runs the jobs there, and the agent that
// connects it to muster.
package main

import (
	"os"

	"github.com/muster-run/muster/providers/agent"
)

func main() { os.Exit(agent.Command(os.Args[1:])) }

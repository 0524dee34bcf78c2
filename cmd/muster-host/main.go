// Command muster-host is what muster puts on a host that it reaches over ssh:
// the queue that runs the jobs there, and the door through which muster, on
// its own machine, speaks to it.
package main

import (
	"os"

	"github.com/muster-run/muster/providers/door"
)

func main() { os.Exit(door.Command(os.Args[1:])) }

// Program is the least that limits may keep from starting.
package main

import (
	"fmt"
	"os"

	"github.com/muster-run/muster/internal/ulimit"
)

func main() {
	if err := ulimit.Check(); err != nil {
		fmt.Fprintln(os.Stderr, "muster:", err)
		os.Exit(1)
	}
	fmt.Println("runs")
}

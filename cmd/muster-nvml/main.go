// Command muster-nvml reads the GPUs of a machine for a muster-host that, as a
// static program, cannot load NVML itself. muster-host carries it and runs it
// from memory; nobody starts it by hand.
package main

// Which functions are called through glibc.c, and where older machines have them.

// #cgo LDFLAGS: -Wl,--wrap=dlopen -Wl,--wrap=dlsym -Wl,--wrap=dlclose -Wl,--wrap=dlerror
// #cgo LDFLAGS: -Wl,--wrap=pthread_create -Wl,--wrap=pthread_key_create -Wl,--wrap=pthread_setspecific -Wl,--wrap=pthread_sigmask
// #cgo LDFLAGS: -Wl,--wrap=pthread_attr_getstack -Wl,--wrap=pthread_attr_getstacksize -Wl,--wrap=pthread_getattr_np
// #cgo LDFLAGS: -Wl,--wrap=__libc_start_main
// #cgo LDFLAGS: -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2
import "C"

import (
	"fmt"
	"os"

	"github.com/muster-run/muster/providers/host/gpu"
)

func main() {
	if err := gpu.ServeNVML("", os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "muster-nvml:", err)
		os.Exit(1)
	}
}

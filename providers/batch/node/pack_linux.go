package node

import "syscall"

// dependent has a process end when the thread ends that started it.
func dependent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

package node

import "syscall"

// dependent is nothing here: no scheduler runs on macOS.
func dependent() *syscall.SysProcAttr { return nil }

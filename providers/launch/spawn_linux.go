package launch

import "syscall"

// ownGroup keeps a Ctrl-C in the terminal from the provider and its children,
// and lets the kernel end the provider with muster.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}

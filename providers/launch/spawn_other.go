//go:build unix && !linux

package launch

import "syscall"

// ownGroup keeps a Ctrl-C in the terminal from the provider and its children.
// The provider's own parent watch ends it with muster.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

//go:build !linux

package box

import "github.com/muster-run/muster/internal/cloudsim"

// Here is why this machine cannot carry boxes.
func Here() string { return "network namespaces are Linux's" }

// New makes machines that are none.
func New() (cloudsim.Machines, error) { return cloudsim.NoMachines{Why: Here()}, nil }

// Package box makes the machines behind rented instances: each is a set of Linux
// namespaces with an address, an sshd, a root user with a home of its own, and an
// nvidia-smi that shows the rented GPUs. It shares the installed programs of this
// machine, which it sees read-only. It needs root. Everything ends with the process
// that made it, however that ends; only a folder in the temporary directory may stay.
package box

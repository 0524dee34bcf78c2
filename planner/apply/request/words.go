package request

import "fmt"

// On lists the addresses on which a hold is set or cleared: "", everything, where
// none is named.
func (r Request) On() []string {
	if len(r.Addresses) == 0 {
		return []string{""}
	}
	return r.Addresses
}

// Jobs is "1 job is held" or "24 jobs are held".
func Jobs(n int, one, many string) string {
	if n == 1 {
		return "1 job " + one
	}
	return fmt.Sprintf("%d jobs %s", n, many)
}

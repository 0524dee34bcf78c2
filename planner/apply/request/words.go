package request

import "fmt"

// On is what a hold is set on or cleared of: everything, "", where nothing is named.
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

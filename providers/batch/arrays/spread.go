package arrays

// Spread shares a phase's limit among its arrays, of the given sizes, so that
// together they keep to it with muster off: each gets a share, at least 1. If
// there are more arrays than limit, they form lanes: in a lane one job runs at a
// time, and an array begins when the one behind[i] has ended; -1 = it waits for
// none.
func Spread(limit int, sizes []int) (shares, behind []int) {
	shares, behind = make([]int, len(sizes)), make([]int, len(sizes))
	total := 0
	for i, n := range sizes {
		shares[i], behind[i] = 1, -1
		if i >= limit {
			behind[i] = i - limit
		}
		total += n
	}
	left := limit - len(sizes)
	if left <= 0 {
		return shares, behind
	}
	for i, n := range sizes {
		more := min(left*n/total, n-1)
		shares[i] += more
	}
	for given := sum(shares); given < min(limit, total); {
		for i, n := range sizes {
			if shares[i] < n && given < limit {
				shares[i]++
				given++
			}
		}
	}
	return shares, behind
}

func sum(list []int) (n int) {
	for _, v := range list {
		n += v
	}
	return n
}

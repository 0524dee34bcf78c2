package arrays

// Spread gives the arrays of one phase, sizes jobs each, what they may run at
// once, so that together they keep to the phase's limit with nobody watching:
// each its part of it, one at least. Where there are more arrays than that,
// they stand in as many lanes as may run; in a lane one job runs at a time and
// an array begins when the one before it, behind, has ended. behind is -1 for
// those that wait for none.
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

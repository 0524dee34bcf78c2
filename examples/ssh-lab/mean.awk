# The mean of the estimates for each number of points.
{
	gsub(/[{}",:]/, " ")
	sum[$2] += $6; count[$2]++
}
END {
	print "n,jobs,pi"
	for (n = 1000; n <= 100000; n *= 10)
		if (n in count) printf "%d,%d,%.6f\n", n, count[n], sum[n] / count[n]
}

# Throws n points at the unit square, and counts those in the circle.
BEGIN {
	srand(seed)
	for (i = 0; i < n; i++) {
		x = rand(); y = rand()
		in_circle += x * x + y * y < 1
	}
	printf "{\"n\": %d, \"seed\": %d, \"pi\": %.6f}\n", n, seed, 4 * in_circle / n
}

package digests

import "testing"

// TestDigestsAreKeptWhileMoreAreTaken: who is killed need not read them again.
func TestDigestsAreKeptWhileMoreAreTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := Open(dir)
	d.Put("a", Taken{"x", 1, 1})
	if got := Open(dir).Get("a", 1); got != "" {
		t.Error("every digest is a file's write")
	}
	d.saved = d.saved.Add(-2 * savePeriod)
	d.Put("b", Taken{"y", 1, 1})
	if again := Open(dir); again.Get("a", 1) != "x" || again.Get("b", 1) != "y" {
		t.Error("digests are kept at the end alone")
	}
	d.Put("c", Taken{"z", saveBytes, 1})
	if got := Open(dir).Get("c", 1); got != "" {
		t.Error("a large file's digest is written whatever the book costs")
	}
	d.Put("d", Taken{"z", 4 * saveBytesPerFile, 1})
	if again := Open(dir); again.Get("c", 1) != "z" || again.Get("d", 1) != "z" {
		t.Error("the digests of large files are kept at the end alone")
	}
}

// Package room looks at the file system on which jobs leave their files: whether
// it has room for them, and whether anything is to be started there now.
package room

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
)

const (
	// fullShare is the share of its inodes, or of its bytes, in use from which on a
	// file system is full.
	fullShare = 0.99
	// fullSpare is what must be free where no job says how much it leaves: with
	// more than that, the last hundredth of a large file system is room enough.
	fullSpare = 1 << 30
)

// statfs looks at the file system on which a folder lies, or will.
func statfs(dir string) (st unix.Statfs_t, ok bool) {
	for at := dir; unix.Statfs(at, &st) != nil; at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return st, false
		}
	}
	return st, true
}

func free(st unix.Statfs_t) int64 { return int64(st.Bavail) * int64(st.Bsize) }

// Full says why nothing is to be started on a file system for now, "" if jobs
// may.
func Full(dir string) string {
	st, ok := statfs(dir)
	if !ok {
		return ""
	}
	used := float64(st.Blocks - st.Bfree) // as df counts: what is kept for root is neither
	switch {
	case st.Blocks > 0 && st.Bavail == 0:
		return "the disk is full"
	case st.Files > 0 && float64(st.Files-st.Ffree) >= fullShare*float64(st.Files):
		return fmt.Sprintf("%d of %d inodes are in use", st.Files-st.Ffree, st.Files)
	case st.Blocks > 0 && free(st) < fullSpare && used >= fullShare*(used+float64(st.Bavail)):
		return fmt.Sprintf("the disk is full but for %s", disk(free(st)))
	}
	return ""
}

// Paused is the finding that the file system of a check is full: launches wait for room, and
// those that work elsewhere do not.
func Paused(check int, dir, why string) providers.Finding {
	return providers.Finding{Check: check, Warning: true, Pauses: true, Summary: "Launches wait until a volume has room", Detail: dir + ": " + why}
}

// Barred is the finding that the workdir of a check cannot be written to, for
// which Unwritable says why: nothing is planned there, and launches that were
// planned before wait until it can.
func Barred(check int, why string) providers.Finding {
	return providers.Finding{Check: check, Pauses: true, Summary: "Workdir cannot be used", Detail: why}
}

// Look finds what a check has to fear of the file system on which dir lies; i is
// the check's index, and each job leaves so many files of ours there.
func Look(i int, dir string, c providers.Check, each int64) []providers.Finding {
	if why := lacks(dir, c.Disk); why != "" {
		return []providers.Finding{{Check: i, Summary: "There is no room for results", Detail: dir + ": " + why}}
	}
	if why := Full(dir); why != "" {
		return []providers.Finding{Paused(i, dir, why)}
	}
	if why := lacksInodes(dir, c.Files+c.Jobs*each); why != "" {
		return []providers.Finding{{Check: i, Summary: "There is no room for results", Detail: dir + ": " + why}}
	}
	if why := short(dir, c.Keep); why != "" {
		return []providers.Finding{{Check: i, Warning: true, Summary: "There may be no room for everything", Detail: dir + ": " + why}}
	}
	return nil
}

// lacks says that a file system lacks what jobs say that they leave on it, "" if
// it does not.
func lacks(dir string, need int64) string {
	st, ok := statfs(dir)
	switch {
	case !ok || need <= 0:
		return ""
	case st.Blocks > 0 && st.Bavail == 0:
		return fmt.Sprintf("the disk is full, and the jobs still to be done need %s; make room, or let workdir be on a larger volume", disk(need))
	case free(st) < need:
		return fmt.Sprintf("%s free of %s needed by the jobs still to be done; make room, or let workdir be on a larger volume", disk(free(st)), disk(need))
	}
	return ""
}

// lacksInodes says that a file system lacks the inodes of the files that jobs will
// leave on it, "" if it does not, or if it tells of none, as those that make them
// as they go.
func lacksInodes(dir string, need int64) string {
	st, ok := statfs(dir)
	if !ok || st.Files == 0 || need <= 0 || uint64(need) <= st.Ffree {
		return ""
	}
	return fmt.Sprintf("%d inodes free of about %d needed by the jobs still to be done; remove or pack small files, or let workdir be on another volume", st.Ffree, need)
}

// short says that a file system has less room than jobs may come to need, ""
// if it has enough.
func short(dir string, need int64) string {
	if st, ok := statfs(dir); ok && free(st) < need {
		return fmt.Sprintf("%s free, and %s would be needed if each job still to be done kept all of the disk that it declares", disk(free(st)), disk(need))
	}
	return ""
}

// disk is a size as people write it of disks: 60 GB.
func disk(n int64) string {
	switch {
	case n >= 1e9:
		return strconv.FormatFloat(math.Round(float64(n)/1e8)/10, 'f', -1, 64) + " GB"
	case n >= 1<<20:
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

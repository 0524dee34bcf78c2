// Package room checks the free space of the file systems that jobs write to,
// and decides whether a job may start there now.
package room

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/providers"
)

const (
	// fullShare is the share of its inodes, or of its bytes, in use from which on a
	// file system is full.
	fullShare = 0.99
	// fullSpare is the free space that a volume needs where no job declares its own: with more
	// than that, the last hundredth of a large file system is enough.
	fullSpare = 1 << 30
	// nearShare is the share in use from which on a plan warns of a file system, unless
	// nearSpare bytes are free.
	nearShare = 0.95
	nearSpare = 1 << 40
)

// statfs looks at the file system of a folder, which need not exist yet.
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
	used := float64(st.Blocks - st.Bfree) // as df counts: root's reserve is neither
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

// near describes how full a file system is, if a person should know; else "".
func near(st unix.Statfs_t) string {
	used := float64(st.Blocks - st.Bfree)
	switch all := used + float64(st.Bavail); {
	case st.Files > 0 && float64(st.Files-st.Ffree) >= nearShare*float64(st.Files):
		return fmt.Sprintf("%.0f %% of its inodes are in use", 100*float64(st.Files-st.Ffree)/float64(st.Files))
	case st.Blocks > 0 && used >= nearShare*all && free(st) < nearSpare:
		return fmt.Sprintf("%.0f %% of it is in use, and %s are free", 100*used/all, disk(free(st)))
	}
	return ""
}

// Paused is the finding that the file system of a check is full: launches wait for room, and
// jobs on other file systems do not.
func Paused(check int, dir, why string) providers.Finding {
	return providers.Finding{Check: check, Warning: true, Pauses: true, Summary: "Launches wait until a volume has room", Detail: dir + ": " + why}
}

// Barred is the finding that the workdir of a check cannot be written to, for
// which Unwritable says why: nothing is planned there, and launches that were
// planned before wait until it can.
func Barred(check int, why string) providers.Finding {
	return providers.Finding{Check: check, Pauses: true, Summary: "Workdir cannot be used", Detail: why}
}

// Look warns about the file system of dir; i is the check's index, and muster keeps so many
// files there for each job.
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
	if st, ok := statfs(dir); ok && near(st) != "" {
		return []providers.Finding{{Check: i, Warning: true, Summary: "A volume is nearly full", Detail: dir + ": " + near(st) + "; `muster clean` lists files that may go"}}
	}
	return nil
}

// lacks says that a file system lacks the space that jobs declare, "" if it does not.
func lacks(dir string, need int64) string {
	st, ok := statfs(dir)
	switch {
	case !ok || need <= 0:
		return ""
	case st.Blocks > 0 && st.Bavail == 0:
		return fmt.Sprintf("the disk is full, and the remaining jobs need %s; make room, or let workdir be on a larger volume", disk(need))
	case free(st) < need:
		return fmt.Sprintf("%s free of %s needed by the remaining jobs; make room, or let workdir be on a larger volume", disk(free(st)), disk(need))
	}
	return ""
}

// lacksInodes says that a file system lacks the inodes for the files of jobs, "" if it does
// not, or if it reports none, as those do that create them on demand.
func lacksInodes(dir string, need int64) string {
	st, ok := statfs(dir)
	if !ok || st.Files == 0 || need <= 0 || uint64(need) <= st.Ffree {
		return ""
	}
	return fmt.Sprintf("%d inodes free of about %d needed by the remaining jobs; remove or pack small files, or let workdir be on another volume", st.Ffree, need)
}

// short says that a file system has less room than jobs may need, "" if it has enough.
func short(dir string, need int64) string {
	if st, ok := statfs(dir); ok && free(st) < need {
		return fmt.Sprintf("%s free, and %s would be needed if each remaining job kept all of the disk that it declares", disk(free(st)), disk(need))
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

// Only reports whether a check is about the volume of its workdir alone, at which
// an apply looks again and again: a scheduler has no part in that.
func Only(c providers.Check) bool {
	return reflect.DeepEqual(c, providers.Check{Workdir: c.Workdir, Pool: c.Pool})
}

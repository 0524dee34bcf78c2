package batch

import "os"

// launchTries is how often muster releases a job that the scheduler could not
// launch, and holds. By then the node at fault is drained, and the job gets
// another one.
const launchTries = 3

// retries count on the spool how often a job that was not launched was released,
// or submitted again, by any muster.
type retries struct{ spools *spools }

// count is how often a job was retried.
func (rs *retries) count(j *job) int64 {
	fi, err := os.Stat(rs.spools.path("relaunched", j.token))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// allow reports whether a job may be retried, and counts the retry.
func (rs *retries) allow(j *job) bool {
	name := rs.spools.path("relaunched", j.token)
	if rs.count(j) >= launchTries {
		return false
	}
	if os.MkdirAll(rs.spools.path("relaunched"), 0o700) != nil {
		return false
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return false
	}
	_, err = f.WriteString(".")
	return f.Close() == nil && err == nil
}

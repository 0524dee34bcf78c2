# The job wrapper: claim, run, record. POSIX sh; see docs/host-queue.md.
#
# Started as its own session in the job's current directory, with the job's
# whole environment, $MUSTER_JOB naming the job's folder in the spool, and the
# words of an argv command as arguments. It starts no process but the job.
# fd 9 is the record; the job never inherits it.

# The claim. An exclusive create by the shell itself is atomic on every local
# file system and costs no process. A folder that is gone was claimed, ended
# and forgotten.
set -C
if ! { command exec 9>"$MUSTER_JOB/record"; } 2>/dev/null; then
	{ echo "duplicate $$ $MUSTER_LAUNCH" >>"$MUSTER_JOB/duplicates"; } 2>/dev/null
	exit 0
fi
set +C
# Without a record nothing may run: the start could not be told from no start.
echo "claim $MUSTER_TOKEN $MUSTER_RESTART $$ $MUSTER_BOOT $MUSTER_LAUNCH" >&9 || exit 97

# Signals meant for the job reach its whole group; the wrapper outlives them
# to record the end. In the subshell they are back to their defaults.
trap : HUP INT QUIT TERM USR1 USR2 ALRM

(
	if [ -f "$MUSTER_JOB/before" ]; then . "$MUSTER_JOB/before" || exit; fi
	if [ $# -gt 0 ]; then exec "$@"; fi
	if [ -f "$MUSTER_JOB/plain" ]; then . "$MUSTER_JOB/plain"; exit; fi
	exec /bin/sh "$MUSTER_JOB/cmd"
) 9>&-
set -- $?
echo "exit $1" >&9
exit "$1"

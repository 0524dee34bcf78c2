# The job wrapper: claim, run, record. POSIX sh; see docs/host-queue.md.
#
# Started as its own session in the job's current directory, with the job's
# whole environment, $MUSTER_JOB naming the job's folder in the spool, and the
# words of an argv command as arguments. It starts no process but the job.
# fd 9 is the record; the job never inherits it.

# The claim. The first line appended to the record that was laid out for this
# start holds it: appends are atomic on a local disk. Where several machines
# share the spool, $MUSTER_CLAIM names a file whose exclusive creation decides
# first. Neither costs a process. A folder that is gone was claimed, ended and
# forgotten.
if [ -n "$MUSTER_CLAIM" ]; then
	set -C
	if ! { echo "$MUSTER_LAUNCH" >"$MUSTER_CLAIM"; } 2>/dev/null; then
		{ echo "duplicate $$ $MUSTER_LAUNCH" >>"$MUSTER_JOB/duplicates"; } 2>/dev/null
		exit 97
	fi
	set +C
fi
[ -f "$MUSTER_JOB/record" ] || exit 97
{ command exec 9>>"$MUSTER_JOB/record"; } 2>/dev/null || exit 97
# Without a record nothing may run: a start could not be told from no start.
echo "claim $$ $MUSTER_LAUNCH" >&9 || exit 97
{ read -r _muster_a; read -r _muster_a _muster_b _muster_c; } <"$MUSTER_JOB/record" || exit 97
if [ "$_muster_b $_muster_c" != "$$ $MUSTER_LAUNCH" ]; then
	echo "duplicate $$ $MUSTER_LAUNCH" >&9
	exit 97
fi
unset _muster_a _muster_b _muster_c

# The job runs under the umask of whoever submitted it.
if [ -n "$MUSTER_UMASK" ]; then
	umask "$MUSTER_UMASK"
	unset MUSTER_UMASK
fi

# Signals meant for the job reach its whole group; the wrapper outlives them
# to record the end.

# A plain command cannot tell this shell from one of its own. See Plain.
if [ -n "$MUSTER_PLAIN" ]; then
	exec 9>&-
	trap 'echo "exit $?" >>"$MUSTER_JOB/record"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 131' QUIT
	trap 'exit 143' TERM
	. "$MUSTER_JOB/cmd"
	exit
fi

# In the subshell signals are back to their defaults.
trap : HUP INT QUIT TERM USR1 USR2 ALRM
(
	if [ -f "$MUSTER_JOB/before" ]; then . "$MUSTER_JOB/before"; fi
	if [ -f "$MUSTER_JOB/launch" ]; then . "$MUSTER_JOB/launch"; fi
	if [ -f "$MUSTER_JOB/image" ]; then . "$MUSTER_JOB/image"; fi
	if [ $# -gt 0 ]; then exec "$@"; fi
	exec /bin/sh "$MUSTER_JOB/cmd"
) 9>&-
set -- $?
echo "exit $1" >&9
exit "$1"

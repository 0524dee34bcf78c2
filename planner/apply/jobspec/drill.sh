# The drill of a checkpoint. The command has the group of this shell, as a preemption finds it:
# a watcher signals the group once the checkpoint is whole, and this shell outlives that.
_muster_say() { echo "muster: resume drill: $1" >&2; }
_muster_whole() { find "$MUSTER_CHECKPOINT" -type f -size +0c -exec ls -ln {} + 2>/dev/null; }
_muster_wait() { # in steps, for nothing ends a sleep that outlives its shell
	_muster_left=$1
	while [ "$_muster_left" -gt 0 ]; do
		sleep 1
		_muster_left=$((_muster_left - 1))
	done
}
rm -rf -- "$MUSTER_CHECKPOINT" "$MUSTER_CHECKPOINT.drill" "$MUSTER_JOB/drill"
trap : HUP INT QUIT TERM USR1 USR2 ALRM CONT
(
	trap '' HUP INT QUIT TERM USR1 USR2 ALRM CONT
	_muster_was=
	while _muster_now=$(_muster_whole); [ -z "$_muster_now" ] || [ "$_muster_now" != "$_muster_was" ]; do
		_muster_was=$_muster_now
		sleep 1
	done
	_muster_say "the checkpoint is written; SIG$_muster_signal ends the first launch"
	: >"$MUSTER_JOB/drill"
	kill -s "$_muster_signal" 0
	if [ "$_muster_signal" != TERM ]; then
		_muster_wait "$_muster_grace"
		kill -s TERM 0
	fi
	_muster_wait 30
	_muster_say "the first launch runs 30 s after SIGTERM; a preemption would kill it now"
) 7>&- &
_muster_watcher=$!
# The pipe of fd 8 closes when all that the command started has ended.
_muster_rest=$(_muster_launch 0 8>&1 1>&7 7>&-)
_muster_status=$?
kill -s KILL "$_muster_watcher" 2>/dev/null
wait "$_muster_watcher" 2>/dev/null
if [ ! -e "$MUSTER_JOB/drill" ]; then
	[ "$_muster_status" -eq 0 ] || exit "$_muster_status"
	_muster_say "the command finished before it was ended: its checkpoint ($MUSTER_CHECKPOINT) was never whole for a second. Make the smoke longer, or the interval of the checkpoint shorter"
	exit 1
fi
if [ ! -e "$MUSTER_CHECKPOINT" ]; then
	_muster_say "the first launch removed its checkpoint ($MUSTER_CHECKPOINT) when it ended, so that none could resume"
	exit 1
fi
: >"$MUSTER_CHECKPOINT.drill" || exit 1
sleep 1 # what is written now is newer, on a file system that counts in seconds too
_muster_say "the second launch begins"
_muster_launch 1 7>&-
_muster_status=$?
_muster_went=$(find "$MUSTER_CHECKPOINT" -newer "$MUSTER_CHECKPOINT.drill" 2>/dev/null)
rm -f -- "$MUSTER_CHECKPOINT.drill"
[ "$_muster_status" -eq 0 ] || exit "$_muster_status"
if [ -z "$_muster_went" ] && [ -e "$MUSTER_CHECKPOINT" ]; then
	_muster_say "the second launch wrote no checkpoint: it must go on from that of the first ($MUSTER_CHECKPOINT). Make the smoke longer than two intervals of the checkpoint"
	exit 1
fi
exit 0

// What a program of muster's needs of its user's limits, measured in November
// 2026 as VmPeak, VmData and Threads of /proc/PID/status, Go 1.26 on linux/amd64:
// 1401 MiB, 220 MiB and 10 threads of `apply` on two cores, of which Go's runtime
// reserves about 600 MiB of addresses for its page summaries alone. Go starts a
// thread for each core that is at work.
#define FLOOR_ADDRESS_MIB 1500
#define FLOOR_DATA_MIB 256
#define FLOOR_CORES 8
#define FLOOR_THREADS 10
#define FLOOR_MEMORY "muster: it needs %d MiB of memory, and the limit (ulimit %s) is %s KiB. Raise the limit, or remove it: ulimit %s unlimited\n"
#define FLOOR_PROCESSES "muster: it needs %d threads, and only %d more may start; the limit on processes (ulimit -u, or pids.max of a container) is %s. End other processes of this user, or raise the limit\n"

/*
 * A stand-in for libnvidia-ml.so.1: the few symbols that muster calls, with
 * figures read anew at every call from the text file that the environment
 * variable MUSTER_FAKE_NVML names, so that a test can change them as jobs run:
 *
 *   device  INDEX UUID NAME_WITH_UNDERSCORES TOTAL_MIB USED_MIB
 *   busy    INDEX PERCENT                     (its utilization; unknown without)
 *   slice   INDEX UUID TOTAL_MIB USED_MIB     (turns MIG mode on for INDEX)
 *   process INDEX PID USED_MIB [SLICE]        (SLICE: the process is on that slice, from 0)
 *   xid     INDEX CODE                        (each line is told once)
 *   lost    INDEX                             (GPU_IS_LOST from then on)
 *   init    RETURN                            (what nvmlInit_v2 answers)
 *   hang    SECONDS                           (nvmlDeviceGetCount_v2 sleeps)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int ret_t;
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, TIMEOUT = 10, GPU_IS_LOST = 15, UNKNOWN = 999 };
enum { MAX = 64 };

typedef struct { char uuid[96], name[96]; unsigned long long total, used; int index, slice, lost; } unit;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gi, ci; } process_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { void *device; unsigned long long type, data; unsigned int gi, ci; } event_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } memory2_t;

static unit units[MAX];      /* addresses are the handles, and stay */
static int nunits, told, init_answer, hang_seconds, lost[MAX], busy[MAX];
static struct { int index, code; } xids[MAX];
static int nxids;
static process_t procs[MAX];
static int proc_device[MAX], proc_slice[MAX], nprocs;

static int read_state(void) {
	const char *path = getenv("MUSTER_FAKE_NVML");
	FILE *f = path ? fopen(path, "r") : NULL;
	char line[512], u[96], n[96];
	int i, v;
	unsigned long long a, b;
	if (!f) return UNKNOWN;
	nunits = nxids = nprocs = init_answer = hang_seconds = 0;
	memset(lost, 0, sizeof lost);
	memset(busy, -1, sizeof busy);
	while (fgets(line, sizeof line, f) && nunits < MAX && nxids < MAX && nprocs < MAX) {
		unit *x = &units[nunits];
		if (sscanf(line, "device %d %95s %95s %llu %llu", &i, u, n, &a, &b) == 5) {
			char *c;
			for (c = n; *c; c++) if (*c == '_') *c = ' ';
			x->index = i; x->slice = 0; x->total = a << 20; x->used = b << 20;
			strcpy(x->uuid, u); strcpy(x->name, n); nunits++;
		} else if (sscanf(line, "slice %d %95s %llu %llu", &i, u, &a, &b) == 4) {
			x->index = i; x->slice = 1; x->total = a << 20; x->used = b << 20;
			strcpy(x->uuid, u); strcpy(x->name, "slice"); nunits++;
		} else if (sscanf(line, "process %d %d %llu", &i, &v, &a) == 3) {
			if (sscanf(line, "process %*d %*d %*u %d", &proc_slice[nprocs]) != 1) proc_slice[nprocs] = -1;
			procs[nprocs].pid = v; procs[nprocs].used = a << 20;
			procs[nprocs].gi = procs[nprocs].ci = 0xffffffffu; proc_device[nprocs++] = i;
		} else if (sscanf(line, "xid %d %d", &i, &v) == 2) {
			xids[nxids].index = i; xids[nxids++].code = v;
		} else if (sscanf(line, "lost %d", &i) == 1 && i >= 0 && i < MAX) {
			lost[i] = 1;
		} else if (sscanf(line, "busy %d %d", &i, &v) == 2 && i >= 0 && i < MAX) {
			busy[i] = v;
		} else if (sscanf(line, "init %d", &v) == 1) {
			init_answer = v;
		} else if (sscanf(line, "hang %d", &v) == 1) {
			hang_seconds = v;
		}
	}
	fclose(f);
	return SUCCESS;
}

static unit *nth(int slice, int index, int n) {
	int i;
	for (i = 0; i < nunits; i++)
		if (units[i].slice == slice && (slice ? units[i].index == index && n-- == 0 : units[i].index == index)) return &units[i];
	return NULL;
}

static ret_t text(unit *x, const char *s, char *to, unsigned int n) {
	if (lost[x->index]) return GPU_IS_LOST;
	if (strlen(s) >= n) return INSUFFICIENT_SIZE;
	strcpy(to, s);
	return SUCCESS;
}

ret_t nvmlInit_v2(void) { ret_t r = read_state(); return r ? r : init_answer; }
ret_t nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(ret_t r) { return r == GPU_IS_LOST ? "GPU is lost" : r ? "stand-in error" : "Success"; }

ret_t nvmlDeviceGetCount_v2(unsigned int *n) {
	int i;
	if (read_state()) return UNKNOWN;
	if (hang_seconds) sleep(hang_seconds);
	for (*n = 0, i = 0; i < nunits; i++) *n += !units[i].slice;
	return SUCCESS;
}
ret_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, void **d) {
	*d = nth(0, i, 0);
	return !*d ? INVALID_ARGUMENT : lost[i] ? GPU_IS_LOST : SUCCESS;
}
ret_t nvmlDeviceGetName(unit *x, char *s, unsigned int n) { return text(x, x->name, s, n); }
ret_t nvmlDeviceGetUUID(unit *x, char *s, unsigned int n) { return text(x, x->uuid, s, n); }
ret_t nvmlDeviceGetMemoryInfo(unit *x, memory_t *m) {
	/* as the real one, this version counts the driver's reserve */
	m->total = x->total; m->used = x->used + (600ull << 20); m->free = m->total - m->used;
	return SUCCESS;
}
ret_t nvmlDeviceGetMemoryInfo_v2(unit *x, memory2_t *m) {
	m->total = x->total; m->used = x->used; m->reserved = 600ull << 20; m->free = m->total - m->used - m->reserved;
	return SUCCESS;
}
ret_t nvmlDeviceGetUtilizationRates(unit *x, utilization_t *u) {
	if (x->slice || busy[x->index] < 0) return NOT_SUPPORTED; /* as the real one answers for slices */
	u->gpu = busy[x->index]; u->memory = 0;
	return SUCCESS;
}
ret_t nvmlDeviceGetComputeRunningProcesses_v3(unit *x, unsigned int *n, process_t *to) {
	unsigned int i, have = 0, room = *n;
	for (i = 0; i < (unsigned int)nprocs; i++)
		if (proc_device[i] == x->index && (!x->slice || proc_slice[i] < 0 || nth(1, x->index, proc_slice[i]) == x)) {
			if (have < room) to[have] = procs[i];
			have++;
		}
	*n = have;
	return have > room ? INSUFFICIENT_SIZE : SUCCESS;
}
ret_t nvmlDeviceGetMigMode(unit *x, unsigned int *now, unsigned int *later) {
	*now = *later = nth(1, x->index, 0) != NULL;
	return SUCCESS;
}
ret_t nvmlDeviceGetMaxMigDeviceCount(unit *x, unsigned int *n) { (void)x; *n = 7; return SUCCESS; }
ret_t nvmlDeviceGetMigDeviceHandleByIndex(unit *x, unsigned int i, void **d) {
	*d = nth(1, x->index, i);
	return *d ? SUCCESS : NOT_FOUND;
}
ret_t nvmlEventSetCreate(void **set) { *set = xids; return SUCCESS; }
ret_t nvmlEventSetFree(void *set) { (void)set; return SUCCESS; }
ret_t nvmlDeviceRegisterEvents(unit *x, unsigned long long types, void *set) { (void)x; (void)types; (void)set; return SUCCESS; }
ret_t nvmlEventSetWait_v2(void *set, event_t *e, unsigned int ms) {
	(void)set; (void)ms;
	if (read_state()) return TIMEOUT;
	if (told > nxids) told = 0; /* another test's state */
	if (told == nxids) return TIMEOUT;
	memset(e, 0, sizeof *e);
	e->device = nth(0, xids[told].index, 0); e->type = 8; e->data = xids[told++].code;
	return SUCCESS;
}
ret_t nvmlEventSetWait(void *set, event_t *e, unsigned int ms) { return nvmlEventSetWait_v2(set, e, ms); }

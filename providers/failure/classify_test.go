package failure

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func exit(n int) *int { return &n }

// ended is the evidence of a job that ended by itself.
func ended(code int, tail string) Evidence {
	return Evidence{Exit: exit(code), OOMKills: -1, HostOOMKills: 0, GPUs: true, Tail: []byte(tail)}
}

func TestText(t *testing.T) {
	// Requirement: FAIL-04, OOM-01
	t.Parallel()
	for tail, want := range map[string]string{
		"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.59 GiB total capacity)":                                                                              OOMGPU,
		"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.":                                                                                                    OOMGPU,
		"jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 B":                                                                        OOMGPU,
		"RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`":                                                                                    OOMGPU,
		"RuntimeError: CUDA error: out of memory":                                                                                                                                     OOMGPU,
		"torch.OutOfMemoryError: HIP out of memory. Tried to allocate 1 GiB":                                                                                                          OOMGPU,
		"slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch. Some of the step tasks have been OOM":                                                                       OOMHost,
		"Traceback (most recent call last):\n  x = [0] * 10**12\nMemoryError":                                                                                                         OOMHost,
		"numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array":                                                                                          OOMHost,
		"RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory":                                                                               OOMHost,
		"terminate called after throwing an instance of 'std::bad_alloc'":                                                                                                             OOMHost,
		"OSError: [Errno 12] Cannot allocate memory":                                                                                                                                  OOMHost,
		"fatal error: runtime: out of memory\n\nruntime stack:":                                                                                                                       OOMHost,
		"train: out of memory: 512 MiB needed, 256 MiB given":                                                                                                                         OOMHost,
		"RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. insufficient shared memory (shm)": OOMHost,
		"muster: the image does not see the GPUs of this machine: nvidia-smi in it: No devices were found":                                                                            MissingModule,
		"OSError: [Errno 28] No space left on device":                                                                                                                                 DiskFull,
		"cp: error writing 'x': No space left on device":                                                                                                                              DiskFull,
		"OSError: [Errno 122] Disk quota exceeded":                                                                                                                                    DiskFull,
		"lfs: file count quota reached":                                                                                                                                               NoInodes,
		"/usr/bin/env: ‘bash\\r’: No such file or directory\n/usr/bin/env: use -[v]S to pass options in shebang lines":                                                                MissingFile,
		"bash: ./a.sh: /bin/bash^M: bad interpreter: No such file or directory":                                                                                                       MissingFile,
		"a.sh: line 2: $'echo\\r': command not found":                                                                                                                                 MissingFile,
		"a.sh: line 2: syntax error near unexpected token `$'do\\r''":                                                                                                                 Unknown,
		"ModuleNotFoundError: No module named 'torch'":                                                                                                                                MissingModule,
		"ImportError: cannot import name 'x' from 'y'":                                                                                                                                MissingModule,
		"python: error while loading shared libraries: libcudart.so.12: cannot open shared object file: No such file or directory":                                                    MissingModule,
		"Error in library(ggplot2) : there is no package called 'ggplot2'":                                                                                                            MissingModule,
		"EnvironmentNameNotFound: Could not find conda environment: dllm":                                                                                                             MissingModule,
		"FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'":                                                                                                    MissingFile,
		"cat: x: No such file or directory":                                                                                                                                           MissingFile,
		"/bin/sh: 3: nvcc: not found":                                                                                                                                                 MissingFile,
		"bash: line 1: nvcc: command not found":                                                                                                                                       MissingFile,
		"python3: can't open file '/w/train.py': [Errno 2] No such file or directory":                                                                                                 MissingFile,
		"RuntimeError: loss is nan at step 300":                                                                                                                                       NaN,
		"ERROR: NaN in energy":                                                                                                                                                        NaN,
		"Energy is NaN! Exiting":                                                                                                                                                      NaN,
		"step 40: total energy = -nan":                                                                                                                                                NaN,
		"etot -nan(ind)":                                                                                                                                                              Unknown, // a name that no list has
		"energy: -1.#IND":                                                                                                                                                             NaN,
		"nan detected":                                                                                                                                                                NaN,
		"NaN or Inf found in input tensor":                                                                                                                                            NaN,
		"NaNs encountered at step 7":                                                                                                                                                  NaN,
		"detected a NaN, aborting":                                                                                                                                                    NaN,
		"NaN loss at epoch 3":                                                                                                                                                         NaN,
		"ERROR: nan":                                                                                                                                                                  NaN,
		"ValueError: The loss returned in `training_step` is nan.":                                                                                                                    NaN,
		"Batch 0: Invalid loss, terminating training":                                                                                                                                 NaN,
		"openmm.OpenMMException: Particle coordinate is NaN":                                                                                                                          NaN,
		"ERROR: Non-numeric pressure - simulation unstable":                                                                                                                           NaN,
		"RuntimeError: probability tensor contains either `inf`, `nan` or element < 0":                                                                                                NaN,
		"InvalidArgumentError: Tensor had NaN values":                                                                                                                                 NaN,
		"The total potential energy is nan, which is not finite.":                                                                                                                     NaN,
		"grad norm: inf":                                           NaN,
		"training diverged":                                        NaN,
		"divergence detected at step 90":                           NaN,
		"loss=inf":                                                 NaN,
		"took 300 nanoseconds, energy: nanojoules":                 Unknown,
		"NaN values dropped: 0":                                    Unknown,
		"0 NaNs detected in input":                                 Unknown,
		"no NaN found":                                             Unknown,
		"NaNs found: 0":                                            Unknown,
		"dropped 12 rows with NaN in the input":                    Unknown,
		"NaN in output: replaced by 0":                             Unknown,
		"found inf-dir, loading":                                   Unknown,
		"INFO loss: info is in the log":                            Unknown,
		"nan_policy = omit, loss 0.5":                              Unknown,
		"banana energy: bananas":                                   Unknown,
		"loss: 0.3 nan_count: 0":                                   Unknown,
		"AssertionError: Loss is NaN":                              NaN,
		"step 12: loss = nan, stopping":                            NaN,
		"FloatingPointError: Minimum loss scale reached (0.0001).": NaN,
		"ValueError: Input X contains NaN.":                        NaN,
		"RuntimeError: Function 'MulBackward0' returned nan values: non-finite gradients":             NaN,
		"[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)": NCCLHang,
		"RuntimeError: CUDA error: uncorrectable ECC error encountered":                               GPULost,
		// Seen on an H200 with driver 580.
		"cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 32,212,254,720 bytes (allocated so far: 128,849,018,880 bytes).": OOMGPU,
		"oom.cu:3: cudaMalloc: out of memory": OOMGPU,
		"torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1": OOMGPU,
		"numba.cuda.cudadrv.driver.CudaAPIError: [<CUresult.CUDA_ERROR_OUT_OF_MEMORY: 2>] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY":                                           OOMGPU,
		"jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 30.00GiB with allocator GPU_0_bfc on device 0.":                                             OOMGPU,
		"NVRM: Xid (PCI:0000:00:06): 31, pid=1239, name=python3, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS":                                                             Unknown,
		// Others' words for the same.
		"CUDA error at main.cu:12 code=2: out of memory":                                                            OOMGPU,
		"call to cuMemAlloc returned error 2: Out of memory":                                                        OOMGPU,
		"FATAL ERROR: CUDA error cudaMallocManaged in file CudaUtils.C on Pe 0: out of memory":                      OOMGPU,
		"ERROR: Out of GPU memory trying to allocate 1.000 GiB":                                                     OOMGPU,
		"ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 1GB memory":                          OOMGPU,
		"cudaMallocHost failed: out of memory":                                                                      OOMHost,
		"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.":                                               GPULost,
		"requests.exceptions.ConnectionError: HTTPSConnectionPool(host='hf.co'): Max retries exceeded with url: /x": Transport,
		"ssh: connect to host lab port 22: Connection timed out":                                                    Transport,
		"ValueError: shapes (3,4) and (5,) not aligned":                                                             Unknown,
		"everything is fine here":                                                                                   Unknown,
		"":                                                                                                          Unknown,
		"nanny: all good, banana":                                                                                   Unknown,
		"loss 0.5 Nantes":                                                                                           Unknown,
	} {
		t.Run(tail, func(t *testing.T) {
			t.Parallel()
			if v := Classify(ended(1, tail+"\n"), nil); v.Class != want {
				t.Errorf("got %s by rule %q, line %q", v.Class, v.Rule, v.Line)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	const oom = "RuntimeError: CUDA out of memory.\n"
	for _, c := range []struct {
		name string
		e    Evidence
		want string
	}{
		{"recovered and ended 0", ended(0, oom+"retrying with a batch of 8\ndone\n"), ""},
		{"recovered, then a bug", ended(1, oom+"retrying with a batch of 8\nTraceback (most recent call last):\nTypeError: unsupported operand\n"), Unknown},
		{"recovered, then a missing file", ended(1, oom+"retrying\nFileNotFoundError: [Errno 2] No such file or directory: 'x'\n"), MissingFile},
		{"other ranks cry later", ended(1, "[rank1]: "+oom+"[rank0]: NCCL communicator was aborted\nConnectionResetError: Connection reset by peer\n"), OOMGPU},
		{"launcher's last word", ended(1, oom+"torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"), OOMGPU},
		{"ended 0 without outputs, error swallowed", Evidence{Exit: exit(0), Outputs: "missing", Tail: []byte(oom)}, OOMGPU},
		{"ended 0 without outputs, recovered long ago", Evidence{Exit: exit(0), Outputs: "missing", Tail: []byte(oom + strings.Repeat("step\n", 100))}, BadOutput},
		{"ended 0 with a truncated output", Evidence{Exit: exit(0), Outputs: "output x: json: unexpected end at byte 7"}, BadOutput},
		{"ended 1 without outputs", Evidence{Exit: exit(1), Outputs: "output x: missing"}, Unknown},
		{"ended 0 with outputs at the walltime", Evidence{Exit: exit(0), WalltimeHit: true}, ""},
		{"ended 0 without outputs at the walltime", Evidence{Exit: exit(0), WalltimeHit: true, Outputs: "missing"}, Walltime},
		{"cancelled by us", Evidence{Signal: "TERM", CancelledByUs: true}, ""},
		{"reboot", Evidence{Rebooted: true, Tail: []byte(oom)}, NodeFailure},
		{"preempted", Evidence{Signal: "TERM", Preempted: true}, Preempted},
		{"walltime over text", Evidence{Signal: "KILL", WalltimeHit: true, Tail: []byte(oom)}, Walltime},
		{"Xid 79 over walltime", Evidence{Signal: "KILL", WalltimeHit: true, Xid: []int{31, 79}}, GPULost},
		{"a job without GPUs reads the kernel's log", Evidence{Exit: exit(1), Tail: []byte("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")}, Unknown},
		{"Xid 31 is the program's", Evidence{Exit: exit(1), Xid: []int{31}}, Unknown},
		{"slurm: out of memory", Evidence{Exit: exit(0), Signal: "KILL", Scheduler: "OUT_OF_MEMORY"}, OOMSched},
		{"slurm: timeout", Evidence{Exit: exit(0), Signal: "KILL", Scheduler: "TIMEOUT"}, Walltime},
		{"slurm: cancelled", Evidence{Signal: "TERM", Scheduler: "CANCELLED by 1001"}, CancelledOutside},
		{"slurm: cancelled, cut by a narrow column", Evidence{Signal: "TERM", Scheduler: "CANCELLED+"}, CancelledOutside},
		{"slurm: node fail", Evidence{Scheduler: "NODE_FAIL"}, NodeFailure},
		{"slurm: failed says nothing", Evidence{Exit: exit(1), Scheduler: "FAILED", Tail: []byte(oom)}, OOMGPU},
		{"kubernetes", Evidence{Exit: exit(137), Scheduler: "OOMKilled"}, OOMSched},
		{"cgroup counter", Evidence{Signal: "KILL", OOMKills: 1}, OOMHost},
		{"cgroup counter of a child", Evidence{Exit: exit(1), OOMKills: 1}, OOMHost},
		{"killed, cgroup says no", Evidence{Signal: "SIGKILL", OOMKills: 0, HostOOMKills: 3}, Killed},
		{"killed, machine ran out", Evidence{Signal: "KILL", OOMKills: -1, HostOOMKills: 1}, OOMHost},
		{"killed, machine did not", Evidence{Signal: "KILL", OOMKills: -1, HostOOMKills: 0}, Killed},
		{"exit 137", Evidence{Exit: exit(137), OOMKills: -1, HostOOMKills: 0}, Killed},
		{"exit 137, shell says Killed, no counters", Evidence{Exit: exit(137), OOMKills: -1, HostOOMKills: -1, Tail: []byte("run.sh: line 3: 77 Killed\n")}, Killed},
		{"gone without a word", Evidence{OOMKills: -1, HostOOMKills: -1, Gone: true, Tail: []byte("Killed\n")}, Killed},
		{"gone, and the machine ran out", Evidence{OOMKills: -1, HostOOMKills: 1, Gone: true}, OOMHost},
		{"gone, and its group ran out", Evidence{OOMKills: 1, HostOOMKills: 1, Gone: true}, OOMHost},
		{"gone with the machine", Evidence{OOMKills: -1, HostOOMKills: -1, Gone: true, Host: "the container was restarted"}, NodeFailure},
		{"gone, and had recovered from something", Evidence{OOMKills: -1, HostOOMKills: -1, Gone: true, Tail: []byte(oom + strings.Repeat("step\n", 100))}, Killed},
		{"exit 137 of docker, machine killed for memory", Evidence{Exit: exit(137), OOMKills: -1, HostOOMKills: 1, Container: "docker"}, OOMSched},
		{"exit 137 of docker, and not from the job's own group", Evidence{Exit: exit(137), OOMKills: 0, HostOOMKills: 1, Container: "docker"}, OOMSched},
		{"exit 137 of docker, from the job's own group", Evidence{Exit: exit(137), OOMKills: 1, HostOOMKills: 1, Container: "docker"}, OOMHost},
		{"exit 137 of docker, nothing was killed for memory", Evidence{Exit: exit(137), OOMKills: -1, HostOOMKills: 0, Container: "docker"}, Killed},
		{"a container's text", ended(1, "Container killed due to memory usage\n"), OOMSched},
		{"a container's other text", ended(1, "ERROR: container train-1 was killed: out of memory\n"), OOMSched},
		{"kubectl", ended(1, "Last State: Terminated, Reason: OOMKilled, Exit Code: 137\n"), OOMSched},
		{"a container with words to say", ended(1, "container of results exceeds its size\n"), Unknown},
		{"nothing said, its disk is full", Evidence{Exit: exit(1), NoRoom: DiskFull}, DiskFull},
		{"nothing said, no inodes", Evidence{Exit: exit(0), Outputs: "output x: not there", NoRoom: NoInodes}, NoInodes},
		{"it says that no space is left, and there are no inodes", Evidence{Exit: exit(1), Tail: []byte("touch: cannot touch 'x': No space left on device\n"), NoRoom: NoInodes}, NoInodes},
		{"it says that no space is left, and no bytes are", Evidence{Exit: exit(1), Tail: []byte("touch: cannot touch 'x': No space left on device\n"), NoRoom: DiskFull}, DiskFull},
		{"a device's memory, and no inodes", Evidence{Exit: exit(1), Tail: []byte(oom), NoRoom: NoInodes}, OOMGPU},
		{"a write is refused, and the workdir is not writable", Evidence{Exit: exit(2), Tail: []byte("sh: 1: cannot create out/x: Permission denied\n"), NoRoom: Unwritable}, Unwritable},
		{"a write is refused, and the workdir is read-only", Evidence{Exit: exit(1), Tail: []byte("OSError: [Errno 30] Read-only file system: 'x'\n"), NoRoom: Unwritable}, Unwritable},
		{"a write is refused, and the workdir is writable", Evidence{Exit: exit(2), Tail: []byte("sh: 1: cannot create /x: Permission denied\n")}, Unknown},
		{"nothing said, the workdir is not writable", Evidence{Exit: exit(0), Outputs: "output x: not there", NoRoom: Unwritable}, Unwritable},
		{"a module is missing, and the workdir is not writable", Evidence{Exit: exit(1), Tail: []byte("ModuleNotFoundError: No module named 'x'\n"), NoRoom: Unwritable}, MissingModule},
		{"killed in a workdir that is not writable", Evidence{Signal: "KILL", OOMKills: -1, NoRoom: Unwritable}, Killed},
		{"a crash on a full disk", Evidence{Signal: "BUS", NoRoom: DiskFull}, DiskFull},
		{"killed on a full disk", Evidence{Signal: "KILL", OOMKills: -1, NoRoom: DiskFull}, Killed},
		{"a device's memory, and a full disk", Evidence{Exit: exit(1), Tail: []byte(oom), NoRoom: DiskFull}, OOMGPU},
		{"exit 143", Evidence{Exit: exit(143)}, Killed},
		{"recovered, later killed", Evidence{Signal: "KILL", Tail: []byte(oom + strings.Repeat("step\n", 100))}, Killed},
		{"infinite gradients at first, later killed", Evidence{Signal: "KILL", Tail: []byte("grad_norm: inf\n" + strings.Repeat("step\n", 100))}, Killed},
		{"infinite gradients at first, later exit 1", ended(1, "grad_norm: inf\n"+strings.Repeat("step\n", 100)), Unknown},
		{"infinite gradients at last", ended(1, "grad_norm: inf\nstopping\n"), NaN},
		{"segmentation fault", Evidence{Signal: "SEGV"}, Unknown},
		{"file size limit", Evidence{Signal: "XFSZ"}, DiskFull},
		{"exit 127", Evidence{Exit: exit(127)}, MissingFile},
		{"no exit status", Evidence{}, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := Classify(c.e, nil)
			if v.Class != c.want || (v.Class != "") != (v.Signature != "") {
				t.Errorf("got %+v, want %q", v, c.want)
			}
		})
	}
}

func TestOwnRules(t *testing.T) {
	t.Parallel()
	rules := []Rule{
		{Name: "velocity_limit", Match: `velocity of atom \d+ exceeds`, Action: "hold", Hint: "raise minimize steps"},
		{Name: "license", Match: "^no license$", Exit: []int{42}, Class: Transport, Action: "retry"},
		{Name: "broken", Match: "("},
		{Name: "empty"},
		{Name: "long", Match: strings.Repeat("x", maxPattern+1)},
	}
	c, err := Compile(rules)
	if err == nil || strings.Count(err.Error(), "failure \"") != 3 {
		t.Errorf("compile: %v", err)
	}
	for _, x := range []struct {
		e    Evidence
		want string
	}{
		{ended(1, "CUDA out of memory\nERROR: velocity of atom 12 exceeds the limit\n"), "velocity_limit by velocity_limit, hold, line \"ERROR: velocity of atom 12 exceeds the limit\""},
		{ended(0, "velocity of atom 12 exceeds\n"), " by , , line \"\""},
		{ended(42, "who knows\n"), "transport by license, retry, line \"who knows\""},
		{ended(1, "x\nno license\ny\n"), "transport by license, retry, line \"no license\""},
		{Evidence{Scheduler: "TIMEOUT", Tail: []byte("velocity of atom 9 exceeds")}, "velocity_limit by velocity_limit, hold, line \"velocity of atom 9 exceeds\""},
		{ended(1, "CUDA out of memory\n"), "oom_gpu by gpu memory, , line \"CUDA out of memory\""},
	} {
		v := c.Classify(x.e)
		if got := fmt.Sprintf("%s by %s, %s, line %q", v.Class, v.Rule, v.Action, v.Line); got != x.want {
			t.Errorf("got %s\nwant %s", got, x.want)
		}
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{"CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 1.2 GiB free)", "CUDA out of memory. Tried to allocate 512.00 MiB (GPU 3; 0 MiB free)"},
		{"ValueError: bad value 0.5 at 0x7ffeab12", "ValueError: bad value 12 at 0x7ff000"},
		{"FileNotFoundError: [Errno 2] No such file or directory: 'out/a/x.csv'", "FileNotFoundError: [Errno 2] No such file or directory: 'out/b/y.csv'"},
		{"2026-10-01 09:00:00 ERROR step 3 failed", "2026-10-02 10:11:12 ERROR step 17 failed"},
	}
	for _, p := range same {
		a, b := Classify(ended(1, p[0]+"\nbye\n"), nil), Classify(ended(1, p[1]+"\nbye\n"), nil)
		if a.Signature != b.Signature {
			t.Errorf("%q\n%q", a.Signature, b.Signature)
		}
	}
	a, b := Classify(ended(1, "ValueError: one\n"), nil), Classify(ended(1, "TypeError: two\n"), nil)
	if a.Signature == b.Signature {
		t.Errorf("two errors share %q", a.Signature)
	}
	if v := Classify(ended(3, ""), nil); v.Signature != "unknown: exit 3" {
		t.Errorf("without a log: %q", v.Signature)
	}
	if v := Classify(Evidence{WalltimeHit: true, Tail: []byte("step 3\n")}, nil); v.Signature != "walltime" {
		t.Errorf("walltime: %q", v.Signature)
	}
}

func TestLineIsClean(t *testing.T) {
	t.Parallel()
	v := Classify(ended(1, " 50%|###\r\x1b[31mValueError\x1b[0m: \x07bad\u202e \xff\tvalue\x1b]0;title\x07\r\n"), nil)
	if v.Line != "ValueError: bad \uFFFD value" {
		t.Errorf("%q", v.Line)
	}
	v = Classify(ended(1, "ValueError: "+strings.Repeat("é", 5000)), nil)
	if n := utf8.RuneCountInString(v.Line); n != maxLine {
		t.Errorf("%d characters", n)
	}
}

// TestLineOfTheShell: what the shell says of a command does not name the files by
// which the wrapper runs it.
func TestLineOfTheShell(t *testing.T) {
	t.Parallel()
	const spool, token = "/home/me/my spool/queue/h-34e37c21", "a512b02d45791f996f42e7a3f40dc12b"
	for line, want := range map[string]string{
		spool + "/wrapper-ef1f6e03.sh: 1: " + spool + "/jobs/" + token + ".0/cmd: train: not found":      "line 1: train: not found",
		spool + "/wrapper-ef1f6e03.sh: 58: exec: train: not found":                                       "train: not found",
		spool + "/wrapper-ef1f6e03.sh: line 58: exec: train: not found":                                  "train: not found",
		spool + "/wrapper-ef1f6e03.sh: 2: cd: can't cd to /nowhere":                                      "cd: can't cd to /nowhere",
		spool + "/wrapper-ef1f6e03.sh: 14: " + spool + "/jobs/" + token + ".0/before: module: not found": "setup: module: not found",
		spool + "/jobs/" + token + ".0/before: line 14: module: command not found":                       "setup: module: command not found",
		"line 3: train: not found":                                           "line 3: train: not found",
		spool + "/jobs/" + token + ".0/cmd: 3: train: not found":             "line 3: train: not found",
		spool + "/run/" + token + ".2/cmd: line 3: train: command not found": "line 3: train: command not found",
		"/home/me/run/mine/cmd: line 3: train: command not found":            "/home/me/run/mine/cmd: line 3: train: command not found",
		"/bin/sh: 3: nvcc: not found":                                        "/bin/sh: 3: nvcc: not found",
	} {
		if v := Classify(ended(127, line+"\n"), nil); v.Line != want || v.Class != MissingFile {
			t.Errorf("%s: %s, %q, want %q", line, v.Class, v.Line, want)
		}
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	for _, class := range Known() {
		if !Is(class, class) || Is(class, OOM) != strings.HasPrefix(class, "oom_") || Is(OOM, class) {
			t.Errorf("%s", class)
		}
	}
}

// FuzzClassify: whatever the log says, there is one known class, clean text,
// and an answer in bounded time.
func FuzzClassify(f *testing.F) {
	f.Add([]byte("RuntimeError: CUDA out of memory\n"), 1, "", "FAILED")
	f.Add([]byte("\xff\x1b[31m\rNaN"), 137, "KILL", "OUT_OF_MEMORY")
	f.Add([]byte(strings.Repeat("loss is nan error ", 4000)), 1, "", "")
	own, _ := Compile([]Rule{{Name: "own", Match: `(a+)+b|\bloss (\w+ ){3}`}})
	f.Fuzz(func(t *testing.T, tail []byte, code int, signal, state string) {
		e := Evidence{Exit: &code, Signal: signal, Scheduler: state, Tail: tail, OOMKills: -1}
		v := own.Classify(e)
		for late := 0; took(func() { own.Classify(e) }) > 5*time.Second; late++ {
			if late == 2 { // a machine that stood still does not do so each time
				t.Fatal("it takes more than 5 s")
			}
		}
		if !utf8.ValidString(v.Line) || strings.ContainsAny(v.Line, "\x1b\n\r\x00") || !utf8.ValidString(v.Signature) {
			t.Errorf("unclean: %+v", v)
		}
		if (code == 0 && signal == "") != (v.Class == "") {
			t.Errorf("exit %d %q: %+v", code, signal, v)
		}
	})
}

func took(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

func BenchmarkClassifyLongLog(b *testing.B) {
	e := ended(1, strings.Repeat("step 17 of 3000: loss = 0.25, grad norm 1.0, no error found in file data/train.csv\n", 900)+"ValueError: bad\n")
	own, _ := Compile([]Rule{{Name: "own", Match: `velocity of atom \d+ exceeds`}})
	for b.Loop() {
		own.Classify(e)
	}
}

// TestXidOfTheProgram says what an Xid is that a program caused, and keeps a better hint.
func TestXidOfTheProgram(t *testing.T) {
	t.Parallel()
	const fault = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
	v := Classify(Evidence{Exit: exit(1), GPUs: true, Xid: []int{31}, Tail: []byte(fault)}, nil)
	if v.Class != Unknown || !strings.Contains(v.Hint, "Xid 31, a page fault") || !strings.Contains(v.Line, "illegal memory access") {
		t.Errorf("Xid 31 gives %+v", v)
	}
	if v := Classify(Evidence{Signal: "SEGV", Xid: []int{31}}, nil); !strings.Contains(v.Hint, "SEGV") {
		t.Errorf("a crash with Xid 31 gives %+v", v)
	}
}

func TestTelling(t *testing.T) {
	t.Parallel()
	torch := []string{"torch.AcceleratorError: CUDA error: device-side assert triggered", "For debugging consider passing CUDA_LAUNCH_BLOCKING=1", "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.", ""}
	checked := []string{"Error: retrying", "done", "output model: not there"}
	for _, c := range []struct {
		tail []string
		exit *int
		want string
	}{
		{torch, exit(1), torch[0]},
		{torch, nil, torch[0]},
		{[]string{"step 1", "bye", " "}, exit(2), "bye"},
		{checked, exit(0), checked[2]},
		{nil, exit(1), ""},
		{[]string{"", "  "}, exit(0), ""},
	} {
		if got := Telling(c.tail, c.exit); got != c.want {
			t.Errorf("%q with %v: %q, want %q", c.tail, c.exit, got, c.want)
		}
	}
}

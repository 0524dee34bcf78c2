package wrapper

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A Start is the part of the environment that differs between starts.
type Start struct {
	Shape   *offer.Shape // as scaled for this launch; nil = as asked
	Folder  Folder
	Restart int
	Plain   bool // the command may be sourced; see Plain
	Launch  string
	// Claim is the file whose exclusive creation claims the token, where
	// several machines share the spool; "" on a machine of its own.
	Claim string
	Lists map[string]string // input name → list file
	GPUs  []string          // indexes or UUIDs
	Hosts []string          // of the job, the first the one where it starts; none = this machine alone
}

// Attempt is the number of a start: the launches of its job before it, under
// its token and others, and itself.
func Attempt(j *providers.Job, restart int) int { return max(j.Attempt, 1) + restart }

// Environ is the whole environment of a job: base, then the job's own, then
// muster's. A later value of a name wins.
func Environ(j *providers.Job, base []providers.EnvVar, s Start) []string {
	env := newEnviron(len(base) + len(j.Env) + 16)
	for _, v := range base {
		env.set(v.Name, v.Value)
	}
	shape := j.Shape
	if s.Shape != nil {
		shape = *s.Shape
	}
	if cpus := shape.CPUs; cpus > 0 {
		env.set("OMP_NUM_THREADS", strconv.Itoa(cpus))
	}
	for _, v := range j.Env {
		env.set(v.Name, v.Value)
	}
	env.set("PWD", j.Dir)
	env.set("MUSTER_TOKEN", j.Token)
	attempt := Attempt(j, s.Restart)
	env.set("MUSTER_RESTART", strconv.Itoa(attempt-1))
	env.set("MUSTER_ATTEMPT", strconv.Itoa(attempt))
	env.set("MUSTER_ADDRESS", j.Address)
	env.set("MUSTER_PHASE", j.Phase)
	env.set("MUSTER_NAME", j.Name)
	env.set("MUSTER_WORKDIR", j.Workdir)
	env.set("MUSTER_JOB", string(s.Folder))
	env.set("MUSTER_LAUNCH", s.Launch)
	limits(env, shape)
	if s.Claim != "" {
		env.set("MUSTER_CLAIM", s.Claim)
	}
	if j.Umask != nil {
		env.set("MUSTER_UMASK", fmt.Sprintf("%04o", *j.Umask))
	}
	if s.Plain {
		env.set("MUSTER_PLAIN", "1")
	}
	if j.Smoke {
		env.set("MUSTER_SMOKE", "1")
	}
	if len(s.GPUs) > 0 { // else the scheduler names none, and the job has those of its nodes
		env.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID") // so that indexes are nvidia-smi's
		env.set("CUDA_VISIBLE_DEVICES", strings.Join(s.GPUs, ","))
	}
	setPaths(env, j, s)
	return env.list
}

// setPaths sets the variables for a command's inputs, outputs, nodes, scratch folder
// and checkpoint.
func setPaths(env *environ, j *providers.Job, s Start) {
	for _, in := range j.Inputs {
		value := s.Lists[in.Name]
		if value == "" && len(in.Paths) == 1 {
			value = in.Paths[0]
		}
		env.set("MUSTER_INPUT_"+upper(in.Name), value)
		if in.Partial {
			env.set("MUSTER_INPUT_"+upper(in.Name)+"_MISSING", MissingFile(value))
		}
	}
	for _, out := range j.Outputs {
		env.set("MUSTER_OUTPUT_"+upper(out.Name), OutputPath(j.Workdir, out))
	}
	if len(s.Hosts) > 0 {
		values := hostValues(j, s.Hosts)
		env.set("MUSTER_HOSTS", values["hosts"])
		env.set("MUSTER_MASTER", values["master"])
		env.set("MUSTER_NODES", values["nodes"])
		env.set("MUSTER_PORT", values["port"])
	}
	if j.Scratch != nil {
		env.set("MUSTER_SCRATCH", j.Scratch.Folder)
	}
	if j.Checkpoint.Path != "" {
		env.set("MUSTER_CHECKPOINT", CheckpointPath(j))
		if d := j.Checkpoint.Interval; d > 0 {
			env.set("MUSTER_CHECKPOINT_INTERVAL", strconv.FormatInt(int64(d.Seconds()), 10))
		}
		if n := j.Checkpoint.Steps; n > 0 {
			env.set("MUSTER_CHECKPOINT_STEPS", strconv.FormatInt(n, 10))
		}
	}
}

// MissingFile is the file beside an input's list that names the missing producers.
func MissingFile(list string) string { return list + ".missing" }

// limits gives the job its resources, as scaled for this launch: cores, bytes, devices,
// seconds. It does not set those that the campaign left out.
func limits(env *environ, s offer.Shape) {
	for _, v := range []struct {
		name  string
		value int64
	}{{"MUSTER_CPUS", int64(s.CPUs)}, {"MUSTER_MEMORY", s.Memory}, {"MUSTER_GPUS", int64(s.GPUs)}, {"MUSTER_WALLTIME", int64(s.Walltime.Seconds())}} {
		if v.value > 0 {
			env.set(v.name, strconv.FormatInt(v.value, 10))
		}
	}
}

// OutputPath is the path of an output for the command: its absolute path, for a glob the
// folder before the first wildcard.
func OutputPath(workdir string, o providers.Output) string {
	path := absolute(workdir, o.Path)
	if o.Kind != "glob" {
		return path
	}
	return folderOf(path)
}

// CheckpointPath is the path of a job's checkpoint for the command, as that of an output.
func CheckpointPath(j *providers.Job) string {
	path := absolute(j.Workdir, j.Checkpoint.Path)
	if !j.Checkpoint.Glob {
		return path
	}
	return folderOf(path)
}

// folderOf is the folder before the first wildcard of a pattern.
func folderOf(path string) string {
	if i := strings.IndexAny(path, "*?[{"); i >= 0 {
		path = path[:i]
	}
	return filepath.Dir(path + "x")
}

func absolute(workdir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(workdir, path)
}

// upper makes a variable's name of an input's or output's.
func upper(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// environ is a list of NAME=value in which each name occurs once.
type environ struct {
	list []string
	at   map[string]int
}

func newEnviron(n int) *environ {
	return &environ{list: make([]string, 0, n), at: make(map[string]int, n)}
}

func (e *environ) set(name, value string) {
	if i, ok := e.at[name]; ok {
		e.list[i] = name + "=" + value
		return
	}
	e.at[name] = len(e.list)
	e.list = append(e.list, name+"="+value)
}

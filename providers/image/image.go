// Package image runs a job inside a container image with apptainer or
// singularity, on the machine where its wrapper starts it. Both run the
// container as the job's own processes, so that signals, memory limits and exit
// codes apply to the job. docker and podman do not; a command may start those
// itself.
package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
)

// runtimes are the programs that run an image; the first one on PATH does.
const runtimes = "apptainer singularity"

// Ref is an image for the runtime: a path, made absolute from the workdir, or a URI. Anything
// else is a name in a registry, as docker takes it.
func Ref(workdir, image string) (ref string, file bool) {
	switch {
	case strings.Contains(image, "://"):
		return image, false
	case strings.HasPrefix(image, "~/"):
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, image[2:]), true
		}
		return image, true
	case filepath.IsAbs(image):
		return filepath.Clean(image), true
	case strings.HasPrefix(image, "./"), strings.HasPrefix(image, "../"), strings.HasSuffix(image, ".sif"), strings.HasSuffix(image, ".simg"):
		return filepath.Join(workdir, image), true
	}
	return "docker://" + image, false
}

// Pin is the digest in an image's name, "sha256:" and 64 hexadecimal digits as the OCI image
// specification has them; "" where there is none.
func Pin(ref string) string {
	_, digest, _ := strings.Cut(ref, "@")
	if text, ok := strings.CutPrefix(digest, "sha256:"); !ok || len(text) != 64 || strings.Trim(text, "0123456789abcdef") != "" {
		return ""
	}
	return digest
}

// Missing says why an image that is a file could not be run, "" if it could or
// is none: that there is no such file, or that it cannot be read.
func Missing(workdir, image string) (what, why string) {
	ref, file := Ref(workdir, image)
	if image == "" || !file {
		return "", ""
	}
	fi, err := os.Stat(ref)
	if err == nil {
		need := uint32(unix.R_OK)
		if fi.IsDir() { // a sandbox
			need |= unix.X_OK
		}
		err = unix.Access(ref, need)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "A container image is not there", "there is no file " + ref
	case err != nil:
		return "A container image cannot be read", ref + ": " + err.Error()
	}
	return "", ""
}

// Remote is the warning about an image in a registry, "" for any other: the runtime downloads
// it when a job starts.
func Remote(workdir, image string) (what, why string) {
	ref, file := Ref(workdir, image)
	if image == "" || file {
		return "", ""
	}
	why = ref + " is downloaded when a job starts, which fails if it is not available"
	if Pin(ref) == "" {
		why += ", and its tag may come to mean other bytes, which re-runs nothing: pin it (NAME@sha256:…)"
	}
	return "An image comes from a registry", why + "; `apptainer pull` makes a file of it once"
}

// Script is shell source that replaces the shell with a job's command inside its image: the
// words in "$@", or the file cmd of the job's folder. The workdir, the current directory and
// the job's inputs keep their paths, and the environment is the same.
func Script(j *providers.Job) string {
	ref, _ := Ref(j.Workdir, j.Image)
	var b strings.Builder
	fmt.Fprintf(&b, `if [ $# -eq 0 ]; then set -- /bin/sh "$MUSTER_JOB/cmd"; fi
for _muster in %s ""; do command -v "$_muster" >/dev/null 2>&1 && break; done
if [ -z "$_muster" ]; then %s; fi
`, runtimes, none)
	if j.Shape.GPUs > 0 {
		fmt.Fprintf(&b, seesGPUs, shell.Enclose(ref))
	}
	b.WriteString(`exec "$_muster" exec`)
	if j.Shape.GPUs > 0 {
		b.WriteString(" --nv")
	}
	fmt.Fprintf(&b, " --pwd %s --bind \"$MUSTER_JOB\"", shell.Enclose(j.Dir))
	for _, path := range seen(j) {
		b.WriteString(" --bind " + shell.Enclose(path))
	}
	b.WriteString(" " + shell.Enclose(ref) + " \"$@\"\n")
	return b.String()
}

// seesGPUs is shell source that ends a job whose image does not see the GPUs that the machine
// lists: many programs then compute on the CPU, a hundred times slower, without a word. The
// statuses are those of nvidia-smi(1); any other is the runtime's, whose next call shows why,
// or says that there is no nvidia-smi in the image to ask.
const seesGPUs = `if nvidia-smi -L >/dev/null 2>&1; then
	if _said=$("$_muster" exec --nv %s nvidia-smi -L 2>&1 </dev/null); then :; else
		case $? in [2-9]|1[0-5])
			printf 'muster: the image does not see the GPUs of this machine: nvidia-smi in it: %%s\n' "$_said" >&2
			exit 1;;
		esac
	fi
fi
`

// none says in the job's log, and to preflight, that nothing runs images.
const none = `echo "apptainer: not found, nor singularity: the job has an image, and nothing on PATH here runs it" >&2; exit 127`

// Trial is shell source that fails where Script would find no runtime.
func Trial() string {
	return "for _muster in " + runtimes + ` ""; do command -v "$_muster" >/dev/null 2>&1 && break; done; if [ -z "$_muster" ]; then ` + none + `; fi`
}

// seen are the folders of a job that its container has to see.
func seen(j *providers.Job) (out []string) {
	add := func(path string) {
		path = filepath.Clean(path)
		for i, have := range out {
			if path == have || strings.HasPrefix(path, strings.TrimSuffix(have, "/")+"/") {
				return
			}
			if strings.HasPrefix(have, strings.TrimSuffix(path, "/")+"/") {
				out[i] = path
				return
			}
		}
		out = append(out, path)
	}
	add(j.Workdir)
	add(j.Dir)
	for _, in := range j.Inputs {
		for _, p := range in.Paths {
			if filepath.IsAbs(p) {
				add(filepath.Dir(p))
			}
		}
		if filepath.IsAbs(in.List) {
			add(filepath.Dir(in.List))
		}
	}
	if j.Scratch != nil && j.Scratch.Folder != "" {
		add(j.Scratch.Folder)
	}
	if path := j.Checkpoint.Path; filepath.IsAbs(path) {
		if i := strings.IndexAny(path, "*?[{"); i >= 0 && j.Checkpoint.Glob {
			path = path[:i] + "x"
		}
		add(filepath.Dir(path))
	}
	for _, o := range j.Outputs {
		if !filepath.IsAbs(o.Path) {
			continue
		}
		path := o.Path
		if i := strings.IndexAny(path, "*?[{"); i >= 0 && o.Kind == "glob" {
			path = path[:i] + "x"
		}
		add(filepath.Dir(path))
	}
	return out
}

// Wrong says why a job cannot run in its image, "" if it could: a runtime
// takes "," and ":" in a folder's path for its own.
func Wrong(j *providers.Job) string {
	if strings.ContainsAny(j.Image, "\n\x00") || strings.HasPrefix(j.Image, "-") {
		return fmt.Sprintf("%q is no image", j.Image)
	}
	for _, path := range seen(j) {
		if strings.ContainsAny(path, ",:") {
			return fmt.Sprintf("the folder %s, which its container has to see, has %q or %q in its name", path, ",", ":")
		}
	}
	return ""
}

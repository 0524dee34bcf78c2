package attempt

import (
	"testing"

	"github.com/muster-run/muster/providers"
)

func TestContainer(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"docker run --rm --memory 4g img python train.py": "docker",
		"set -e\n/usr/bin/podman run img":                 "podman",
		"true && nerdctl run img":                         "nerdctl",
		"docker compose up":                               "docker",
		"apptainer exec img.sif python train.py":          "", // its processes are the job's own
		"apptainer exec --nv --memory 4G img.sif python":  "apptainer",
		"python train.py --runner docker":                 "",
		"cat docker run.txt":                              "",
		"mydocker run img":                                "",
		"./train":                                         "",
	} {
		t.Run(command, func(t *testing.T) {
			if got := Container(&providers.Job{Shell: command}); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if got := Container(&providers.Job{Argv: []string{"/opt/bin/docker", "run", "img"}}); got != "docker" {
		t.Errorf("of arguments: %q", got)
	}
}

package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/image"
)

// An unfit error says why a job's nodes cannot work together: its command did not begin.
type unfit struct{ why string }

func (u *unfit) Error() string { return u.why }

// preflightTime bounds the check of a job's nodes.
const preflightTime = time.Minute

// preflight checks the nodes of a job on several before its command begins: a node that does not
// answer would hang all of them until a collective times out. Where the job may start with fewer,
// it leaves out the unfit ones.
func (c *command) preflight() error {
	span, ok := c.allocation.scheduler.(scheduler.Spanner)
	if !ok || len(c.hosts) < 2 {
		return nil
	}
	folder := c.spool.path("run", RecordName(c.job.Token, c.begin.Restart)+".check")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("check of the nodes: %w", err)
	}
	defer os.RemoveAll(folder)
	file := ""
	if ref, is := image.Ref(c.job.Workdir, c.job.Image); is && c.job.Image != "" {
		file = ref
	}
	argv := append(slices.Clone(c.allocation.program), "-check", folder, "-nodes", strconv.Itoa(len(c.hosts)), "-image", file)
	said, err := everywhere(span.Each(c.hosts, argv))
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintf(os.Stderr, "muster: the nodes were not checked: %v\n", err)
		return nil
	}
	names := make([]string, len(c.hosts))
	for i, h := range c.hosts {
		names[i] = shortName(h)
	}
	bad := unfitNodes(names, reports(folder, ".done"))
	if len(bad) == 0 {
		return nil
	}
	fit := slices.DeleteFunc(slices.Clone(c.hosts), func(h string) bool { return bad[shortName(h)] != "" })
	text := wordsOf(bad)
	if len(bad) == len(c.hosts) && said != "" {
		text = said
	}
	if least := c.job.Shape.MinNodes; least > 0 && len(fit) >= least && fit[0] == c.hosts[0] {
		fmt.Fprintf(os.Stderr, "muster: starts on %s of %d: %s\n", units.Count(len(fit), "node"), len(c.hosts), text)
		c.hosts = fit
		return nil
	}
	return &unfit{"the job's nodes cannot work together, so its command was not started: " + text}
}

// everywhere runs a command to its end, and returns the end of its output.
func everywhere(argv []string) (said string, err error) {
	ctx, stop := context.WithTimeout(context.Background(), preflightTime)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = subprocess.Run(cmd)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return lines[len(lines)-1], err
}

// wordsOf names unfit nodes, each with its reason.
func wordsOf(bad map[string]string) string {
	const most = 5
	var out []string
	for i, host := range slices.Sorted(maps.Keys(bad)) {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(bad)-most))
			break
		}
		out = append(out, host+" "+bad[host])
	}
	return strings.Join(out, "; ")
}

// unfitNodes are the nodes that differ from most of the others, or that others do not reach, with
// why.
func unfitNodes(hosts []string, all []nodeReport) map[string]string {
	bad := map[string]string{}
	of := map[string]*nodeReport{}
	for i := range all {
		of[all[i].Host] = &all[i]
	}
	for _, h := range hosts {
		switch r := of[h]; {
		case r == nil:
			bad[h] = "did not answer within " + units.FormatDuration(preflightTime)
		case r.Switched && !r.Fabric:
			bad[h] = "has NVSwitches, and no fabric manager runs on it"
		}
	}
	differ(hosts, of, bad, "the NVIDIA driver", func(r *nodeReport) string { return r.Driver })
	differ(hosts, of, bad, "the image", func(r *nodeReport) string { return r.Image })
	differ(hosts, of, bad, "network interfaces", interfacesOf)
	blocked := map[string][]string{}
	for _, r := range all {
		for peer := range r.Lost {
			if bad[peer] == "" && bad[r.Host] == "" {
				blocked[peer] = append(blocked[peer], r.Host)
			}
		}
	}
	// The node that most others cannot reach is the one at fault.
	for len(blocked) > 0 {
		worst := slices.MaxFunc(slices.Sorted(maps.Keys(blocked)), func(a, b string) int { return len(blocked[a]) - len(blocked[b]) })
		from := blocked[worst][0]
		bad[worst] = "cannot be reached from " + strings.Join(blocked[worst], ", ") + ": " + of[from].Lost[worst]
		delete(blocked, worst)
		for peer, list := range blocked {
			if list = slices.DeleteFunc(list, func(h string) bool { return h == worst }); len(list) == 0 {
				delete(blocked, peer)
			} else {
				blocked[peer] = list
			}
		}
	}
	return bad
}

// interfacesOf is a text that is equal for nodes with the same interfaces and MTUs.
func interfacesOf(r *nodeReport) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Interfaces)) {
		out = append(out, fmt.Sprintf("%s (MTU %d)", name, r.Interfaces[name]))
	}
	return strings.Join(out, ", ")
}

// differ marks the nodes that have something else than most; of as many the first node is right.
func differ(hosts []string, of map[string]*nodeReport, bad map[string]string, what string, value func(*nodeReport) string) {
	count := map[string]int{}
	usual := ""
	for _, h := range hosts {
		if r := of[h]; r != nil {
			count[value(r)]++
		}
	}
	for _, h := range hosts {
		if r := of[h]; r != nil && (usual == "" && count[usual] == 0 || count[value(r)] > count[usual]) {
			usual = value(r)
		}
	}
	none := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
	for _, h := range hosts {
		if r := of[h]; r != nil && bad[h] == "" && value(r) != usual {
			bad[h] = fmt.Sprintf("differs in %s: %s there, %s on most", what, none(value(r)), none(usual))
		}
	}
}

// shortName is a host's name without its domain: schedulers print either.
func shortName(host string) string {
	name, _, _ := strings.Cut(host, ".")
	return name
}

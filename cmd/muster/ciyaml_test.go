package main

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// pinned is an action by commit, with its version as a remark.
var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40} # v[0-9.]+$`)

// githubJobs reads a workflow of GitHub Actions, as far as the examples go.
func githubJobs(t *testing.T, text []byte) []ciJob {
	t.Helper()
	var doc struct {
		On          map[string]any
		Permissions map[string]string
		Defaults    struct{ Run struct{ Shell string } }
		Env         map[string]string
		Jobs        map[string]struct {
			If          string
			Concurrency struct {
				Group  string
				Cancel bool `yaml:"cancel-in-progress"`
			}
			Timeout int `yaml:"timeout-minutes"`
			Steps   []struct {
				Uses, If, Run string
				Env           map[string]string
				With          map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, use := range regexp.MustCompile(`uses: (.*)`).FindAllStringSubmatch(string(text), -1) {
		if !pinned.MatchString(use[1]) {
			t.Errorf("%s may become another action: pin it by commit, with its version as a remark", use[1])
		}
	}
	for _, event := range []string{"pull_request", "push", "schedule", "workflow_dispatch"} {
		if _, ok := doc.On[event]; !ok {
			t.Errorf("not on %s", event)
		}
	}
	if doc.Permissions["contents"] != "read" || len(doc.Permissions) != 1 || doc.Defaults.Run.Shell != "bash" {
		t.Errorf("permissions %v, shell %q", doc.Permissions, doc.Defaults.Run.Shell)
	}
	var out []ciJob
	for name, j := range doc.Jobs {
		job := ciJob{name: name, when: j.If, alone: j.Concurrency.Group, kills: j.Concurrency.Cancel}
		if j.Timeout == 0 || len(j.Steps) == 0 || !strings.HasPrefix(j.Steps[0].Uses, "actions/checkout@") || j.Steps[0].With["persist-credentials"] != "false" {
			t.Errorf("job %s: no limit of time, or no checkout first, or one that leaves a token on the runner", name)
		}
		for _, s := range j.Steps {
			if strings.HasPrefix(s.Uses, "actions/upload-artifact@") {
				job.keeps = append(job.keeps, strings.Fields(s.With["path"])...)
			}
			env := maps.Clone(doc.Env)
			maps.Copy(env, s.Env)
			job.steps = append(job.steps, ciStep{when: s.If, run: s.Run, env: env})
		}
		out = append(out, job)
	}
	return out
}

// gitlabJobs reads a pipeline of GitLab CI, as far as the example goes. The lines
// of a script share a shell.
func gitlabJobs(t *testing.T, text []byte) []ciJob {
	t.Helper()
	var top map[string]yaml.Node
	if err := yaml.Unmarshal(text, &top); err != nil {
		t.Fatal(err)
	}
	decode := func(name string, into any) {
		node := top[name]
		if err := node.Decode(into); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		delete(top, name)
	}
	var stages []string
	var env map[string]string
	var common struct{ Tags []string }
	decode("stages", &stages)
	decode("variables", &env)
	decode("default", &common)
	if len(common.Tags) == 0 {
		t.Error("any runner would take these jobs")
	}
	var out []ciJob
	for name := range maps.Clone(top) {
		var j struct {
			Stage, Timeout string
			Interruptible  bool
			Group          string `yaml:"resource_group"`
			Rules          []struct{ If string }
			Script         []string
			After          []string `yaml:"after_script"`
			Artifacts      struct {
				When  string
				Paths []string
			}
		}
		decode(name, &j)
		var when []string
		for _, r := range j.Rules {
			when = append(when, r.If)
		}
		if j.Timeout == "" || len(when) == 0 || j.Artifacts.When != "always" {
			t.Errorf("job %s: no limit of time, no rules, or artifacts only of what went well", name)
		}
		out = append(out, ciJob{name: name, when: strings.Join(when, " || "), alone: j.Group, kills: j.Interruptible, keeps: j.Artifacts.Paths,
			steps: []ciStep{{run: strings.Join(j.Script, "\n"), env: env}, {when: "always()", run: strings.Join(j.After, "\n"), env: env}}})
	}
	return out
}

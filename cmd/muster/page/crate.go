package page

import (
	"net/url"
	"path"
	"strings"
	"time"
)

// CrateName is the file of RO-Crate metadata.
const CrateName = "ro-crate-metadata.json"

type node map[string]any

func ref(id string) node { return node{"@id": id} }

// Crate is a record as RO-Crate 1.1 metadata, one CreateAction a job: the profile Process
// Run Crate (https://w3id.org/ro/wfrun/process/0.5).
func (r Record) Crate() map[string]any {
	root := node{"@id": "./", "@type": "Dataset", "name": r.Campaign, "description": dash(r.Description), "datePublished": r.Written.Format(time.RFC3339),
		"conformsTo": ref("https://w3id.org/ro/wfrun/process/0.5")}
	graph := []node{
		{"@id": CrateName, "@type": "CreativeWork", "conformsTo": ref("https://w3id.org/ro/crate/1.1"), "about": ref("./")}, root,
	}
	var parts, mentions []node
	programs := map[string]bool{}
	for _, j := range r.Jobs {
		var files []node
		for _, f := range j.Files {
			id := (&url.URL{Path: f.File}).EscapedPath() // an id is a relative URI
			parts, files = append(parts, ref(id)), append(files, ref(id))
			graph = append(graph, node{"@id": id, "@type": "File", "name": path.Base(f.Path), "contentSize": f.Size, "sha256": strings.TrimPrefix(f.Digest, "sha256:")})
		}
		program := r.program(j)
		if id := program["@id"].(string); !programs[id] {
			programs[id] = true
			graph = append(graph, program)
		}
		id := "#" + url.PathEscape(j.Address)
		action := node{"@id": id, "@type": "CreateAction", "name": j.Address, "instrument": ref(program["@id"].(string)), "result": files,
			"actionStatus": ref("http://schema.org/CompletedActionStatus")}
		if !j.Started.IsZero() {
			action["startTime"], action["endTime"] = j.Started.Format(time.RFC3339), j.Ended.Format(time.RFC3339)
		}
		graph, mentions = append(graph, action), append(mentions, ref(id))
	}
	root["hasPart"], root["mentions"] = parts, mentions
	return map[string]any{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
}

// program is the program of a phase's jobs, with its version.
func (r Record) program(j JobRecord) node {
	n := node{"@id": "#program-" + url.PathEscape(j.Phase) + "-" + j.Plan, "@type": "SoftwareApplication", "name": r.Campaign + ", phase " + j.Phase}
	for _, run := range r.Runs {
		if run.Plan != j.Plan {
			continue
		}
		p := run.Programs[j.Phase]
		if version := p.Commit; version != "" {
			n["softwareVersion"] = version
		} else if run.Commit != "" {
			n["softwareVersion"] = run.Commit
		}
		if p.Source != "" {
			n["identifier"] = p.Source
		}
	}
	return n
}

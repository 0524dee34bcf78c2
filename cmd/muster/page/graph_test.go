package page

import "testing"

// A file between phases is a whole arrow, depends_on a dashed one.
func TestGraph(t *testing.T) {
	g := Graph{Campaign: "c", Phases: []graphNode{{"prep", 1}, {"train", 24}, {"figure", 1}}, Edges: []graphEdge{{"prep", "train", "data"}, {From: "train", To: "figure"}}}
	const dot = `digraph "c" {
  rankdir = LR
  node [shape = box]
  "prep" [label = "prep\n1 job"]
  "train" [label = "train\n24 jobs"]
  "figure" [label = "figure\n1 job"]
  "prep" -> "train" [label = "data"]
  "train" -> "figure" [style = dashed]
}
`
	if got := g.DOT(); got != dot {
		t.Errorf("got\n%s\nwant\n%s", got, dot)
	}
	const mermaid = `graph LR
  prep["prep<br/>1 job"]
  train["train<br/>24 jobs"]
  figure["figure<br/>1 job"]
  prep -- data --> train
  train -.-> figure
`
	if got := g.Mermaid(); got != mermaid {
		t.Errorf("got\n%s\nwant\n%s", got, mermaid)
	}
}

package state

import (
	"encoding/json"
	"testing"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	texts := TextsOf(map[string]string{"b": "2", "a": "<1>"})
	more := texts.With(map[string]string{"c": "3", "b": "4"})
	for want, got := range map[string]Texts{`{"a":"\u003c1\u003e","b":"2"}`: texts, `{"a":"\u003c1\u003e","b":"4","c":"3"}`: more} {
		raw, err := json.Marshal(got)
		var back Texts
		if err != nil || string(raw) != want || json.Unmarshal(raw, &back) != nil || len(back) != len(got) {
			t.Errorf("got %s, want %s: %v", raw, want, err)
		}
	}
	if texts.Get("b") != "2" || more.Get("b") != "4" || more.Get("d") != "" || TextsOf(nil).Map() != nil {
		t.Errorf("%v %v", texts, more)
	}
}
